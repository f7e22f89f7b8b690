"""Many pods that do not fit, in a cluster that changes all the while: a pod that fits hardly waits."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count, cycle, islice
from typing import Any

import pytest

from moorage.client.connection import find
from moorage.client.errors import NotFound
from moorage.client.http import HttpClient
from tests.controlplane.schedulers import Api, Document, Moorage, moorage, node, pod
from tests.controlplane.servers import ControlPlane

RESERVED = {"key": "reserved", "value": "", "effect": "NoSchedule"}
ELSEWHERE = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "everywhere"}},
}
AWAY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ELSEWHERE]}}
SPREAD = {"maxSkew": 1, "minDomains": 100_000, "whenUnsatisfiable": "DoNotSchedule", **ELSEWHERE}
CHANGES_A_SECOND = 20
MERGE = "application/merge-patch+json"


def name_of(number: int) -> str:
    return f"node-{number:05d}"


def tolerant(name: str, **more: Any) -> Document:
    return pod(name, labels={"app": "everywhere"}, tolerations=[{"operator": "Exists"}], **more)


def cluster(nodes: int) -> Iterator[Document]:
    """Tainted nodes, most of each taken by a pod."""
    for number in range(nodes):
        yield node(name_of(number), spec={"taints": [RESERVED]})
    for number in range(nodes):
        yield tolerant(f"placed-{number:05d}", requests={"cpu": "20"}, nodeName=name_of(number))


def waiting(pods: int) -> Iterator[Document]:
    """Pods that do not fit, of every kind in turn."""
    for number in range(0, pods, 6):
        yield tolerant(f"no-room-{number}", requests={"cpu": "16"})
        yield tolerant(f"too-large-{number}", requests={"cpu": "64"})
        yield tolerant(f"no-such-node-{number}", nodeSelector={"disk": "none"})
        yield pod(f"not-tolerant-{number}", labels={"app": "everywhere"})
        yield tolerant(f"spread-{number}", topologySpreadConstraints=[SPREAD])
        yield tolerant(f"apart-{number}", affinity=AWAY)


class Changes:
    """Something else changes at each call, in a way that helps nobody."""

    def __init__(self, client: HttpClient, nodes: int) -> None:
        self._client = client
        self._nodes = nodes
        self._kinds = cycle((self._label, self._taint, self._allocatable, self._another_node, self._pod))

    async def run(self) -> None:
        for turn, change in zip(count(), self._kinds, strict=False):
            began = time.monotonic()
            await change(turn // 10 * 7 % self._nodes, bool(turn // 5 % 2))
            await asyncio.sleep(max(0.0, began + 1 / CHANGES_A_SECOND - time.monotonic()))

    async def _label(self, number: int, back: bool) -> None:
        await self._patch(number, {"metadata": {"labels": {"turn": str(time.monotonic_ns())}}})

    async def _taint(self, number: int, back: bool) -> None:
        more = [] if back else [{"key": "more", "effect": "NoSchedule"}]
        await self._patch(number, {"spec": {"taints": [RESERVED, *more]}})

    async def _allocatable(self, number: int, back: bool) -> None:
        amounts = {"cpu": "32" if back else "32100m"}
        await self._patch(number, {"status": {"allocatable": amounts}}, "/status")

    async def _another_node(self, number: int, back: bool) -> None:
        if back:
            await self._delete("/api/v1/nodes/another")
        else:
            await self._client.request_json("POST", "/api/v1/nodes", node("another", pods="0"))

    async def _pod(self, number: int, back: bool) -> None:
        pods = "/api/v1/namespaces/default/pods"
        if back:
            await self._delete(f"{pods}/passing")
        else:
            await self._client.request_json("POST", pods, tolerant("passing", nodeName=name_of(number)))

    async def _patch(self, number: int, patch: Document, part: str = "") -> None:
        path = f"/api/v1/nodes/{name_of(number)}{part}"
        body = json.dumps(patch).encode()
        await self._client.send("PATCH", path, body, content_type=MERGE)

    async def _delete(self, path: str) -> None:
        with contextlib.suppress(NotFound):
            await self._client.request_json("DELETE", path, {"gracePeriodSeconds": 0})


@contextlib.asynccontextmanager
async def changing(plane: ControlPlane, nodes: int) -> AsyncIterator[HttpClient]:
    async with HttpClient(find(str(plane.kubeconfig)), qps=-1) as client:
        task = asyncio.create_task(Changes(client, nodes).run())
        try:
            yield client
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def waits_of_pods_that_fit(plane: ControlPlane, nodes: int, pods: int) -> list[float]:
    """How long each pod waited for its node, in seconds."""
    found: list[float] = []
    path = "/api/v1/namespaces/default/pods"
    async with changing(plane, nodes) as client, asyncio.timeout(60 * pods):
        for number in range(pods):
            await asyncio.sleep(1)
            began = time.monotonic()
            await client.request_json("POST", path, tolerant(f"fits-{number}", requests={"cpu": "100m"}))
            while not (await client.request_json("GET", f"{path}/fits-{number}"))["spec"].get("nodeName"):
                await asyncio.sleep(0.02)
            found.append(time.monotonic() - began)
    return found


def metric(plane: ControlPlane, process: Moorage, name: str, *labels: str) -> float:
    """The sum of the series of a metric that have all of these labels."""
    answer = process.get("/metrics", token=plane.admin_token)
    assert answer is not None
    lines = (line for line in answer.text.splitlines() if line.startswith(f"{name}{{"))
    return sum(float(line.split()[-1]) for line in lines if all(label in line for label in labels))


@pytest.mark.soak
def test_a_pod_that_fits_does_not_wait_for_thousands_that_do_not(
    control_plane: ControlPlane, soak: bool
) -> None:
    nodes, pods, fitting = (5000, 20_000, 30) if soak else (20, 300, 5)
    api = Api(control_plane)
    documents = cluster(nodes)
    api.create(islice(documents, nodes))
    api.create(documents)
    api.create(waiting(pods))
    with moorage(control_plane, serve=True) as process:

        def attempts(result: str) -> float:
            label = f'result="{result}"'
            return metric(control_plane, process, "scheduler_schedule_attempts_total", label)

        process.wait_until(
            "a try of every pod", lambda: attempts("unschedulable") >= pods, seconds=600 if soak else 60
        )
        waited = asyncio.run(waits_of_pods_that_fit(control_plane, nodes, fitting))
        tried = attempts("unschedulable")
        searches = metric(
            control_plane,
            process,
            "scheduler_plugin_evaluation_total",
            'plugin="NodeResourcesFit"',
            'extension_point="PreFilter"',
        )
    assert tried > 1.5 * pods, "pods are tried again and again, or there is nothing to see here"
    assert tried - searches > pods, "most of that takes no search"
    bound = api.bound()
    assert {name for name in bound if not name.startswith(("placed", "passing"))} == {
        f"fits-{number}" for number in range(fitting)
    }
    assert len(waited) == fitting
