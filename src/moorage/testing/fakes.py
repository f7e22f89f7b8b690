"""A handle for plugins that are tested on their own."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.framework.handle import Handle, Services
from moorage.framework.listers import Lister
from moorage.testing.recording import RecordedEvent as RecordedEvent
from moorage.testing.recording import Recorder


class FakeHandle(Handle):
    """A handle over nodes, pods and other objects in memory.

        handle = FakeHandle([make_node("a"), make_pod("p", node="a")])
        plugin = QuietNodes(None, handle)
        assert plugin.filter(CycleState(), make_pod(), handle.node("a")) is None

    `events` holds what the plugin recorded, `activated` the pods it activated, and `now` is the time.
    """

    def __init__(self, objects: Iterable[Object] = (), *, profile_name: str = "default-scheduler") -> None:
        self.now = 1_700_000_000.0
        self.events: list[RecordedEvent] = []
        self.activated: list[Pod] = []
        services = Services(
            recorder_of=lambda profile_name: Recorder(self.events.append),
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
