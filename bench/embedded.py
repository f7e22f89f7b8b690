"""The embedded cluster: how soon it is ready, and how fast it schedules beside a real API server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.bounds import Check
from bench.cluster import NODES, PODS, create_pods, drained, usage
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.controlplane.build import available

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
    rate, cpu, megabytes = _drain()
    print(f"backlog of {PODS} plain pods, {NODES} nodes: {rate:.0f} pods/s,", end=" ")
    print(
        f"{cpu / PODS * 1000:.2f} s CPU per 1000 pods for the whole cluster, {megabytes:.0f} MB", flush=True
    )
    if (reason := available()) is not None:
        print(f"the comparison with a real API server is left out: {reason}")
        return
    real = drained()[0].pods_per_second
    yield Check("seconds per 1000 pods, beside a real API server", 1000 / rate, 1000 / real, "s")


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


def _drain() -> tuple[float, float, float]:
    """Pods per second, CPU and memory of a cluster that starts with a backlog of pods."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"--data={Path(folder) / 'cluster.db'}"
        config = Path(folder) / "scheduler.yaml"
        config.write_text(_CONFIG)
        with _up(data, f"--nodes={NODES}", "--no-scheduler") as running:
            asyncio.run(create_pods(running.kubeconfig, "embedded"))
        with _up(data, "--nodes=0", f"--config={config}") as running:
            rate = asyncio.run(_rate(running.kubeconfig))
            cpu, megabytes = usage(running.pid)
    return rate, cpu, megabytes


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
