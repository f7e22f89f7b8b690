"""Pods bound per second on a real API server, beside kube-scheduler on the same server in the same run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.bounds import Check
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.scheduler.workloads import make_nodes, make_pods
from tests.controlplane.build import assets, available
from tests.controlplane.servers import ControlPlane

NODES = 5000
PODS = 10000
_AT_ONCE = 64
_GIVE_UP = 300.0

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
profiles: [{{schedulerName: bench}}]
"""


@dataclass
class Drained:
    """How a scheduler fared with the backlog."""

    first_bind: float
    """Seconds from the start of the process."""
    pods_per_second: float
    """From the first bind to the last."""
    cpu_per_thousand: float
    """Seconds of CPU of the scheduler per 1000 pods."""
    megabytes: float


def measure() -> Iterator[Check]:
    reason = available()
    if reason is not None:
        print(f"\nthe cluster benchmark is left out: {reason}")
        return
    ours, theirs = drained()
    print(f"{'':16}{'first bind':>12}{'pods/s':>9}{'CPU s/1000':>12}{'MB':>7}")
    for name, figures in (("moorage", ours), ("kube-scheduler", theirs)):
        print(
            f"{name:16}{figures.first_bind:11.1f}s{figures.pods_per_second:9.0f}"
            f"{figures.cpu_per_thousand:12.2f}{figures.megabytes:7.0f}",
            flush=True,
        )
    print(f"pods per second against kube-scheduler: {ours.pods_per_second / theirs.pods_per_second:.2f}x\n")
    yield Check("first bind after the start of the process", ours.first_bind, 10, "s")
    yield Check("memory with 5000 nodes and 10000 pods", ours.megabytes, 500, "MB")


@cache
def drained() -> tuple[Drained, Drained]:
    """How Moorage and kube-scheduler fare on the same real API server; measured once in a run."""
    programs = assets()
    assert programs is not None
    print(
        f"\nbacklog of {PODS} plain pods, {NODES} nodes, real API server and etcd on this machine", flush=True
    )
    with ControlPlane(programs) as plane, tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "scheduler.yaml"
        config.write_text(_CONFIG.format(kubeconfig=plane.kubeconfig))
        asyncio.run(create_nodes(plane.kubeconfig))
        moorage = [str(Path(sys.executable).parent / "moorage"), "run", "--config", str(config)]
        ours = _drain(plane.kubeconfig, [*moorage, "--secure-port=0"], "moorage")
        original = [str(programs / "kube-scheduler"), "--config", str(config), "--secure-port=0"]
        theirs = _drain(plane.kubeconfig, original, "kube-scheduler")
    return ours, theirs


async def create_nodes(kubeconfig: Path) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await _create(client, Resource.of(Node), (node.raw for node in make_nodes(NODES)))


async def create_pods(kubeconfig: Path, prefix: str) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        documents = (
            {**pod.raw, "spec": {**pod.raw["spec"], "schedulerName": "bench"}}
            for pod in make_pods("plain", PODS, prefix)
        )
        await _create(client, Resource.of(Pod), documents, namespace="default")


async def _create(
    client: HttpClient, resource: Resource[Any], documents: Iterator[dict[str, Any]], namespace: str = ""
) -> None:
    async def worker() -> None:
        for document in documents:
            metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
            await client.create(resource, {**document, "metadata": metadata}, namespace=namespace)

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


def _drain(kubeconfig: Path, command: list[str], prefix: str) -> Drained:
    """Creates the backlog, starts the scheduler and watches until everything is bound; then cleans up."""
    asyncio.run(create_pods(kubeconfig, prefix))
    started = time.monotonic()
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            first, last = asyncio.run(_watch_binds(kubeconfig, prefix))
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
    return Drained(first - started, PODS / (last - first), cpu / PODS * 1000, megabytes)


async def _watch_binds(kubeconfig: Path, prefix: str) -> tuple[float, float]:
    """When the first and the last pod got their nodes."""
    bound: set[str] = set()
    first = last = 0.0
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client, asyncio.timeout(_GIVE_UP):
        resource = Resource.of(Pod)
        listed = await client.list(resource)
        changes = client.watch(resource, resource_version=listed.resource_version)
        try:
            bound.update(pod.name for pod in listed.items if pod.spec.node_name)
            while len(bound) < PODS:
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


def usage(pid: int) -> tuple[float, float]:
    """Seconds of CPU and peak memory in MB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return ticks / 100, int(peak.split()[1]) / 1024
