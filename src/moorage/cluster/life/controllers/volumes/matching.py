"""Which volume suits a claim best."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.parts import part, selector_of, texts
from moorage.cluster.base.store import Change, Document, Store, Stored
from moorage.cluster.life.controllers.objects import Groups, Key
from moorage.cluster.life.controllers.volumes.claims import VOLUMES, claim_key, class_of, is_for
from moorage.cluster.schema.forms import nanos

_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


class OpenVolumes:
    """The volumes that a claim could get: those that are for it already, and those that are for none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unclaimed: Groups[str, str] = Groups()
        self._claimed: Groups[Key, str] = Groups()

    def start(self) -> None:
        for volume in self._store.iterate(VOLUMES):
            self._add(volume)

    def changed(self, change: Change) -> None:
        if change.old is not None:
            self._discard(change.old)
        if change.type != "DELETED":
            self._add(change.new)

    def claimed_by(self, key: Key) -> list[str]:
        """The volumes that refer to a claim, whichever uid they say it has."""
        return sorted(self._claimed.get(key, ()))

    def best_for(self, claim: Stored, *, delayed: bool) -> Stored | None:
        """The volume to bind to a claim; with `delayed` only one that is for this claim already.

        Fewer access modes count more than being for the claim, and that more than being small.
        """
        return min(self._suitable(claim, delayed), key=lambda each: _rank(each, claim), default=None)

    def _suitable(self, claim: Stored, delayed: bool) -> Iterator[Stored]:
        selector = claim.spec.get("selector")
        labels = selector_of(selector) if selector is not None else None
        for volume in self._get(self._claimed.get(claim.key, ())):
            if is_for(volume, claim) and _fits(volume, claim):
                yield volume
        for volume in self._get(() if delayed else self._unclaimed.get(class_of(claim), ())):
            available = volume.status.get("phase") == "Available" and _fits(volume, claim)
            if available and (labels is None or labels.matches(volume.labels)):
                yield volume

    def _get(self, names: set[str] | tuple[()]) -> Iterator[Stored]:
        for name in names:
            if (volume := self._store.get(VOLUMES, "", name)) is not None:
                yield volume

    def _add(self, volume: Stored) -> None:
        if (key := claim_key(volume)) is not None:
            self._claimed.add(key, volume.name)
        else:
            self._unclaimed.add(class_of(volume), volume.name)

    def _discard(self, volume: Stored) -> None:
        if (key := claim_key(volume)) is not None:
            self._claimed.discard(key, volume.name)
        else:
            self._unclaimed.discard(class_of(volume), volume.name)


def mismatch(volume: Stored, claim: Stored) -> str:
    """Why a volume that a claim names cannot be bound to it; "" if it can."""
    if volume.is_deleted:
        return f'the volume is marked for deletion "{volume.name}"'
    if size_of(volume) < requested(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if mode_of(volume) != mode_of(claim):
        return "incompatible volumeMode"
    return "" if _modes(claim) <= _modes(volume) else "incompatible accessMode"


def size_of(volume: Stored) -> int:
    return nanos(part(volume.spec, "capacity").get("storage", "0"))


def requested(claim: Stored) -> int:
    resources: Document = part(claim.spec, "resources", "requests")
    return nanos(resources.get("storage", "0"))


def mode_of(stored: Stored) -> str:
    return stored.spec.get("volumeMode") or "Filesystem"


def _fits(volume: Stored, claim: Stored) -> bool:
    return (
        size_of(volume) >= requested(claim)
        and mode_of(volume) == mode_of(claim)
        and _attributes_class(volume) == _attributes_class(claim)
        and not volume.is_deleted
        and _modes(claim) <= _modes(volume)
    )


def _rank(volume: Stored, claim: Stored) -> tuple[int, list[int], bool, int, str]:
    modes = sorted(map(_MODES.index, _modes(volume)))
    return len(modes), modes, not is_for(volume, claim), size_of(volume), volume.name


def _modes(stored: Stored) -> set[str]:
    return set(_MODES).intersection(texts(stored.spec, "accessModes"))


def _attributes_class(stored: Stored) -> str:
    return stored.spec.get("volumeAttributesClassName") or ""
