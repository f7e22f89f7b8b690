"""A scheduler, started beside a backlog of pods and watched until the last of them has its node."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.backlog import Drained, usage
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
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


async def _nothing_else() -> None:
    pass


def drain(
    kubeconfig: Path,
    command: list[str],
    prefix: str,
    pods: int,
    meanwhile: Callable[[], Awaitable[None]] = _nothing_else,
) -> Drained:
    """Starts the scheduler and watches until so many pods are bound; then removes them."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            first, last = asyncio.run(_watch(kubeconfig, prefix, pods, meanwhile))
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


async def _watch(
    kubeconfig: Path, prefix: str, pods: int, meanwhile: Callable[[], Awaitable[None]]
) -> tuple[float, float]:
    beside = asyncio.ensure_future(meanwhile())
    try:
        return await _watch_binds(kubeconfig, prefix, pods)
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)


async def _watch_binds(kubeconfig: Path, prefix: str, pods: int) -> tuple[float, float]:
    """When the first and the last pod got their nodes."""
    bound: set[str] = set()
    first = last = 0.0
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client, asyncio.timeout(_GIVE_UP):
        resource = Resource.of(Pod)
        listed = await client.list(resource)
        changes = client.watch(resource, resource_version=listed.resource_version)
        try:
            bound.update(pod.name for pod in listed.items if pod.spec.node_name)
            while len(bound) < pods:
                change = await anext(changes)
                pod = change.object
                if isinstance(pod, Pod) and pod.spec.node_name and pod.name.startswith(prefix):
                    last = time.monotonic()
                    first = first or last
                    bound.add(pod.name)
        finally:
            await changes.aclose()
    return first, last


async def _delete_pods(kubeconfig: Path) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        path = Resource.of(Pod).path("default")
        await client.request_json("DELETE", path, {"gracePeriodSeconds": 0})
