"""What of a recorded object is input to a replay, and what came of scheduling and has to come of it again."""

from __future__ import annotations

from msgspec.structs import replace

from moorage.api.devices import ResourceClaim, ResourceClaimStatus
from moorage.api.pods import Pod, PodStatus
from moorage.api.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeStatus,
    StorageClass,
)
from moorage.state.objects import Objects
from moorage.what_if.replay.lives import identity

_OF_THE_NODE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels that API servers copy from a node to a pod when it is bound."""
_OF_BINDING = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_WAITS = "WaitForFirstConsumer"


def as_wanted(pod: Pod) -> Pod:
    """A pod as whoever made it wants it: without a node, and without what became of it."""
    status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
    has_uid = bool(pod.metadata.uid)
    if not pod.spec.node_name and has_uid and not pod.deleting and pod.status == status:
        return pod
    wanted: Pod = pod.__copy__()  # type: ignore[attr-defined]
    if pod.spec.node_name:
        wanted.spec = replace(pod.spec, node_name="")
    wanted.status = status
    if not has_uid or pod.deleting:
        wanted.metadata = replace(pod.metadata, uid=identity(pod), deletion_timestamp=None)
    return wanted


def changed(current: Pod, recorded: Pod) -> Pod | None:
    """The pod with what somebody changed of it, on the node that it has here; None if nobody did."""
    meta, was = recorded.metadata, current.metadata
    spec = replace(recorded.spec, node_name=current.spec.node_name)
    labels = _without_labels_of_the_node(meta.labels, was.labels)
    claims = recorded.status.resource_claim_statuses
    if (
        spec == current.spec
        and labels == was.labels
        and meta.annotations == was.annotations
        and claims == current.status.resource_claim_statuses
    ):
        return None
    new: Pod = current.__copy__()  # type: ignore[attr-defined]
    new.metadata = replace(was, labels=labels, annotations=meta.annotations)
    new.spec = spec
    new.status = replace(current.status, resource_claim_statuses=claims)
    return new


def _without_labels_of_the_node(labels: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    copied = [key for key in _OF_THE_NODE if key in labels and key not in before]
    return {key: value for key, value in labels.items() if key not in copied} if copied else labels


class RecordedVolumes:
    """Volumes and claims for storage and devices, without what was decided when their pods were bound.

    What they were at the start of the trace stays: pods run with it.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._delayed: set[str] = set()
        """Claims that were not bound when they came and wait for the node of a pod."""

    def claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        store = self._objects.of(PersistentVolumeClaim)
        known = store.get(claim.name, claim.namespace)
        if known is None and not claim.spec.volume_name and self._waits(claim):
            self._delayed.add(claim.key)
        if claim.key not in self._delayed:
            return claim
        notes = claim.metadata.annotations
        kept = {key: notes[key] for key in notes if key not in (*_OF_BINDING, _SELECTED_NODE)}
        new: PersistentVolumeClaim = claim.__copy__()  # type: ignore[attr-defined]
        new.metadata = replace(claim.metadata, annotations=kept)
        new.spec = replace(claim.spec, volume_name="")
        new.status = PersistentVolumeClaimStatus(phase="Pending")
        return new

    def volume(self, volume: PersistentVolume) -> PersistentVolume | None:
        """None for one that was made for a claim whose pod had been given a node."""
        user = volume.spec.claim_ref
        if user is None or f"{user.namespace}/{user.name}" not in self._delayed:
            return volume
        if self._objects.of(PersistentVolume).get(volume.name) is None:
            return None  # others are there before they are anybody's
        new: PersistentVolume = volume.__copy__()  # type: ignore[attr-defined]
        new.spec = replace(volume.spec, claim_ref=None)
        new.status = PersistentVolumeStatus(phase="Available")
        return new

    def device_claim(self, claim: ResourceClaim, *, at_the_start: bool) -> ResourceClaim:
        known = self._objects.of(ResourceClaim).get(claim.name, claim.namespace)
        if at_the_start:
            return claim
        new: ResourceClaim = claim.__copy__()  # type: ignore[attr-defined]
        version = "1" if known is None else known.metadata.resource_version
        new.metadata = replace(claim.metadata, resource_version=version)
        new.status = ResourceClaimStatus() if known is None or known.uid != claim.uid else known.status
        return new

    def released(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        """A claim that a pod has used which is gone; without users it has no devices either."""
        left = tuple(user for user in claim.status.reserved_for if user.uid != pod.uid)
        new: ResourceClaim = claim.__copy__()  # type: ignore[attr-defined]
        new.status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
        version = claim.metadata.resource_version
        new.metadata = replace(claim.metadata, resource_version=str(int(version or 0) + 1))
        return new

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        storage_class = self._objects.of(StorageClass).get(claim.class_name)
        return storage_class is not None and storage_class.volume_binding_mode == _WAITS
