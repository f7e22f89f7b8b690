"""Which nodes the claims of a pod leave, for many nodes at once, and which volumes it would get there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moorage.api.selectors import SelectorError, parse_selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.claims import class_of_claim, class_of_volume
from moorage.plugins.storage.first_of_groups import NONE
from moorage.plugins.storage.free_volumes import Ranking, Traits, capacity_of, request_of
from moorage.plugins.storage.masks import Mask, both, has_any, part, without
from moorage.plugins.storage.provisioning import has_provisioner
from moorage.plugins.storage.reach import Reached
from moorage.plugins.storage.rejections import AFFINITY, GONE, NO_SPACE, UNBOUND, Rejections
from moorage.plugins.storage.storage import Storage
from moorage.state.columns import Bools, Int32s
from moorage.state.nodes import Nodes, Rows

SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Match(NamedTuple):
    """The volume for a claim on each row: its place among the free ones, a named one below 0, or NONE."""

    claim: PersistentVolumeClaim
    ranking: Ranking | None
    picks: Int32s


class Binding(NamedTuple):
    """A volume that a claim is to get."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


Choice = tuple[PersistentVolumeClaim, PersistentVolume | None]
"""A claim, and the volume that it would get; None if one is to be made."""


class Judgement:
    """What claims mean for nodes, as they are in this cycle.

    Only the rows are looked at that somebody asks about: that is a stretch of the table most of the time.
    """

    def __init__(
        self,
        storage: Storage,
        bound: Sequence[PersistentVolumeClaim],
        delayed: Sequence[PersistentVolumeClaim],
    ) -> None:
        self._storage = storage
        self._reached: list[Reached] = []
        """Of the volume of each bound claim, up to the first that has none."""
        self._is_gone = False
        """Whether a bound claim has no volume."""
        self._selected = [claim for claim in delayed if SELECTED_NODE in claim.annotations]
        self._unsorted = [claim for claim in delayed if SELECTED_NODE not in claim.annotations]
        self._sorted: list[PersistentVolumeClaim] | None = None
        self._chosen: tuple[int, list[Choice]] | None = None
        """What was chosen for the row that was last asked about."""
        self.problem = ""
        """Why it cannot be said of some node whether it will do; that ends the attempt."""
        self._look_up(bound)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """Sets `problem` if it cannot be said of one of these nodes."""
        found = Rejections()
        self._judge_bound(found, nodes.rows)
        if self._selected or self._unsorted:
            self._judge_delayed(found, nodes.rows, len(nodes))
        if found.problem:
            self.problem = found.problem
        return found.summed_up(len(nodes))

    def bindings(self, row: int) -> list[Binding]:
        """The volumes that exist and would be used on a node that passed."""
        return [Binding(volume, claim) for claim, volume in self._chosen_for(row) if volume is not None]

    def to_provision(self, row: int) -> list[PersistentVolumeClaim]:
        """The claims for which volumes would be made there, each of them once."""
        unmatched = (claim for claim, volume in self._chosen_for(row) if volume is None)
        return list({claim.key: claim for claim in (*self._selected, *unmatched)}.values())

    def _chosen_for(self, row: int) -> list[Choice]:
        if self._chosen is None or self._chosen[0] != row:
            self._chosen = row, self._choose(row)
        return self._chosen[1]

    def _choose(self, row: int) -> list[Choice]:
        """The same as `_match` finds, for one row."""
        chosen: list[Choice] = []
        taken: set[str] = set()
        for claim in self._by_size():
            volume = self._volume_for(claim, row, taken)
            chosen.append((claim, volume))
            if volume is not None:
                taken.add(volume.name)
        return chosen

    def _volume_for(self, claim: PersistentVolumeClaim, row: int, taken: set[str]) -> PersistentVolume | None:
        volumes = self._storage.volumes
        storage_class = class_of_claim(claim)
        for volume in self._naming(claim, storage_class):
            if volume.name not in taken:
                fitting = self._storage.reach.of_free(volume)
                return volume if fitting is None or fitting[row] else None
        ranking = volumes.ranking(storage_class)
        name = None if ranking is None else ranking.best_at(claim, row, taken)
        return None if name is None else volumes.get(name)

    # Bound claims

    def _look_up(self, claims: Sequence[PersistentVolumeClaim]) -> None:
        for claim in claims:
            volume = self._storage.volumes.get(claim.spec.volume_name)
            if volume is None:
                self._is_gone = True
                return
            self._reached.append(self._storage.reach.of_bound(volume))

    def _judge_bound(self, found: Rejections, rows: Rows) -> None:
        """Nodes that fail for one claim are not asked about the next."""
        for fitting, unknown, problem in self._reached:
            if unknown is not None:
                found.fail(both(found.left, unknown[rows]), problem)
            found.mark(without(True, part(fitting, rows)), AFFINITY)
        if self._is_gone:
            found.mark(found.left, GONE)

    # Claims that wait for a node

    def _judge_delayed(self, found: Rejections, rows: Rows, size: int) -> None:
        left = found.not_failed
        if self._selected:
            here = both(left, self._selected_node(rows))
            found.mark(without(left, here), UNBOUND)
            left = here
        if not has_any(left):
            return
        claims = self._by_size()
        problem = _problem_with_selectors(claims)
        if problem:
            found.fail(left, problem)
            return
        for claim in self._selected:
            left = self._provision(found, rows, claim, left, left)
        for claim, lacking in self._lacking(claims, rows, size):
            left = self._provision(found, rows, claim, left, both(left, lacking))

    def _selected_node(self, rows: Rows) -> Bools:
        """The node that an earlier attempt chose."""
        here = np.zeros(len(self._storage.table), dtype=np.bool_)
        names = {claim.annotations[SELECTED_NODE] for claim in self._selected}
        info = self._storage.table.by_name.get(names.pop()) if len(names) == 1 else None
        if info is not None:
            here[info.row] = True
        return here[rows]

    def _by_size(self) -> list[PersistentVolumeClaim]:
        """The claims that want volumes, the smallest first."""
        if self._sorted is None:
            self._sorted = sorted(self._unsorted, key=request_of)
        return self._sorted

    def _lacking(
        self, claims: list[PersistentVolumeClaim], rows: Rows, size: int
    ) -> list[tuple[PersistentVolumeClaim, Mask]]:
        """On which of so many rows there is no volume for each claim."""
        if len(claims) == 1 and not self._storage.volumes.naming(claims[0]):
            ranking = self._storage.volumes.ranking(class_of_claim(claims[0]))
            return [(claims[0], True if ranking is None else ranking.lacking(claims[0], rows))]
        return [(match.claim, match.picks == NONE) for match in self._match(claims, rows, size)]

    def _match(self, claims: list[PersistentVolumeClaim], rows: Rows, size: int) -> list[Match]:
        """What each claim would get on each of so many rows, if the claims before it have theirs."""
        matches: list[Match] = []
        numbers: dict[str, int] = {}
        for claim in claims:
            matches.append(self._match_one(claim, rows, size, matches, numbers))
        return matches

    def _match_one(
        self,
        claim: PersistentVolumeClaim,
        rows: Rows,
        size: int,
        others: list[Match],
        numbers: dict[str, int],
    ) -> Match:
        """A volume that names the claim goes before all others, also where it does not fit.

        `numbers` has those of volumes that name their claims, below 0.
        """
        picks = np.full(size, NONE, dtype=np.int32)
        is_open = np.ones(size, dtype=np.bool_)
        storage_class = class_of_claim(claim)
        for volume in self._naming(claim, storage_class):
            number = numbers.setdefault(volume.name, -len(numbers) - 1)
            here = is_open.copy()
            for match in others:
                here &= match.picks != number
            fitting = self._storage.reach.of_free(volume)
            picks[here if fitting is None else here & fitting[rows]] = number
            is_open &= ~here
        ranking = self._storage.volumes.ranking(storage_class)
        if ranking is not None and is_open.any():
            picked = [match.picks for match in others if match.ranking is ranking]
            picks = np.where(is_open, ranking.best(claim, rows, picked), picks)
        return Match(claim, ranking, picks)

    def _naming(self, claim: PersistentVolumeClaim, storage_class: str) -> list[PersistentVolume]:
        """The volumes that name the claim and could serve it."""
        return [
            volume
            for volume in self._storage.volumes.naming(claim)
            if class_of_volume(volume) == storage_class and _could_serve(volume, claim)
        ]

    def _provision(
        self, found: Rejections, rows: Rows, claim: PersistentVolumeClaim, left: Mask, needed: Mask
    ) -> Mask:
        """Rejects those rows on which no volume can be made for the claim; returns what is left."""
        if needed is False:
            return left
        name = class_of_claim(claim)
        storage_class = self._storage.classes.get(name)
        if storage_class is None:
            found.fail(needed, f'failed to find storage class "{name}"')
            return without(left, needed)
        refused: Mask = needed
        if has_provisioner(storage_class) and has_any(needed):
            refused = without(needed, self._storage.provisioning.is_allowed(storage_class, rows))
            granted = without(needed, refused)
            short = without(granted, self._storage.provisioning.has_capacity(claim, storage_class, rows))
            found.mark(short, NO_SPACE)
            left = without(left, short)
        found.mark(refused, UNBOUND)
        return without(left, refused)


def _problem_with_selectors(claims: list[PersistentVolumeClaim]) -> str:
    for claim in claims:
        try:
            parse_selector(claim.spec.selector)
        except SelectorError as error:
            return f"error creating internal label selector for claim: {claim.key}: {error}"
    return ""


def _could_serve(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What is asked even of a volume that names the claim."""
    return (
        capacity_of(volume) >= request_of(claim)
        and Traits.of(volume).same_kind(Traits.of(claim))
        and not volume.deleting
    )
