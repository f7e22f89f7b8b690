"""The phases of volumes: available, bound to a claim, released when the claim is gone."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.volumes import claims
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, VOLUMES
from moorage.cluster.life.controllers.volumes.matching import mode_of
from moorage.cluster.objects.writes import InternalWriter


class VolumePhases:
    def __init__(
        self, writer: InternalWriter, recorder: Recorder, look_at_claim: Callable[[objects.Key], None]
    ) -> None:
        self._writer = writer
        self._store = writer.store
        self._recorder = recorder
        self._look_at_claim = look_at_claim

    def see(self, volume: Stored) -> None:
        """Brings a volume into the phase that its claim, or the lack of one, calls for."""
        reference = volume.spec.get("claimRef")
        if not reference or not reference.get("uid"):
            self.set(volume, "Available")
            return
        claim = objects.same_object(
            self._store, CLAIMS, claims.claim_key(volume) or ("", ""), reference["uid"]
        )
        if claim is None:
            self._release(volume)
        elif not claim.spec.get("volumeName"):
            if mode_of(volume) != mode_of(claim):
                self._tell_mismatch(volume, claim)
            else:
                self._look_at_claim(claim.key)
        elif claim.spec["volumeName"] == volume.name:
            self.set(volume, "Bound")
        elif claims.PROVISIONED_BY in volume.annotations and _reclaim_policy(volume) == "Delete":
            self._release(volume)
        else:
            self._unbind(volume)

    def set(self, volume: Stored, phase: str, message: str = "") -> Stored | None:
        """The volume in this phase; None if it has meanwhile changed or gone."""
        if volume.status.get("phase") == phase:
            return volume
        status = {name: value for name, value in volume.status.items() if name != "message"}
        status |= {"phase": phase, **({"message": message} if message else {})}
        return objects.write_status(self._writer, VOLUMES, volume, status)

    def _tell_mismatch(self, volume: Stored, claim: Stored) -> None:
        start, end = "Cannot bind PersistentVolume", "due to incompatible volumeMode."
        text = f'{start} to requested PersistentVolumeClaim "{claim.name}" {end}'
        self._recorder.tell(volume, "VolumeMismatch", text, warning=True)
        text = f'{start} "{volume.name}" to requested PersistentVolumeClaim {end}'
        self._recorder.tell(claim, "VolumeMismatch", text, warning=True)

    def _unbind(self, volume: Stored) -> None:
        """Frees a volume of a claim that has another one; whom a person has meant it for is kept."""

        def free(document: Document) -> None:
            annotations = document["metadata"].get("annotations") or {}
            if annotations.pop(claims.BOUND_BY_CONTROLLER, None) is not None:
                document["spec"].pop("claimRef", None)
                if not annotations:
                    document["metadata"].pop("annotations", None)
            else:
                document["spec"]["claimRef"].pop("uid", None)

        freed = self._writer.change(VOLUMES, volume, free)
        if freed is not None:
            self.set(freed, "Available")

    def _release(self, volume: Stored) -> None:
        """What becomes of a volume whose claim is gone; what somebody else has provisioned, they delete."""
        told: Stored | None = volume
        if volume.status.get("phase") not in claims.RELEASED:
            told = self.set(volume, "Released")
        if told is None:
            return
        policy = _reclaim_policy(told)
        if policy == "Recycle":
            self._fail(told, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        elif (
            policy == "Delete" and not told.annotations.get(claims.PROVISIONED_BY) and "csi" not in told.spec
        ):
            if problem := _why_not_deleted(told):
                self._fail(told, "VolumeFailedDelete", problem)
            elif not told.is_deleted:
                objects.delete_if_there(self._writer, VOLUMES, told)

    def _fail(self, volume: Stored, reason: str, text: str) -> None:
        if volume.status.get("phase") != "Failed":
            failed = self.set(volume, "Failed", text)
            self._recorder.tell(failed or volume, reason, text, warning=True)


def _reclaim_policy(volume: Stored) -> str:
    return volume.spec.get("persistentVolumeReclaimPolicy") or "Retain"


def _why_not_deleted(volume: Stored) -> str:
    """Why a volume that nobody provisioned cannot be deleted; its files are never touched."""
    path = part(volume.spec, "hostPath").get("path")
    if path is None:
        what = f'error getting deleter volume plugin for volume "{volume.name}"'
        return f"{what}: no deletable volume plugin matched"
    if not posixpath.normpath(path).startswith("/tmp/"):
        return f"host_path deleter only supports /tmp/.+ but received provided {path}"
    return ""
