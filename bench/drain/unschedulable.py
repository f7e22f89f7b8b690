"""Pods that fit beside thousands that do not, while nodes change all the while.

Every node has a pod of 20 of its 32 cpus. Those that do not fit want 16, and every other change of a node
gives it a little more CPU than before, for which each of them has to be tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

from bench.drain.workload import Bounds, Document, Objects, Size, Workload, for_the_bench, with_cpu
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Namespace
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.what_if.workloads import make_pods

CHANGES_A_SECOND = 20
_PLACED = "placed"
_USED, _WANTED = "20", "16"
_CPUS = ("32100m", "32")


def pods(prefix: str, size: Size) -> Iterator[Document]:
    for pod in make_pods("plain", size.pods, prefix):
        yield for_the_bench(pod.raw)


def placed(size: Size) -> Objects:
    """A pod on each node, out of the way of what is removed after a run."""
    yield Namespace, {"metadata": {"name": _PLACED}}
    for number, pod in enumerate(make_pods("plain", size.nodes, _PLACED)):
        document = with_cpu(for_the_bench(pod.raw, nodeName=f"node-{number:05d}"), _USED)
        yield Pod, {**document, "metadata": {**document["metadata"], "namespace": _PLACED}}


def too_large(prefix: str, size: Size) -> Objects:
    """Pods that do not fit, as many as nodes. By name, and so in the queue, they are among those that do."""
    for number, pod in enumerate(make_pods("plain", size.nodes, prefix)):
        document = with_cpu(for_the_bench(pod.raw), _WANTED)
        name = f"{prefix}-{number * size.pods // size.nodes:06d}-too-large-{number}"
        yield Pod, {**document, "metadata": {**document["metadata"], "name": name}}


async def change_nodes(client: HttpClient, size: Size) -> None:
    for turn in count():
        name, patch = change(turn, size)
        await client.patch(Resource.of(Node), name, patch, subresource="status")
        await asyncio.sleep(1 / CHANGES_A_SECOND)


def change(turn: int, size: Size) -> tuple[str, Document]:
    """Gives a node more CPU, and takes it back in the next turn."""
    cpu = _CPUS[turn % len(_CPUS)]
    return f"node-{turn // 2 * 7 % size.nodes:05d}", {"status": {"allocatable": {"cpu": cpu}}}


WORKLOAD = Workload(
    "unschedulable",
    pods,
    Bounds(2.5, 0.25),
    size=Size(5000, 1000),
    round_seconds=180,  # kube-scheduler tries each of the 5000 before the last that fits has its turn
    most_per_node=100,
    lasting=placed,
    company=too_large,
    meanwhile=change_nodes,
)
