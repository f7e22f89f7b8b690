"""Every kind of object this package knows, by name."""

from __future__ import annotations

from moorage.api.coordination import Binding, Event, Lease
from moorage.api.meta import Object
from moorage.api.nodes import Node
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

KINDS: dict[str, type[Object]] = {
    kind.kind: kind
    for kind in (
        Binding,
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        Event,
        Lease,
        Namespace,
        Node,
        PersistentVolume,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        PriorityClass,
        ReplicaSet,
        ReplicationController,
        Service,
        StatefulSet,
        StorageClass,
        VolumeAttachment,
    )
}
