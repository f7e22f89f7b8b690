"""What may help a pod that VolumeBinding rejected."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.api.storage import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from moorage.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Hint,
)
from moorage.plugins.storage.claims import uses_claim
from moorage.plugins.storage.provisioning import volume_limit
from moorage.plugins.storage.translation import MIGRATED_PLUGINS


def events() -> list[ClusterEvent]:
    add_or_update = Action.ADD | Action.UPDATE
    return [
        ClusterEvent(STORAGE_CLASS, add_or_update, _class_changed),
        ClusterEvent(PERSISTENT_VOLUME_CLAIM, add_or_update, _claim_changed),
        ClusterEvent(PERSISTENT_VOLUME, add_or_update),
        ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        ClusterEvent(CSI_NODE, add_or_update, _csi_node_changed),
        ClusterEvent(CSI_DRIVER, Action.UPDATE, _driver_changed),
        ClusterEvent(CSI_STORAGE_CAPACITY, add_or_update, _capacity_changed),
    ]


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP


def _class_changed(pod: Pod, old: StorageClass | None, new: StorageClass) -> Hint:
    return _queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def _claim_changed(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    return _queue_if(uses_claim(pod, new))


def _csi_node_changed(pod: Pod, old: CSINode | None, new: CSINode) -> Hint:
    if old is None:
        return Hint.QUEUE
    return _queue_if(old.annotations.get(MIGRATED_PLUGINS, "") != new.annotations.get(MIGRATED_PLUGINS, ""))


def _driver_changed(pod: Pod, old: CSIDriver, new: CSIDriver) -> Hint:
    """As in kube-scheduler, it wakes pods with inline volumes of the driver and none with claims."""
    no_longer_asked = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    uses_it = any(volume.csi and volume.csi.get("driver") == new.name for volume in pod.spec.volumes)
    return _queue_if(no_longer_asked and uses_it)


def _capacity_changed(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> Hint:
    if old is None:
        return Hint.QUEUE
    try:
        before, now = volume_limit(old), volume_limit(new)
    except QuantityError:
        return Hint.QUEUE
    return _queue_if(now is not None and (before is None or now > before))
