"""The claims of a StatefulSet's pods: made before the pod, kept or deleted as the set says."""

from __future__ import annotations

from functools import partial

from moorage.cluster.base.errors import Refusal, conflict
from moorage.cluster.base.parts import keep_only, part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.volumes.claims import CLAIMS
from moorage.cluster.life.controllers.workloads import stateful_pods as pods
from moorage.cluster.objects.writes import InternalWriter

DELETE = "Delete"


class StatefulClaims:
    def __init__(self, writer: InternalWriter, recorder: Recorder) -> None:
        self._writer = writer
        self._store = writer.store
        self._recorder = recorder

    def create_missing(self, stateful_set: Stored, number: int) -> None:
        """Raises a Refusal if a claim cannot be made, or is on its way out."""
        pod = pods.pod_name(stateful_set, number)
        for template in pods.claim_templates(stateful_set):
            name = pods.claim_name(stateful_set, template, number)
            present = self._store.get(CLAIMS, stateful_set.namespace, name)
            if present is not None and present.is_deleted:
                waits = conflict(CLAIMS, name)
                waits.message = f"pvc {name} is being deleted"
                raise waits
            if present is not None:
                continue
            where = f"Pod {pod} in StatefulSet {stateful_set.name}"
            try:
                self._writer.create(CLAIMS, _claim(stateful_set, template, name))
            except Refusal as refusal:
                text = f"Create Claim {name} for {where} failed error: {refusal.message}"
                self._recorder.tell(stateful_set, "FailedCreate", text, warning=True)
                refusal.message = f"failed to create PVC {name}: {refusal.message}"
                raise
            self._recorder.tell(stateful_set, "SuccessfulCreate", f"Create Claim {name} {where} success")

    def are_left_over(self, stateful_set: Stored, number: int) -> bool:
        """Whether claims of a pod that was scaled away are still there, and about to go."""
        if _policy(stateful_set, "whenScaled") != DELETE:
            return False
        name = pods.pod_name(stateful_set, number)
        owners = [owner for claim in self._of(stateful_set, number) for owner in claim.owners]
        return any(_refers(owner, "Pod", name) for owner in owners)

    def set_owners(self, stateful_set: Stored, number: int, pod: Stored) -> None:
        """Makes the set or the pod own the claims of a pod that are to go with it."""
        for claim in self._of(stateful_set, number):
            if self._is_settled(claim, stateful_set, pod, number):
                continue
            if _has_other_controller(claim, stateful_set, pod):
                text = (
                    f"PersistentVolumeClaim {claim.name} has a conflicting OwnerReference that acts as a "
                    "manging controller, the retention policy is ignored for this claim"
                )
                self._recorder.tell(stateful_set, "ConflictingController", text, warning=True)
            self._writer.change(CLAIMS, claim, partial(_own, claim, stateful_set, pod, number))

    def are_settled(self, stateful_set: Stored, number: int, pod: Stored) -> bool:
        return all(
            self._is_settled(claim, stateful_set, pod, number) for claim in self._of(stateful_set, number)
        )

    def _is_settled(self, claim: Stored, stateful_set: Stored, pod: Stored, number: int) -> bool:
        uids = {owner.get("uid") for owner in claim.owners}
        if _is_stale(claim, "StatefulSet", stateful_set) or _is_stale(claim, "Pod", pod):
            return True  # that is for the garbage collector
        if _has_other_controller(claim, stateful_set, pod):
            return stateful_set.uid not in uids and pod.uid not in uids
        ours = [owner for owner in claim.owners if owner.get("uid") in (stateful_set.uid, pod.uid)]
        if not all(owner.get("controller") for owner in ours):
            return False
        return {owner["uid"] for owner in ours} == {each.uid for each in _owners(stateful_set, pod, number)}

    def _of(self, stateful_set: Stored, number: int) -> list[Stored]:
        """Those claims of a number that are there."""
        names = [pods.claim_name(stateful_set, each, number) for each in pods.claim_templates(stateful_set)]
        found = (self._store.get(CLAIMS, stateful_set.namespace, name) for name in names)
        return [claim for claim in found if claim is not None]


def _claim(stateful_set: Stored, template: Document, name: str) -> Document:
    given = part(template, "metadata")
    metadata = {
        **{each: given[each] for each in ("annotations", "finalizers") if given.get(each)},
        "name": name,
        "namespace": stateful_set.namespace,
        "labels": {**part(given, "labels"), **part(stateful_set.spec, "selector", "matchLabels")},
    }
    return objects.copied({"metadata": metadata, "spec": part(template, "spec")})


def _policy(stateful_set: Stored, when: str) -> str:
    policy: str = part(stateful_set.spec, "persistentVolumeClaimRetentionPolicy").get(when, "Retain")
    return policy


def _owners(stateful_set: Stored, pod: Stored, number: int) -> list[Stored]:
    """Whom the claims of a pod should belong to: whose end is to be theirs."""
    is_scaled_away = number not in pods.numbers(stateful_set)
    if _policy(stateful_set, "whenScaled") == DELETE and is_scaled_away:
        return [pod]
    return [stateful_set] if _policy(stateful_set, "whenDeleted") == DELETE else []


def _own(claim: Stored, stateful_set: Stored, pod: Stored, number: int, document: Document) -> None:
    metadata = document["metadata"]
    keep_only(
        metadata,
        "ownerReferences",
        lambda owner: (
            not (_refers(owner, "StatefulSet", stateful_set.name) or _refers(owner, "Pod", pod.name))
        ),
    )
    if _has_other_controller(claim, stateful_set, pod):
        return
    for owner in _owners(stateful_set, pod, number):
        reference = (
            objects.controller_reference(owner, "v1", "Pod")
            if owner is pod
            else objects.controller_reference(owner, "apps/v1", "StatefulSet")
        )
        metadata.setdefault("ownerReferences", []).append(reference)


def _refers(owner: Document, kind: str, name: str) -> bool:
    version = "v1" if kind == "Pod" else "apps/v1"
    return (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) == (version, kind, name)


def _is_stale(claim: Stored, kind: str, owner: Stored) -> bool:
    """Whether a claim belongs to an earlier object of the same name."""
    return any(_refers(each, kind, owner.name) and each.get("uid") != owner.uid for each in claim.owners)


def _has_other_controller(claim: Stored, stateful_set: Stored, pod: Stored) -> bool:
    if DELETE not in (_policy(stateful_set, "whenScaled"), _policy(stateful_set, "whenDeleted")):
        return False
    known = {stateful_set.uid, pod.uid}
    return any(
        owner.get("uid") not in known
        and (
            owner.get("controller")
            or _refers(owner, "StatefulSet", stateful_set.name)
            or _refers(owner, "Pod", pod.name)
        )
        for owner in claim.owners
    )
