"""What the scheduler watches: nodes, pods, and whatever the profiles' plugins read or wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.api.kinds import KINDS
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.errors import NotFound
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.framework import events
from moorage.framework.handle import known_kind
from moorage.framework.listers import Lister, Listers
from moorage.framework.profile import Profile
from moorage.scheduler.event_handlers import EventHandlers

_POLL = 0.1
UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"

_OF_EVENTS: dict[str, tuple[str, str, str]] = {
    events.RESOURCE_CLAIM: ("resource.k8s.io", "v1", "resourceclaims"),
    events.RESOURCE_SLICE: ("resource.k8s.io", "v1", "resourceslices"),
    events.DEVICE_CLASS: ("resource.k8s.io", "v1", "deviceclasses"),
}
"""Resources without a Struct of their own that events may name."""

_EVENT_OF = {address: name for name, address in _OF_EVENTS.items()}

_BUILT_IN = {
    events.PERSISTENT_VOLUME: "PersistentVolume",
    events.PERSISTENT_VOLUME_CLAIM: "PersistentVolumeClaim",
    events.CSI_NODE: "CSINode",
    events.CSI_DRIVER: "CSIDriver",
    events.CSI_STORAGE_CAPACITY: "CSIStorageCapacity",
    events.VOLUME_ATTACHMENT: "VolumeAttachment",
    events.STORAGE_CLASS: "StorageClass",
}


class Informers:
    """One informer per resource; all of them must have synced before the first pod is scheduled."""

    def __init__(
        self,
        client: HttpClient,
        handlers: EventHandlers,
        listers: Listers,
        profiles: Mapping[str, Profile],
    ) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self.all: list[Informer[Any]] = [
            Informer(
                client,
                Resource.of(Node),
                added=handlers.node_added,
                updated=handlers.node_updated,
                deleted=handlers.node_deleted,
            ),
            Informer(
                client,
                Resource.of(Pod),
                added=handlers.pod_added,
                updated=handlers.pod_updated,
                deleted=handlers.pod_deleted,
                field_selector=UNFINISHED_PODS,
            ),
        ]
        self._add_waited_for(listers, profiles.values())
        nodes, pods = self.all
        shared: dict[type[Object], Informer[Any]] = {Node: nodes, Pod: pods}
        self._of_listers = [
            (lister, shared.get(lister.type) or self._of_lister(client, handlers, lister))
            for lister in listers
        ]
        self.all += [informer for lister, informer in self._of_listers if lister.type not in shared]

    def _add_waited_for(self, listers: Listers, profiles: Iterable[Profile]) -> None:
        """Has those resources watched, too, whose changes some plugin registered for."""
        for registration in (found for profile in profiles for found in profile.registrations):
            name = registration.event.resource
            kind = KINDS.get(_BUILT_IN.get(name, ""))
            if kind is not None:
                listers.get(kind.group, kind.version, kind.resource, kind)
            elif name in _OF_EVENTS:
                listers.get(*_OF_EVENTS[name], Object)
            elif name.count(".") >= 2 and "/" not in name:
                plural, version, group = name.split(".", 2)
                listers.get(group, version, plural, Object)

    def _of_lister(self, client: HttpClient, handlers: EventHandlers, lister: Lister[Any]) -> Informer[Any]:
        group, version, plural = lister.name
        resource: Resource[Any] = Resource(group, version, plural, lister.type.kind, True, lister.type)
        # By the address: a plugin's own Struct need not say where its objects live.
        event = _EVENT_OF.get(lister.name, lister.name.event_resource)
        kind = known_kind(group, version, plural)
        if kind is not None:
            event = events.event_resource(kind)

        def added(item: Object) -> None:
            lister.put(item)
            handlers.changed(event, events.Action.ADD, None, item)

        def updated(old: Object, new: Object) -> None:
            lister.put(new)
            handlers.changed(event, events.Action.UPDATE, old, new)

        def deleted(item: Object) -> None:
            lister.remove(item)
            handlers.changed(event, events.Action.DELETE, item, None)

        return Informer(client, resource, added=added, updated=updated, deleted=deleted)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(informer.run()) for informer in self.all]
        self._tasks += [asyncio.create_task(_mark_synced(*pair)) for pair in self._of_listers]

    def not_synced(self) -> list[str]:
        """The resources whose first list has not arrived, each with the last error if there is one.

        What the API server does not serve is not waited for; it is watched as soon as it does.
        """
        return [
            f"{informer.resource.plural} ({informer.last_error})"
            if informer.last_error
            else informer.resource.plural
            for informer in self.all
            if not informer.synced and not isinstance(informer.last_error, NotFound)
        ]

    async def wait_synced(self) -> None:
        while self.not_synced():
            await asyncio.sleep(_POLL)
        for lister, informer in self._of_listers:
            lister.has_synced = informer.synced

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _mark_synced(lister: Lister[Any], informer: Informer[Any]) -> None:
    await informer.wait_synced()
    lister.has_synced = True
