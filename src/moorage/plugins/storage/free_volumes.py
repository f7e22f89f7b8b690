"""The volumes of one storage class that are free to be claimed, and which of them is best on each node."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from typing import NamedTuple

import numpy as np

from moorage.api.quantities import parse
from moorage.api.selectors import LabelSelector, NodeSelector, Selector, parse_selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.storage.first_of_groups import NONE, FirstOfGroups, Members, first_of_groups
from moorage.plugins.storage.masks import Mask
from moorage.plugins.storage.node_groups import NodeGroups, for_labels
from moorage.plugins.storage.unserved_rows import UnservedRows
from moorage.state.columns import Bools, Int32s
from moorage.state.lru import Lru
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Rows

_KNOWN_SELECTORS = 64
_KNOWN_KINDS = 32


def capacity_of(volume: PersistentVolume) -> int:
    """In nanos; raises QuantityError."""
    return parse(volume.spec.capacity.get("storage", 0))


def request_of(claim: PersistentVolumeClaim) -> int:
    """In nanos; raises QuantityError."""
    return parse(claim.spec.resources.requests.get("storage", 0))


def affinity_of(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.node_affinity
    return None if affinity is None else for_labels(affinity.required)


class Traits(NamedTuple):
    """What must be the same of a claim and its volume, and what a volume must allow."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]

    @classmethod
    def of(cls, item: PersistentVolume | PersistentVolumeClaim) -> Traits:
        spec = item.spec
        return cls(
            spec.volume_mode or "Filesystem",
            spec.volume_attributes_class_name or "",
            frozenset(spec.access_modes),
        )

    def same_kind(self, claim: Traits) -> bool:
        return self.mode == claim.mode and self.attributes_class == claim.attributes_class

    def serve(self, claim: Traits) -> bool:
        return self.same_kind(claim) and self.access_modes >= claim.access_modes


class _Free(NamedTuple):
    """A free volume; equal ones are ranked and matched alike."""

    capacity: int
    name: str
    traits: Traits
    affinity: NodeSelector | None
    labels: dict[str, str]


class _Kind(NamedTuple):
    """What claims have in common that get the same volumes."""

    traits: Traits
    too_small: int
    """How many volumes are."""
    selector: LabelSelector | None


class _Offer(NamedTuple):
    """What there is for claims of one kind."""

    smallest: FirstOfGroups
    unserved: UnservedRows


class FreeVolumes:
    """Free volumes, kept as they come and go.

    Volumes are ranked by capacity, the smallest first. The ranking is made when it is asked for and a volume
    came that it lacks; volumes that are taken, and those given back, are only marked in it.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._free: dict[str, _Free] = {}
        self._ranking: Ranking | None = None

    def put(self, volume: PersistentVolume) -> None:
        """Takes a free volume in; raises QuantityError."""
        free = _Free(
            capacity_of(volume), volume.name, Traits.of(volume), affinity_of(volume), volume.metadata.labels
        )
        self._free[volume.name] = free
        if self._ranking is not None and not self._ranking.bring_back(free):
            self._ranking = None

    def discard(self, name: str) -> None:
        if self._free.pop(name, None) is not None and self._ranking is not None:
            self._ranking.take(name)

    def __len__(self) -> int:
        return len(self._free)

    def ranking(self) -> Ranking:
        ranking = self._ranking
        if ranking is None or len(ranking.entries) > 2 * len(self._free) + 64:
            ranking = self._ranking = Ranking(self._table, sorted(self._free.values()))
        return ranking


class Ranking:
    """Free volumes in columns, by ascending capacity and then by name.

    Which volumes are the best for a kind of claims is found out once, and corrected for every volume that is
    taken or comes back.
    """

    def __init__(self, table: NodeTable, entries: list[_Free]) -> None:
        self.entries = entries
        self._capacities = [entry.capacity for entry in entries]
        self._places = {entry.name: place for place, entry in enumerate(entries)}
        self._groups = NodeGroups(table, (entry.affinity for entry in entries))
        self._members = Members(self._groups.group_of, len(self._groups))
        numbers: dict[Traits, int] = {}
        codes = [numbers.setdefault(entry.traits, len(numbers)) for entry in entries]
        self._traits = list(numbers)
        self._trait_of = np.array(codes, dtype=np.int32)
        self._by_selector = Lru[LabelSelector, Bools](_KNOWN_SELECTORS)
        self._by_kind = Lru[_Kind, _Offer](_KNOWN_KINDS)
        self._last: tuple[PersistentVolumeClaim, _Offer] | None = None
        """What was last asked for: a cycle asks for the same claim several times."""

    def bring_back(self, free: _Free) -> bool:
        """Marks a volume as free; False if it is not in here, or was different."""
        place = self._places.get(free.name)
        if place is None or self.entries[place] != free:
            return False
        self._members.set_free(place, True)
        return True

    def take(self, name: str) -> None:
        place = self._places.get(name)
        if place is not None:
            self._members.set_free(place, False)

    def lacking(self, claim: PersistentVolumeClaim, rows: Rows) -> Mask:
        """On which of the rows no volume serves the claim; raises what `best` does."""
        return self._offer(claim).unserved.among(rows)

    def best(self, claim: PersistentVolumeClaim, rows: Rows, picked: list[Int32s]) -> Int32s:
        """For each of the rows, the place of the smallest volume that serves the claim there, or NONE.

        `picked` has for each of them the places that other claims of the pod have there. Raises
        SelectorError, QuantityError.
        """
        smallest = self._offer(claim).smallest
        first = smallest.now()
        if not picked:
            return self._groups.least(first, rows)
        places, groups = self._groups.pairs_among(rows)
        size = len(picked[0])
        # Every node belongs to group 0.
        places = np.concatenate([np.arange(size), places])
        groups = np.concatenate([np.zeros(size, dtype=np.int32), groups])
        offered = first[groups]
        taken_here = [taken[places] for taken in picked]
        serving: Bools | None = None
        while True:
            is_taken = np.zeros(len(places), dtype=np.bool_)
            for taken in taken_here:
                is_taken |= (taken == offered) & (offered != NONE)
            if not is_taken.any():
                break
            if serving is None:
                serving = smallest.serving()
            serving[first[first != NONE]] = False
            first = first_of_groups(self._members, serving)
            # Whoever was not offered a volume that is taken keeps what it has.
            offered = np.where(is_taken, first[groups], offered)
        found = np.full(size, NONE, dtype=np.int32)
        np.minimum.at(found, places, offered)
        return found

    def best_at(self, claim: PersistentVolumeClaim, row: int, taken: Container[str]) -> str | None:
        """The name of the volume that `best` finds for one row; `taken` are those of other claims there."""
        smallest = self._offer(claim).smallest
        first, found = smallest.now(), NONE
        for group in (0, *self._groups.groups_of(row)):
            place = first.item(group)
            while place != NONE and self.entries[place].name in taken:
                place = smallest.next(place)
            found = min(found, place)
        return None if found == NONE else self.entries[found].name

    def _offer(self, claim: PersistentVolumeClaim) -> _Offer:
        if self._last is not None and self._last[0] is claim:
            return self._last[1]
        too_small = bisect_left(self._capacities, request_of(claim))
        kind = _Kind(Traits.of(claim), too_small, claim.spec.selector)
        found = self._by_kind.get(kind)
        if found is None:
            smallest = FirstOfGroups(self._members, self._suiting(kind))
            found = self._by_kind.put(kind, _Offer(smallest, UnservedRows(self._groups, smallest)))
        self._last = claim, found
        return found

    def _suiting(self, kind: _Kind) -> Bools:
        """The volumes that claims of a kind can have, free or not."""
        by_trait = np.array([traits.serve(kind.traits) for traits in self._traits], dtype=np.bool_)
        suiting: Bools = by_trait[self._trait_of] if self.entries else np.zeros(0, dtype=np.bool_)
        suiting[: kind.too_small] = False
        if kind.selector is not None:
            suiting &= self._selected(kind.selector)
        return suiting

    def _selected(self, selector: LabelSelector) -> Bools:
        found = self._by_selector.get(selector)
        if found is None:
            parsed: Selector = parse_selector(selector)
            matching = [parsed.matches(entry.labels) for entry in self.entries]
            found = self._by_selector.put(selector, np.array(matching, dtype=np.bool_))
        return found
