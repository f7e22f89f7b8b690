"""Which resources a scheduler watches: nodes, pods, and whatever its plugins read or wait for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.api.kinds import KINDS
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.resources import Resource
from moorage.framework import events
from moorage.framework.handle import known_kind
from moorage.framework.listers import Lister, Listers
from moorage.framework.profile import Profile

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


def watched(listers: Listers, profiles: Iterable[Profile]) -> list[Resource[Any]]:
    """Everything that a scheduler with these profiles lists and watches."""
    add_waited_for(listers, profiles)
    others = (lister for lister in listers if lister.type not in (Node, Pod))
    return [Resource.of(Node), Resource.of(Pod), *map(resource_of, others)]


def add_waited_for(listers: Listers, profiles: Iterable[Profile]) -> None:
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


def resource_of(lister: Lister[Any]) -> Resource[Any]:
    group, version, plural = lister.name
    return Resource(group, version, plural, lister.type.kind, True, lister.type)


def event_of(lister: Lister[Any]) -> str:
    """How events name a lister's resource: by its address, which a plugin's Struct need not know."""
    kind = known_kind(*lister.name)
    if kind is not None:
        return events.event_resource(kind)
    return _EVENT_OF.get(lister.name, lister.name.event_resource)
