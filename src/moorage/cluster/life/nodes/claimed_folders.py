"""The volumes behind claims, for pods that are really run: folders that outlive the pods."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

from moorage.cluster.base.parts import part, text
from moorage.cluster.base.store import Change, Document, Store, Stored
from moorage.cluster.life.controllers.volumes.claims import BIND_COMPLETED, CLAIMS, VOLUMES
from moorage.cluster.life.controllers.volumes.provisioner import PROVISIONER
from moorage.cluster.life.nodes.environment import Unavailable

_HANDLE = re.compile(r"[a-z0-9.-]{1,253}", re.ASCII)


class ClaimedFolders:
    """A folder for each volume that a pod has used; it goes with the volume, unless that says Retain.

    Volumes of the built-in driver with the same handle are the same folder, so that one which was retained
    can be had again.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store

    def volume_changed(self, change: Change) -> None:
        policy = change.new.spec.get("persistentVolumeReclaimPolicy")
        if change.type == "DELETED" and policy != "Retain":
            with suppress(Unavailable):
                shutil.rmtree(self._place(change.new), ignore_errors=True)

    def find(self, pod: Document, volume: Document) -> tuple[Path, bool] | None:
        """Where the volume of a claim is, and whether that is a path of the host; None if it is of no claim.

        Raises Unavailable if the claim has no volume, or one that there cannot be.
        """
        name = claim_name(pod, volume)
        if name is None:
            return None
        namespace = pod["metadata"].get("namespace", "")
        claim = self._store.get(CLAIMS, namespace, name)
        if claim is None:
            raise Unavailable(f'persistentvolumeclaim "{name}" not found')
        found = self._store.get(VOLUMES, "", claim.spec.get("volumeName") or "")
        if found is None or BIND_COMPLETED not in claim.annotations:
            raise Unavailable(f"error processing PVC {namespace}/{name}: PVC is not bound")
        path = text(part(found.spec, "hostPath"), "path") or text(part(found.spec, "local"), "path")
        if path:
            return Path(path), True
        place = self._place(found)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        return place, False

    def _place(self, volume: Stored) -> Path:
        source = part(volume.spec, "csi")
        handle = text(source, "volumeHandle") if source.get("driver") == PROVISIONER else volume.name
        if _HANDLE.fullmatch(handle) is None:
            raise Unavailable(
                f'persistentvolume "{volume.name}": {PROVISIONER} has no volume "{handle}";'
                " set spec.csi.volumeHandle to the name of one that it has made"
            )
        return self._folder / handle.replace(".", "_")


def claim_name(pod: Document, volume: Document) -> str | None:
    if volume.get("persistentVolumeClaim"):
        name: str = volume["persistentVolumeClaim"].get("claimName", "")
        return name
    if volume.get("ephemeral") is not None:
        return f"{pod['metadata'].get('name', '')}-{volume.get('name', '')}"
    return None
