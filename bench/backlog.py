"""The nodes and pods that schedulers are measured with, and what a process has used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.what_if.workloads import make_nodes, make_pods

NODES = 5000
PODS = 10000
_AT_ONCE = 64


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


async def create_nodes(kubeconfig: Path) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await create(client, Resource.of(Node), (node.raw for node in make_nodes(NODES)))


async def create_pods(kubeconfig: Path, prefix: str) -> None:
    async with HttpClient(from_kubeconfig(str(kubeconfig)), qps=-1) as client:
        await create(client, Resource.of(Pod), plain_pods(prefix, PODS), namespace="default")


def plain_pods(prefix: str, count: int) -> Iterator[dict[str, Any]]:
    """Pods for the scheduler under test, as documents."""
    for pod in make_pods("plain", count, prefix):
        yield {**pod.raw, "spec": {**pod.raw["spec"], "schedulerName": "bench"}}


async def create(
    client: HttpClient, resource: Resource[Any], documents: Iterator[dict[str, Any]], namespace: str = ""
) -> None:
    """Makes objects, many at once."""

    async def worker() -> None:
        for document in documents:
            metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
            await client.create(resource, {**document, "metadata": metadata}, namespace=namespace)

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


def usage(pid: int) -> tuple[float, float]:
    """Seconds of CPU and peak memory in MB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return ticks / 100, int(peak.split()[1]) / 1024
