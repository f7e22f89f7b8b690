"""Pods with a claim each for one of the eight devices of every node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bench.drain.workload import NAMESPACE, Bounds, Document, Objects, Size, Workload, for_the_bench
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.client.errors import NotFound
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.what_if.workloads import make_nodes, make_pods

_CLASS, _DRIVER, _PER_NODE = "bench", "bench.example.com", 8
_EXACTLY = {"deviceClassName": _CLASS, "allocationMode": "ExactCount", "count": 1}
CLAIM_SPEC = {"devices": {"requests": [{"name": "device", "exactly": _EXACTLY}]}}
_CLAIMS = Resource.of(ResourceClaim)
_AT_ONCE = 64


def pods(prefix: str, size: Size) -> Iterator[Document]:
    for pod in make_pods("plain", size.pods, prefix):
        yield for_the_bench(pod.raw, resourceClaims=[{"name": "device", "resourceClaimName": pod.name}])


def devices(size: Size) -> Objects:
    selector = {"cel": {"expression": f'device.driver == "{_DRIVER}"'}}
    yield DeviceClass, {"metadata": {"name": _CLASS}, "spec": {"selectors": [selector]}}
    for node in make_nodes(size.nodes):
        pool = {"name": node.name, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": f"d{number}"} for number in range(_PER_NODE)]
        spec = {"driver": _DRIVER, "nodeName": node.name, "pool": pool, "devices": listed}
        yield ResourceSlice, {"metadata": {"name": node.name}, "spec": spec}


def claims(prefix: str, size: Size) -> Objects:
    for pod in make_pods("plain", size.pods, prefix):
        yield ResourceClaim, {"metadata": {"name": pod.name, "namespace": NAMESPACE}, "spec": CLAIM_SPEC}


async def give_up(client: HttpClient) -> None:
    """Deletes all claims, so that the next run has all devices again."""
    await client.request_json("DELETE", _CLAIMS.path(NAMESPACE), {})
    left = iter((await client.list(_CLAIMS, namespace=NAMESPACE)).items)

    async def worker() -> None:
        for claim in left:
            patch = {"metadata": {"finalizers": None}}
            try:
                await client.patch(_CLAIMS, claim.name, patch, namespace=NAMESPACE)
            except NotFound:
                continue

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(worker())


WORKLOAD = Workload(
    "claims",
    pods,
    Bounds(3, None),
    size=Size(500, 2000),
    most_per_node=_PER_NODE,
    lasting=devices,
    company=claims,
    afterwards=give_up,
)
