"""What the scheduler watches: nodes, pods, and whatever the profiles' plugins read or wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.api.kinds import KINDS
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.framework import events
from moorage.framework.listers import Lister, Listers
from moorage.framework.profile import Profile
from moorage.scheduler.event_handlers import EventHandlers

UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"

_OF_EVENTS: dict[str, tuple[str, str, str]] = {
    events.RESOURCE_CLAIM: ("resource.k8s.io", "v1", "resourceclaims"),
    events.RESOURCE_SLICE: ("resource.k8s.io", "v1", "resourceslices"),
    events.DEVICE_CLASS: ("resource.k8s.io", "v1", "deviceclasses"),
}
"""Resources without a Struct of their own that events may name."""

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
        add_waited_for(listers, profiles.values())
        self.all += [self._of_lister(client, handlers, lister) for lister in listers]

    def _of_lister(
        self, client: HttpClient, handlers: EventHandlers, lister: Lister[Any]
    ) -> Informer[Any]:
        resource = resource_of(lister)
        event = events.resource_of_event(lister.type, lister.name.event_resource)

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

    def not_synced(self) -> list[str]:
        """The resources whose first list has not arrived, each with the last error if there is one."""
        return [
            f"{informer.resource.plural}: {informer.last_error}" if informer.last_error else informer.resource.plural
            for informer in self.all
            if not informer.synced
        ]

    async def wait_synced(self) -> None:
        await asyncio.gather(*(informer.wait_synced() for informer in self.all))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
