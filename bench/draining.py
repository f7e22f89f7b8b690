"""A scheduler, started beside a backlog of pods and watched until the last of them has its node."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.backlog import Drained, usage
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource

HEADINGS = f"{'':20}{'first bind':>12}{'pods/s':>9}{'CPU s/1000':>12}{'MB':>7}"
_GIVE_UP = 300.0
_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
profiles: [{{schedulerName: bench}}]
"""


def row(name: str, run: Drained) -> str:
    return (
        f"{name:20}{run.first_bind:11.1f}s{run.pods_per_second:9.0f}"
        f"{run.cpu_per_thousand:12.2f}{run.megabytes:7.0f}"
    )


def commands(programs: Path, kubeconfig: Path, folder: Path) -> tuple[list[str], list[str]]:
    """How Moorage and the original are started, with the same configuration."""
    config = folder / "scheduler.yaml"
    config.write_text(_CONFIG.format(kubeconfig=kubeconfig))
    flags = ["--config", str(config), "--secure-port=0"]
    moorage = Path(sys.executable).parent / "moorage"
    return [str(moorage), "run", *flags], [str(programs / "kube-scheduler"), *flags]


def drain(kubeconfig: Path, command: list[str], prefix: str, pods: int) -> Drained:
    """Starts the scheduler and watches until so many pods are bound; then removes them."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            first, last = asyncio.run(_watch_binds(kubeconfig, prefix, pods))
            cpu, megabytes = usage(process.pid)
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    asyncio.run(_delete_pods(kubeconfig))
    return Drained(first - started, pods / (last - first), cpu / pods * 1000, megabytes)


async def _watch_binds(kubeconfig: Path, prefix: str, pods: int) -> tuple[float, float]:
    """When the first and the last pod got their nodes."""
    bound: set[str] = set()
    times: list[float] = []
    done = asyncio.Event()

    def look(pod: Pod) -> None:
        if pod.spec.node_name and pod.name.startswith(prefix) and pod.name not in bound:
            bound.add(pod.name)
            times.append(time.monotonic())
            if len(bound) == pods:
                done.set()

    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client, asyncio.timeout(_GIVE_UP):
        informer = Informer(
            client,
            Resource.of(Pod),
            added=look,
            updated=lambda old, new: look(new),
            deleted=lambda pod: None,
        )
        watching = asyncio.create_task(informer.run())
        try:
            await done.wait()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return times[0], times[-1]


async def _delete_pods(kubeconfig: Path) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        path = Resource.of(Pod).path("default")
        await client.request_json("DELETE", path, {"gracePeriodSeconds": 0})
