"""Filling a cluster, and removing what a run leaves."""

from __future__ import annotations

import asyncio

from bench.drain.workload import NAMESPACE, Document, Objects, Size, Workload
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.what_if.workloads import make_nodes

_AT_ONCE = 64


async def fill(client: HttpClient, workload: Workload, size: Size) -> None:
    """Makes the nodes, and what else is there in all runs."""
    await create(client, workload.lasting(size))
    await create(client, ((Node, node.raw) for node in make_nodes(size.nodes)))


async def load(client: HttpClient, workload: Workload, size: Size, prefix: str) -> set[str]:
    """Makes what waits for the scheduler of one run; returns the names of the pods that are counted."""
    await create(client, workload.company(prefix, size))
    pods = list(workload.pods(prefix, size))
    await create(client, ((Pod, pod) for pod in pods))
    return {pod["metadata"]["name"] for pod in pods}


async def create(client: HttpClient, objects: Objects) -> None:
    """Makes objects, many at once."""

    async def worker() -> None:
        for kind, document in objects:
            await client.create(Resource.of(kind), without_uid(document))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(worker())


def without_uid(document: Document) -> Document:
    """The document as a client sends it: the API server gives the uid."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
    return {**document, "metadata": metadata}


async def remove_pods(client: HttpClient) -> None:
    await client.request_json("DELETE", Resource.of(Pod).path(NAMESPACE), {"gracePeriodSeconds": 0})
