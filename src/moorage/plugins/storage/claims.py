"""Which persistent volume claims the volumes of a pod stand for, and what a claim says about itself."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.meta import Object
from moorage.api.pods import Pod, Volume
from moorage.api.storage import OLD_CLASS_ANNOTATION, PersistentVolume, PersistentVolumeClaim

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class ClaimOfPod(NamedTuple):
    """The name of a claim in the pod's namespace, and whether it is made for a generic ephemeral volume."""

    name: str
    ephemeral: bool


def claim_of(pod: Pod, volume: Volume) -> ClaimOfPod | None:
    """The claim that a volume of a pod stands for; None for the other kinds of volumes."""
    name = volume.claim_name(pod.name)
    return None if name is None else ClaimOfPod(name, volume.persistent_volume_claim is None)


def claims_of(pod: Pod) -> list[ClaimOfPod]:
    """The claims of a pod, in the order of its volumes."""
    return [claim for volume in pod.spec.volumes if (claim := claim_of(pod, volume)) is not None]


def uses_claim(pod: Pod, claim: PersistentVolumeClaim, *, ephemeral: bool = True) -> bool:
    """Whether a volume of the pod stands for this claim; `ephemeral=False` looks at plain volumes alone."""
    return pod.namespace == claim.namespace and any(
        used.name == claim.name and (ephemeral or not used.ephemeral) for used in claims_of(pod)
    )


def ownership_problem(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """Why the claim of an ephemeral volume is not this pod's own, or None."""
    if claim.namespace == pod.namespace and _controller_uid(claim) == pod.uid:
        return None
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def _controller_uid(item: Object) -> str | None:
    """Only the first owner that says it controls the object does."""
    return next((owner.uid for owner in item.metadata.owner_references if owner.controller), None)


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The name of the storage class, "" for none."""
    return claim.class_name


def class_of_volume(volume: PersistentVolume) -> str:
    annotated = volume.annotations.get(OLD_CLASS_ANNOTATION)
    return volume.spec.storage_class_name if annotated is None else annotated


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether claim and volume are bound from both sides; the phase is not asked."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.annotations


def claim_not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def volume_not_found(name: str) -> str:
    return f'persistentvolume "{name}" not found'


def class_not_found(name: str) -> str:
    return f'storageclass.storage.k8s.io "{name}" not found'
