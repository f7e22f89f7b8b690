"""A handle for plugins that are tested on their own."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, ParamSpec

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.framework.eviction import Evicted
from moorage.framework.handle import Handle, Services
from moorage.framework.listers import Lister
from moorage.framework.writes import Write

P = ParamSpec("P")


class RecordedEvent(NamedTuple):
    """An event that a plugin recorded, as it gave it."""

    regarding: Object
    """What it is about."""
    related: Object | None
    """What else it has to do with."""
    type: str
    """Normal or Warning."""
    reason: str
    """Why, in one word."""
    action: str
    """What was being done."""
    note: str
    """The text for people."""


class _KeepsEvents:
    def __init__(self, events: list[RecordedEvent]) -> None:
        self._events = events

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        self._events.append(RecordedEvent(regarding, related, type, reason, action, note))


class FakeHandle(Handle):
    """A handle over nodes, pods and other objects in memory.

        handle = FakeHandle([make_node("a"), make_pod("p", node="a")])
        plugin = QuietNodes(None, handle)
        assert plugin.filter(CycleState(), make_pod(), handle.node("a")) is None

    `events` holds what the plugin recorded, `activated` the pods it activated, `evicted` those it told to go,
    `writes` what it started with `handle.write`, which `await handle.written()` does. `now` is the time.
    """

    def __init__(self, objects: Iterable[Object] = (), *, profile_name: str = "default-scheduler") -> None:
        self.now: float = 1_700_000_000.0
        """The time that `clock` tells, in seconds since the epoch; set it."""
        self.events: list[RecordedEvent] = []
        """What the plugin recorded."""
        self.activated: list[Pod] = []
        """The pods that the plugin activated."""
        self.writes: list[Write] = []
        """What the plugin gave to `handle.write`; `await written()` does it."""
        services = Services(
            recorder_of=lambda profile_name: _KeepsEvents(self.events),
            activate=lambda pods: self.activated.extend(pods),
            clock=lambda: self.now,
        )
        super().__init__(services, profile_name)
        self.add(*objects)

    def add(self, *objects: Object) -> None:
        """Puts objects into the cluster the plugin sees; a custom resource reaches its lister."""
        door = self.services.door
        for item in objects:
            self.lister(item.group, item.version, item.resource, type(item))
            door.put(item)
            if isinstance(item, Pod) and door.is_pending(item):
                self.nominator.add(item)
        self.state.table.refresh()

    def remove(self, item: Object) -> None:
        """Takes an object out again."""
        self.services.door.remove(item)
        self.nominator.remove(item.uid)
        self.state.table.refresh()

    @property
    def evicted(self) -> list[Evicted]:
        """The pods that the plugin told to go, each with `pod`, `by` and `message`."""
        return self.services.evicted

    def write(self, work: Callable[P, Awaitable[object]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Notes the work in `writes`; `written` does it."""
        if self.services.client is not None or not callable(work):
            super().write(work, *args, **kwargs)
        else:
            self.writes.append(Write(self, work, args, kwargs))

    async def written(self) -> None:
        """Does what was noted in `writes`, one after the other, and raises what the first raises that fails.

        asyncio.run(handle.written())
        """
        while self.writes:
            write = self.writes.pop(0)
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
        return found
