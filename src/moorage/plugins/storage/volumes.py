"""All persistent volumes, as promised to pods so far, and the ways to find them."""

from __future__ import annotations

from collections.abc import Collection

from moorage.api.quantities import QuantityError
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.framework.handle import Handle
from moorage.framework.logger import Logger
from moorage.plugins.storage.assumed import Assumed
from moorage.plugins.storage.claims import class_of_volume
from moorage.plugins.storage.free_volumes import FreeVolumes, Ranking

log = Logger(__name__)


class Volumes(Assumed[PersistentVolume]):
    """Volumes by name; the free ones by storage class, the others by the claim that they name."""

    def __init__(self, handle: Handle) -> None:
        self._table = handle.state.table
        lister = handle.lister_of(PersistentVolume)
        super().__init__(lister, self._index)
        self._free: dict[str, FreeVolumes] = {}
        self._of_claim: dict[str, dict[str, PersistentVolume]] = {}
        self._class_of: dict[str, str] = {}
        self._claim_of: dict[str, str] = {}
        for volume in lister.list():
            self._index(volume.name, "")

    def ranking(self, storage_class: str) -> Ranking | None:
        """The volumes of a class that no claim has and no pod was promised; None if there are none."""
        free = self._free.get(storage_class)
        return free.ranking() if free else None

    def naming(self, claim: PersistentVolumeClaim) -> Collection[PersistentVolume]:
        """The volumes that are for this claim and no other, in the order of their names."""
        named = self._of_claim.get(claim.key)
        if named is None:
            return ()
        return [named[name] for name in sorted(named) if is_for(named[name], claim)]

    def _index(self, name: str, namespace: str) -> None:
        """Puts a volume where it is to be found now."""
        known_class, known_claim = self._class_of.pop(name, None), self._claim_of.pop(name, None)
        if known_class is not None:
            self._free[known_class].discard(name)
        if known_claim is not None:
            del self._of_claim[known_claim][name]
            if not self._of_claim[known_claim]:
                del self._of_claim[known_claim]
        volume = self.get(name)
        if volume is None:
            return
        claim = volume.spec.claim_ref
        if claim is not None:
            key = f"{claim.namespace}/{claim.name}"
            self._claim_of[name] = key
            self._of_claim.setdefault(key, {})[name] = volume
        elif volume.status.phase == "Available" and not volume.deleting:
            self._put_free(volume)

    def _put_free(self, volume: PersistentVolume) -> None:
        storage_class = class_of_volume(volume)
        try:
            self._free.setdefault(storage_class, FreeVolumes(self._table)).put(volume)
        except QuantityError as error:
            log.error(error, "Persistent volume has an invalid capacity", volume=volume)
            return
        self._class_of[volume.name] = storage_class


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume names this claim; one that names no UID is for any claim of the name."""
    named = volume.spec.claim_ref
    if named is None:
        return False
    same = named.name == claim.name and named.namespace == claim.namespace
    return same and named.uid in ("", claim.uid)
