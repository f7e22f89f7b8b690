"""Which volume of which CSI driver the claims in use stand for, followed through every change."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from moorage.api.in_tree_volumes import SUCCESSOR_OF, CSIVolume, TranslationError, csi_volume
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.api.volume_uses import UseKind, VolumeUse
from moorage.state.dependents import Dependents
from moorage.state.objects import Objects
from moorage.state.volume_limits import VolumeLimits

_CLAIMS = UseKind.CLAIM, UseKind.EPHEMERAL_CLAIM
_TO_BE_MADE = secrets.token_hex(16)
"""Begins the handle of a volume that is still to be made, so that it is like no other."""


class Meaning(NamedTuple):
    """What a claim stands for, and the names of the volume and the class on which that depends."""

    volume: CSIVolume | None = None
    volume_name: str = ""
    class_name: str = ""


class ClaimedVolumes:
    """Has the limits count what pods use, through claims or without them."""

    def __init__(
        self, objects: Objects, limits: VolumeLimits, nodes_with: Callable[[VolumeUse], Mapping[str, int]]
    ) -> None:
        self._claims_known = objects.of(PersistentVolumeClaim)
        self._volumes_known = objects.of(PersistentVolume)
        self._classes_known = objects.of(StorageClass)
        self._limits = limits
        self._nodes_with = nodes_with
        self._claims: dict[str, Meaning] = {}
        self._claims_of_volume, self._claims_of_class = Dependents(), Dependents()
        self._claims_known.follow(self._claim_changed)
        self._volumes_known.follow(self._volume_changed)
        self._classes_known.follow(self._class_changed)

    # What pods use

    def use(self, use: VolumeUse, node: str) -> None:
        """The first pod on a node uses a claim, or a volume without a claim."""
        volume = use.what if isinstance(use.what, CSIVolume) else self._meaning_in_use(str(use.what)).volume
        if volume is not None:
            self._limits.hold(volume, node)

    def unuse(self, use: VolumeUse, node: str) -> None:
        """The last pod on a node that used it went."""
        if isinstance(use.what, CSIVolume):
            self._limits.release(use.what, node)
            return
        claim = str(use.what)
        meaning = self._claims[claim]
        if meaning.volume is not None:
            self._limits.release(meaning.volume, node)
        if not any(self._nodes_with(VolumeUse(kind, claim)) for kind in _CLAIMS):
            self._note(claim, meaning, Meaning())
            del self._claims[claim]

    def meaning_of(self, claim: PersistentVolumeClaim) -> Meaning:
        """Where no volume is bound yet, what the class will have made."""
        name = claim.spec.volume_name
        found = self._volumes_known.get(name) if name else None
        if found is not None:
            return Meaning(_counted(found), name)
        class_name = claim.class_name
        storage_class = self._classes_known.get(class_name) if class_name else None
        driver = "" if storage_class is None else storage_class.provisioner
        successor = SUCCESSOR_OF.get(driver)
        if successor is not None:
            driver = successor.driver if successor.migrates else ""
        volume = CSIVolume(driver, f"{_TO_BE_MADE}-{claim.key}") if driver else None
        return Meaning(volume, name, class_name)

    def _meaning_in_use(self, claim: str) -> Meaning:
        known = self._claims.get(claim)
        if known is None:
            known = self._claims[claim] = self._meaning_of_key(claim)
            self._note(claim, Meaning(), known)
        return known

    def _meaning_of_key(self, claim: str) -> Meaning:
        found = self._claims_known.get(claim)
        return Meaning() if found is None else self.meaning_of(found)

    def _note(self, claim: str, old: Meaning, new: Meaning) -> None:
        if old.volume_name != new.volume_name:
            self._claims_of_volume.remove(old.volume_name, claim)
            self._claims_of_volume.add(new.volume_name, claim)
        if old.class_name != new.class_name:
            self._claims_of_class.remove(old.class_name, claim)
            self._claims_of_class.add(new.class_name, claim)

    def _nodes_using(self, claim: str) -> list[str]:
        """A node stands here twice if pods there use the claim in both ways."""
        return [node for kind in _CLAIMS for node in self._nodes_with(VolumeUse(kind, claim))]

    # What if

    def volume_of(self, use: VolumeUse) -> CSIVolume | None:
        """What a use stands for, if that counts, used or not."""
        return use.what if isinstance(use.what, CSIVolume) else self._meaning_of_key(str(use.what)).volume

    def is_known(self, use: VolumeUse) -> bool:
        """Whether it is a claim that some pod uses."""
        return use.what in self._claims

    def put_back(self, use: VolumeUse, *, known: bool) -> None:
        """The claim is used or not, as it was, however far `use` or `unuse` came meanwhile."""
        if isinstance(use.what, CSIVolume):
            return
        claim = str(use.what)
        meaning = self._meaning_of_key(claim)
        self._claims_of_volume.put_back(meaning.volume_name, claim, depends=known)
        self._claims_of_class.put_back(meaning.class_name, claim, depends=known)
        if known:
            self._claims[claim] = meaning
        else:
            self._claims.pop(claim, None)

    # Changes

    def _claim_changed(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        item = new or old
        if item is not None and item.key in self._claims:
            self._look_again(item.key)

    def _class_changed(self, old: StorageClass | None, new: StorageClass | None) -> None:
        item = new or old
        for claim in self._claims_of_class.of(item.name if item else ""):
            self._look_again(claim)

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        item = new or old
        for claim in self._claims_of_volume.of(item.name if item else ""):
            self._look_again(claim)

    def _look_again(self, claim: str) -> None:
        old, new = self._claims[claim], self._meaning_of_key(claim)
        if old == new:
            return
        self._claims[claim] = new
        self._note(claim, old, new)
        if old.volume != new.volume:
            for node in self._nodes_using(claim):
                if old.volume is not None:
                    self._limits.release(old.volume, node)
                if new.volume is not None:
                    self._limits.hold(new.volume, node)


def _counted(volume: PersistentVolume) -> CSIVolume | None:
    """The volume as drivers know it, if it is one that counts."""
    try:
        found = csi_volume(volume)
    except TranslationError:
        return None
    return found if found is not None and found.driver and found.handle else None
