"""The embedded cluster: how soon it is ready, and how fast it schedules."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from bench.backlog import NODES, PODS, Drained, create_pods, usage
from bench.bounds import Check
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource

_GIVE_UP = 120.0
_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: bench}]
"""


def measure() -> Iterator[Check]:
    print("\nembedded cluster", flush=True)
    for nodes, bound in ((10, 2.0), (5000, 15.0)):
        with _up(f"--nodes={nodes}") as running:
            yield Check(f"ready with {nodes} nodes", running.seconds, bound, "s")


class _Running:
    def __init__(self, process: subprocess.Popen[bytes], kubeconfig: Path, seconds: float) -> None:
        self.pid = process.pid
        self.kubeconfig = kubeconfig
        self.seconds = seconds


@contextmanager
def _up(*flags: str) -> Iterator[_Running]:
    """A running `moorage up`, and the seconds until it was ready."""
    moorage = str(Path(sys.executable).parent / "moorage")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        kubeconfig = Path(folder) / "kubeconfig"
        started = time.monotonic()
        command = [moorage, "up", f"--kubeconfig={kubeconfig}", *flags]
        with subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                while not kubeconfig.exists():
                    if process.poll() is not None or time.monotonic() - started > _GIVE_UP:
                        log.seek(0)
                        raise RuntimeError(log.read().decode(errors="replace")[-4000:])
                    time.sleep(0.01)
                yield _Running(process, kubeconfig, time.monotonic() - started)
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


class Backlog:
    """The data of a cluster in which many pods wait, for the length of a `with` block."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        self._data = Path(self._folder.name) / "backlog"
        with _up(f"--data={self._data}", f"--nodes={NODES}", "--no-scheduler") as running:
            asyncio.run(create_pods(running.kubeconfig, "embedded"))
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def drain(self) -> Drained:
        """How the embedded cluster fares with it; the figures are those of the whole cluster."""
        folder = Path(self._folder.name)
        data, config = folder / "copy", folder / "scheduler.yaml"
        shutil.copyfile(self._data, data)
        config.write_text(_CONFIG)
        with _up(f"--data={data}", "--nodes=0", f"--config={config}") as running:
            rate = asyncio.run(_rate(running.kubeconfig))
            cpu, megabytes = usage(running.pid)
        return Drained(running.seconds, rate, cpu / PODS * 1000, megabytes)


async def _rate(kubeconfig: Path) -> float:
    """Pods that get their nodes per second, from the first look to the last pod."""
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client, asyncio.timeout(_GIVE_UP):
        resource = Resource.of(Pod)
        listed = await client.list(resource)
        began = time.monotonic()
        bound = {pod.name for pod in listed.items if pod.spec.node_name}
        at_first = len(bound)
        changes = client.watch(resource, resource_version=listed.resource_version)
        try:
            while len(bound) < PODS:
                pod = (await anext(changes)).object
                if isinstance(pod, Pod) and pod.spec.node_name:
                    bound.add(pod.name)
        finally:
            await changes.aclose()
    return (PODS - at_first) / (time.monotonic() - began)
