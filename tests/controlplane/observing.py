"""Watches what becomes of pods, beside the test."""

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

import pytest
import uvloop

from moorage.api.pods import Pod
from moorage.api.quantities import milli, parse
from moorage.client.connection import find
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from tests.controlplane import build
from tests.controlplane.schedulers import Api, Document
from tests.controlplane.servers import Cluster, ControlPlane

NODES = 20
"""In the clusters of tests that look for lost and doubly placed pods."""


def audited() -> Iterator[ControlPlane]:
    """For a fixture: a control plane that records every request to bind a pod."""
    if reason := build.available():
        pytest.skip(f"no control plane: {reason}")
    programs = build.assets()
    assert programs is not None
    with ControlPlane(programs, audit=True) as running:
        yield running


class Assignments:
    """Watches all pods for the length of a `with` block and keeps the nodes that each was seen on."""

    def __init__(self, plane: Cluster) -> None:
        self._config = find(str(plane.kubeconfig))
        self._nodes: dict[str, list[str]] = defaultdict(list)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._watching = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._watching.wait(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def moved(self) -> dict[str, list[str]]:
        """The pods, by UID, whose node changed after it was set."""
        return {uid: nodes for uid, nodes in dict(self._nodes).items() if len(nodes) > 1}

    def seen(self) -> int:
        """How many pods were seen with a node."""
        return sum(1 for nodes in dict(self._nodes).values() if nodes != [""])

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._watch())

    async def _watch(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with HttpClient(self._config, qps=-1) as client:
            informer = Informer(
                client,
                Resource.of(Pod),
                added=self._note,
                updated=lambda old, new: self._note(new),
                deleted=lambda old: None,
            )
            running = asyncio.create_task(informer.run())
            await informer.wait_synced()
            self._watching.set()
            await self._stop.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def _note(self, pod: Pod) -> None:
        nodes, name = self._nodes[pod.uid], pod.spec.node_name
        if not nodes or nodes[-1] != name:
            if nodes == [""]:
                nodes.clear()
            nodes.append(name)


def bound_more_than_once(plane: ControlPlane) -> dict[str, int]:
    """The pods that the API server bound more often than once."""
    times = Counter(request.pod for request in plane.bindings() if request.code == 201)
    return {pod: count for pod, count in times.items() if count > 1}


def overcommitted(api: Api) -> dict[str, int]:
    """The nodes whose pods ask for more CPU than there is, with the excess."""
    room = {
        each["metadata"]["name"]: milli(parse(each["status"]["allocatable"]["cpu"]))
        for each in api.items("nodes")
    }
    for pod in api.items("pods"):
        if pod["spec"].get("nodeName"):
            room[pod["spec"]["nodeName"]] -= _cpu(pod)
    return {name: -left for name, left in room.items() if left < 0}


def _cpu(pod: Document) -> int:
    containers: Iterable[Document] = pod["spec"]["containers"]
    asked = (each["resources"].get("requests", {}).get("cpu", "0") for each in containers)
    return sum(milli(parse(amount)) for amount in asked)
