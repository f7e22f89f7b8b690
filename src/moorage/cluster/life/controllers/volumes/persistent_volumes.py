"""PersistentVolumeClaims are bound to PersistentVolumes, or have one made for them."""

from __future__ import annotations

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.volumes import claims
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, CLASSES, VOLUMES, ClaimUsers, class_of
from moorage.cluster.life.controllers.volumes.matching import OpenVolumes, mismatch
from moorage.cluster.life.controllers.volumes.volume_phases import VolumePhases
from moorage.cluster.objects.admission.storage import default_class
from moorage.cluster.objects.writes import InternalWriter

_IN_TREE = "kubernetes.io/"


class PersistentVolumes(Controller):
    """Keys with a namespace are claims, those without are volumes."""

    name = "persistentvolume"

    def __init__(self, writer: InternalWriter, clock: Clock, users: ClaimUsers) -> None:
        super().__init__(writer, clock)
        self._users = users
        self._open = OpenVolumes(self._store)
        self._phases = VolumePhases(writer, self._recorder, self._queue.add)
        self._waiting: objects.Groups[str, objects.Key] = objects.Groups()
        """Claims without a volume, by class."""
        self._naming: objects.Groups[str, objects.Key] = objects.Groups()
        """Claims by the volume they name."""

    def _begin(self) -> None:
        self._open.start()
        for claim in self._store.iterate(CLAIMS):
            self._sort(claim)
        self._listen(CLAIMS, self._claim_changed)
        self._listen(VOLUMES, self._volume_changed)
        self._listen(CLASSES, self._class_changed)
        self._listen("pods", self._pod_changed)
        self._add_all(CLAIMS)
        self._add_all(VOLUMES)

    # What is heard

    def _sort(self, claim: Stored) -> None:
        group, name = self._group(claim)
        group.add(name, claim.key)

    def _group(self, claim: Stored) -> tuple[objects.Groups[str, objects.Key], str]:
        volume = claim.spec.get("volumeName")
        return (self._naming, volume) if volume else (self._waiting, class_of(claim))

    def _claim_changed(self, change: Change) -> None:
        claim = change.new
        if change.old is not None:
            group, name = self._group(change.old)
            group.discard(name, claim.key)
        if change.type != "DELETED":
            self._sort(claim)
            self._queue.add(claim.key)
            return
        for name in self._open.claimed_by(claim.key):
            self._queue.add(("", name))

    def _volume_changed(self, change: Change) -> None:
        self._open.changed(change)
        volume = change.new
        if change.type != "DELETED":
            self._queue.add(volume.key)
        for key in self._naming.get(volume.name, ()):
            self._queue.add(key)
        if (claimed := claims.claim_key(volume)) is not None:
            self._queue.add(claimed)
        elif volume.status.get("phase") == "Available":
            for key in self._waiting.get(class_of(volume), ()):
                self._queue.add(key)

    def _class_changed(self, change: Change) -> None:
        for name in (change.new.name, ""):  # "" for those that a default class is good for
            for key in self._waiting.get(name, ()):
                self._queue.add(key)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "ADDED" and not change.new.spec.get("nodeName"):
            for name in claims.claim_names(change.new):
                self._queue.add((change.new.namespace, name))

    async def _reconcile(self, key: objects.Key) -> None:
        stored = self._store.get(CLAIMS if key[0] else VOLUMES, *key)
        if stored is None:
            return
        if not key[0]:
            self._phases.see(stored)
        elif claims.BIND_COMPLETED in stored.annotations:
            self._see_bound_claim(stored)
        elif stored.spec.get("volumeName"):
            self._see_naming_claim(stored)
        else:
            self._see_waiting_claim(stored)

    # Claims

    def _see_waiting_claim(self, claim: Stored) -> None:
        delayed = claims.waits_for_pod(self._store, claim)
        volume = self._open.best_for(claim, delayed=delayed)
        if volume is not None:
            self._bind(volume, claim)
        elif self._set_default_class(claim):
            pass  # which is a change that brings the claim here again
        elif delayed and claims.SELECTED_NODE not in claim.annotations:
            self._tell_what_is_awaited(claim)
            self._set_claim_phase(claim, "Pending")
        elif class_of(claim):
            self._ask_for_volume(claim)
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._recorder.tell(claim, "FailedBinding", text)
            self._set_claim_phase(claim, "Pending")

    def _see_naming_claim(self, claim: Stored) -> None:
        volume = self._store.get(VOLUMES, "", claim.spec["volumeName"])
        problem = ""
        if volume is None:
            self._set_claim_phase(claim, "Pending")
            return
        if not volume.spec.get("claimRef"):
            if problem := mismatch(volume, claim):
                text = f'Cannot bind to requested volume "{volume.name}": {problem}'
                self._recorder.tell(claim, "VolumeMismatch", text, warning=True)
        elif not claims.is_for(volume, claim):
            problem = f'volume "{volume.name}" already bound to a different claim.'
            self._recorder.tell(claim, "FailedBinding", problem, warning=True)
        if problem:
            self._set_claim_phase(claim, "Pending")
        else:
            self._bind(volume, claim)

    def _see_bound_claim(self, claim: Stored) -> None:
        name = claim.spec.get("volumeName")
        volume = self._store.get(VOLUMES, "", name) if name else None
        if not name:
            text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            self._lose(claim, "ClaimLost", text)
        elif volume is None:
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._lose(claim, "ClaimLost", text)
        elif not volume.spec.get("claimRef") or volume.spec["claimRef"].get("uid") == claim.uid:
            self._bind(volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", text)

    def _lose(self, claim: Stored, reason: str, text: str) -> None:
        if claim.status.get("phase") != "Lost":
            told = self._set_claim_phase(claim, "Lost")
            self._recorder.tell(told or claim, reason, text, warning=True)

    def _set_default_class(self, claim: Stored) -> bool:
        """Gives a claim that never had a class the default one, which may be newer than the claim."""
        if claim.spec.get("storageClassName") is not None or class_of(claim):
            return False
        name = default_class(self._store)
        if not name:
            return False
        self._writer.change(CLAIMS, claim, lambda document: document["spec"].update(storageClassName=name))
        return True

    def _tell_what_is_awaited(self, claim: Stored) -> None:
        pods = [pod for pod in self._users.of(claim.key) if not objects.is_finished(pod)]
        names = [pod.name for pod in pods if not pod.spec.get("nodeName")]
        if not names:
            text = "waiting for first consumer to be created before binding"
            self._recorder.tell(claim, "WaitForFirstConsumer", text)
            return
        text = f"waiting for pod{'s' if len(names) > 1 else ''} {','.join(names)} to be scheduled"
        self._recorder.tell(claim, "WaitForPodScheduled", text)

    def _ask_for_volume(self, claim: Stored) -> None:
        """Marks a claim for the provisioner of its class."""
        name = class_of(claim)
        found = self._store.get(CLASSES, "", name)
        if found is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            self._recorder.tell(claim, "ProvisioningFailed", text, warning=True)
            return
        provisioner: str = found.document.get("provisioner", "")
        if provisioner.startswith(_IN_TREE):
            text = f"no volume plugin matched name: {provisioner}"
            self._recorder.tell(claim, "ProvisioningFailed", text, warning=True)
            return

        def mark(document: Document) -> None:
            annotations = document["metadata"].setdefault("annotations", {})
            for mark in (claims.PROVISIONER_MARK, claims.OLD_PROVISIONER_MARK):
                annotations[mark] = provisioner

        if claim.annotations.get(claims.PROVISIONER_MARK) == provisioner:
            return
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or "
            "manually by the system administrator. If volume creation is delayed, please verify that the "
            "provisioner is running and correctly registered."
        )
        self._recorder.tell(claim, "ExternalProvisioning", text)
        self._writer.change(CLAIMS, claim, mark)

    def _bind(self, volume: Stored, claim: Stored) -> None:
        """Binds both to each other; what is so already stays as it is."""
        if _is_complete(volume, claim):
            return
        bound = self._writer.change(VOLUMES, volume, lambda document: _refer(document, volume, claim))
        told = self._phases.set(bound, "Bound") if bound is not None else None
        if told is None:
            return

        def complete(document: Document) -> None:
            annotations = document["metadata"].setdefault("annotations", {})
            if document["spec"].get("volumeName") != volume.name:
                document["spec"]["volumeName"] = volume.name
                annotations.setdefault(claims.BOUND_BY_CONTROLLER, "yes")
            annotations.setdefault(claims.BIND_COMPLETED, "yes")

        completed = self._writer.change(CLAIMS, claim, complete)
        if completed is not None:
            self._set_claim_phase(completed, "Bound", told)

    def _set_claim_phase(self, claim: Stored, phase: str, volume: Stored | None = None) -> Stored | None:
        status = {**claim.status, "phase": phase}
        if volume is None:
            for name in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
                status.pop(name, None)
        else:
            status["accessModes"] = [*(volume.spec.get("accessModes") or ())]
            before = claim.status.get("phase")
            if before != phase:
                status["capacity"] = {**part(volume.spec, "capacity")}
            attributes = volume.spec.get("volumeAttributesClassName")
            if before in (None, "Pending") and attributes is not None:
                status["currentVolumeAttributesClassName"] = attributes
        return objects.write_status(self._writer, CLAIMS, claim, status)


def _refer(document: Document, volume: Stored, claim: Stored) -> None:
    """Has a volume refer to a claim, and tells whether a person or a controller has seen to that."""
    if not claims.is_for(volume, claim):
        document["metadata"].setdefault("annotations", {}).setdefault(claims.BOUND_BY_CONTROLLER, "yes")
    if part(volume.spec, "claimRef").get("uid") != claim.uid or claims.claim_key(volume) != claim.key:
        document["spec"]["claimRef"] = claims.claim_reference(claim)


def _is_complete(volume: Stored, claim: Stored) -> bool:
    return (
        part(volume.spec, "claimRef").get("uid") == claim.uid
        and claim.spec.get("volumeName") == volume.name
        and claims.BIND_COMPLETED in claim.annotations
        and volume.status.get("phase") == claim.status.get("phase") == "Bound"
        and claim.status.get("accessModes") == volume.spec.get("accessModes")
    )
