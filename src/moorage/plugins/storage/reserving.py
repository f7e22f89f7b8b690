"""Promising volumes to a pod: in memory, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.api.storage import ObjectReference, PersistentVolume, PersistentVolumeClaim
from moorage.plugins.storage.assumed import AssumeFailed, changeable
from moorage.plugins.storage.judging import SELECTED_NODE, Binding
from moorage.plugins.storage.storage import Storage
from moorage.plugins.storage.volumes import is_for

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


@dataclass
class Reserved:
    """What a pod was promised on its node, with the changes that are to be written."""

    bindings: list[Binding] = field(default_factory=list)
    to_provision: list[PersistentVolumeClaim] = field(default_factory=list)


def reserve(
    storage: Storage, bindings: list[Binding], to_provision: list[PersistentVolumeClaim], node_name: str
) -> Reserved:
    """Nobody else gets these volumes, and nobody chooses another node for these claims, until given back.

    Raises AssumeFailed, and nothing is promised then.
    """
    reserved = Reserved()
    try:
        for volume, claim in bindings:
            changed = bound_to(volume, claim)
            if changed is not volume:
                storage.volumes.assume(changed)
            reserved.bindings.append(Binding(changed, claim))
        for claim in to_provision:
            chosen = changeable(claim)
            chosen.metadata.annotations[SELECTED_NODE] = node_name
            storage.claims.assume(chosen)
            reserved.to_provision.append(chosen)
    except AssumeFailed:
        give_back(storage, reserved.bindings, reserved.to_provision)
        raise
    return reserved


def give_back(storage: Storage, bindings: list[Binding], to_provision: list[PersistentVolumeClaim]) -> None:
    """Ends promises. What was written meanwhile stays promised until the watch shows it."""
    for volume, _ in bindings:
        storage.volumes.restore(volume)
    for claim in to_provision:
        storage.claims.restore(claim)


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it is to be written for a claim; itself if there is nothing to change."""
    known = volume.spec.claim_ref
    names_it = known is not None and (known.name, known.namespace, known.uid) == (
        claim.name,
        claim.namespace,
        claim.uid,
    )
    marks_it = not is_for(volume, claim) and BOUND_BY_CONTROLLER not in volume.annotations
    if names_it and not marks_it:
        return volume
    changed = changeable(volume)
    if not names_it:
        changed.spec = volume.spec.__copy__()  # type: ignore[attr-defined]
        changed.spec.claim_ref = ObjectReference(
            kind=claim.kind,
            api_version=claim.api_version(),
            namespace=claim.namespace,
            name=claim.name,
            uid=claim.uid,
            resource_version=claim.metadata.resource_version,
        )
    if marks_it:
        changed.metadata.annotations[BOUND_BY_CONTROLLER] = "yes"
    return changed
