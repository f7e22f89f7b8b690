"""A handle for plugins that are tested on their own."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ParamSpec, TypeVar, cast

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.resource_client import ResourceClient
from moorage.framework import writes
from moorage.framework.eviction import Evicted
from moorage.framework.handle import Handle, Services
from moorage.framework.listers import Lister
from moorage.state.node_info import NodeInfo
from moorage.testing.api_in_memory import ApiInMemory, listed_type
from moorage.testing.fake_client import FakeClient
from moorage.testing.recording import RecordedEvent as RecordedEvent
from moorage.testing.recording import Recorder, Write
from moorage.testing.waiting import FakeWaitingPod

P = ParamSpec("P")
T = TypeVar("T", bound=Object)


class FakeHandle(Handle):
    """A handle over nodes, pods and other objects in memory.

        handle = FakeHandle([make_node("a"), make_pod("p", node="a")])
        plugin = QuietNodes(None, handle)
        assert plugin.filter(CycleState(), make_pod(), handle.node_info("a")) is None

    `events` holds what the plugin recorded, `writes` what it wrote through `client` or `resource_client`,
    `activated` the pods it activated, `evicted` those it told to go, `started` what it had `handle.write` do,
    which `await handle.written()` does, and `now` is the time. What is written shows up in the listers.
    """

    def __init__(self, objects: Iterable[Object] = (), *, profile_name: str = "default-scheduler") -> None:
        self.now: float = 1_700_000_000.0
        """The time that `clock` tells, in seconds since the epoch; set it."""
        self.events: list[RecordedEvent] = []
        """What the plugin recorded."""
        self.writes: list[Write] = []
        """What the plugin wrote, in order."""
        self.activated: list[Pod] = []
        """The pods that the plugin activated."""
        self.started: list[writes.Write] = []
        """The work that was given to `write` and is not done yet."""
        recorder = Recorder(self.events.append)
        self._api = ApiInMemory(
            self._appeared,
            self._gone,
            types=lambda *name: listed_type(self.services.listers, name),
            wrote=self.writes.append,
            clock=lambda: self.now,
        )
        services = Services(
            client=FakeClient(self._api, self._sleep),
            recorder_of=lambda profile_name: recorder,
            activate=lambda pods: self.activated.extend(pods),
            clock=lambda: self.now,
        )
        super().__init__(services, profile_name)
        self.add(*objects)

    def add(self, *objects: Object) -> None:
        """Puts objects into the cluster the plugin sees; a custom resource reaches its lister."""
        for item in objects:
            self._api.add(item)

    def remove(self, item: Object) -> None:
        """Takes an object out again."""
        self._api.discard(item)

    def add_waiting(self, pod: Pod, *plugins: str) -> FakeWaitingPod:
        """Has a pod wait on Permit for these plugins; it is in `waiting_pods` until they let it go.

        waiting = handle.add_waiting(make_pod("first"), "Gang")
        plugin.permit(CycleState(), make_pod("second"), "a")
        assert waiting.allowed
        """
        waiting = FakeWaitingPod(pod, plugins, lambda: self.waiting_pods.remove(pod.uid))
        self.waiting_pods.add(waiting)
        return waiting

    def node_info(self, name: str) -> NodeInfo:
        """A node as plugins are given it; where `node` says None, this raises."""
        found = self.node(name)
        if found is None:
            raise KeyError(f"there is no node {name}; the nodes are {', '.join(self.nodes.names)}")
        return found

    @property
    def client(self) -> FakeClient:
        """Reads and writes the objects of the test; `client.fail_next` plans errors."""
        return cast("FakeClient", super().client)

    def resource_client(self, kind: builtins.type[T]) -> ResourceClient[T]:
        self.lister_of(kind)
        return super().resource_client(kind)

    @property
    def evicted(self) -> list[Evicted]:
        """The pods that the plugin told to go, each with `pod`, `by` and `message`; they stay."""
        return self.services.evicted

    def evict(self, victims: Pod | Iterable[Pod], *, by: Pod, message: str = "") -> None:
        """Notes the pods in `evicted`."""
        client = self.services.client
        if isinstance(client, FakeClient):
            self.services.client = None
        try:
            super().evict(victims, by=by, message=message)
        finally:
            self.services.client = client

    def write(self, work: Callable[P, Awaitable[object]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Notes the work in `started`; `written` does it."""
        if not callable(work) or not isinstance(self.services.client, FakeClient):
            super().write(work, *args, **kwargs)
        else:
            self.started.append(writes.Write(self, work, args, kwargs))

    async def written(self) -> None:
        """Does what was noted in `started`, one after the other, and raises what the first raises that fails.

        asyncio.run(handle.written())
        """
        while self.started:
            write = self.started.pop(0)
            await write.work(*write.args, **write.kwargs)

    def lister(
        self,
        group: str,
        version: str,
        resource: str,
        type: builtins.type[Object] | None = None,
        *,
        sync_timeout: float | None = None,
    ) -> Lister[Any]:
        found = super().lister(group, version, resource, type, sync_timeout=sync_timeout)
        found.has_synced = True
        if found.type not in (Node, Pod):  # those are listed as they come
            for document in self._api.documents(group, resource):
                item = from_document(found.type, document)
                if found.get(item.name, namespace=item.namespace) is None:
                    found.put(item)
        return found

    def _appeared(self, item: Object) -> None:
        door = self.services.door
        super().lister(item.group, item.version, item.resource, type(item)).has_synced = True
        door.put(item)
        if isinstance(item, Pod):
            self.nominator.remove(item.uid)
            if door.is_pending(item):
                self.nominator.add(item)
        self.state.table.refresh()

    def _gone(self, item: Object) -> None:
        self.services.door.remove(item)
        self.nominator.remove(item.uid)
        self.state.table.refresh()

    async def _sleep(self, seconds: float) -> None:
        """What a client waits before it tries again is time that passes here only."""
        self.now += seconds
        await asyncio.sleep(0)
