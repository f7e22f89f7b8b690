"""Every kind of object this package knows, and what of it a scheduler watches."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.coordination import Binding, Event, Lease
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.api.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


def dotted(group: str, version: str, resource: str) -> str:
    """How cluster events name a resource that is not built in."""
    return f"{resource}.{version}.{group}"


class Watched(NamedTuple):
    """A resource that a scheduler watches if a plugin reads it or waits for it."""

    group: str
    version: str
    resource: str
    kind: str
    type: type[Object] = Object
    """What its objects are decoded into; `Object` itself if nobody reads their fields."""
    wakes: bool = True
    """Whether plugins may register for its events by its kind."""
    wakes_all: bool = True
    """Whether those plugins hear of it, too, that do not say what they wait for."""

    @property
    def event(self) -> str:
        """How cluster events name it."""
        if not self.group:
            return self.kind
        return f"{self.group}/{self.kind}" if self.wakes else dotted(self.group, self.version, self.resource)


def _typed(kind: type[Object], *, wakes: bool = True, wakes_all: bool = True) -> Watched:
    return Watched(kind.group, kind.version, kind.resource, kind.kind, kind, wakes, wakes and wakes_all)


WATCHED = (
    _typed(Pod),
    _typed(Node),
    _typed(PersistentVolume),
    _typed(PersistentVolumeClaim),
    _typed(CSINode),
    _typed(CSIDriver),
    _typed(CSIStorageCapacity),
    _typed(StorageClass),
    _typed(VolumeAttachment, wakes_all=False),
    _typed(ResourceClaim),
    _typed(DeviceClass),
    _typed(ResourceSlice, wakes_all=False),
    _typed(Namespace, wakes=False),
    _typed(PodDisruptionBudget, wakes=False),
    _typed(PriorityClass, wakes=False),
    _typed(ReplicaSet, wakes=False),
    _typed(ReplicationController, wakes=False),
    _typed(Service, wakes=False),
    _typed(StatefulSet, wakes=False),
)
"""The one table of built-in resources: a resource that stands here is read, awaited and permitted."""

_BEHIND_A_GATE = (_typed(PodGroup, wakes_all=False),)
"""What only plugins of alpha features ask for. Custom resources of others have the same kinds."""

_NOT_WATCHED: tuple[type[Object], ...] = (Binding, Event, Lease, ResourceClaimTemplate)

KINDS = {kind.kind: kind for kind in (*_NOT_WATCHED, *(row.type for row in WATCHED)) if kind is not Object}
"""The types of objects, by the name of their kind."""

_KIND_AT = {(kind.group, kind.version, kind.resource): kind for kind in KINDS.values()}
_EVENT_AT = {(row.group, row.version, row.resource): row.event for row in (*WATCHED, *_BEHIND_A_GATE)}


def known_kind(group: str, version: str, resource: str) -> type[Object] | None:
    """The type of a built-in resource, if there is one."""
    return _KIND_AT.get((group, version, resource))


def event_resource(group: str, version: str, resource: str) -> str:
    """How cluster events name a resource: built-in ones by kind, others by `plural.version.group`."""
    return _EVENT_AT.get((group, version, resource)) or dotted(group, version, resource)
