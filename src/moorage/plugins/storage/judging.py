"""Which nodes the claims of a pod leave, for all nodes at once, and which volumes the pod would get there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.selectors import SelectorError, parse_selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.claims import class_of_claim, class_of_volume
from moorage.plugins.storage.free_volumes import NONE, Ranking, Traits, capacity_of, request_of
from moorage.plugins.storage.provisioning import has_provisioner
from moorage.plugins.storage.storage import Storage
from moorage.state.columns import Bools, Int32s
from moorage.state.nodes import Nodes

SELECTED_NODE = "volume.kubernetes.io/selected-node"

_AFFINITY, _UNBOUND, _NO_SPACE, _GONE, _FAILED = 1, 2, 4, 8, 16
"""Why a node is rejected: bits, of which a node may have several; _FAILED stands alone."""

_REASONS = {
    _AFFINITY: "node(s) didn't match PersistentVolume's node affinity",
    _UNBOUND: "node(s) didn't find available persistent volumes to bind",
    _NO_SPACE: "node(s) did not have enough free storage",
    _GONE: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
_STATUSES = [
    Status.unresolvable(*(text for bit, text in _REASONS.items() if code & bit)) for code in range(_FAILED)
]


class Match(NamedTuple):
    """The volume for a claim on every row: its place among the free ones, a named one below 0, or NONE."""

    claim: PersistentVolumeClaim
    ranking: Ranking | None
    picks: Int32s


class Binding(NamedTuple):
    """A volume that a claim is to get."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


class Judgement:
    """What claims mean for every row of the node table, as it is in this cycle."""

    def __init__(
        self,
        storage: Storage,
        bound: Sequence[PersistentVolumeClaim],
        delayed: Sequence[PersistentVolumeClaim],
    ) -> None:
        self._storage = storage
        self._codes = np.zeros(len(storage.table), dtype=np.int8)
        self._named: list[PersistentVolume] = []
        self._matches: list[Match] = []
        self._selected = [claim for claim in delayed if SELECTED_NODE in claim.annotations]
        self.problem = ""
        """Why it cannot be said of some node whether it will do; that ends the attempt."""
        self._judge_bound(bound)
        if delayed:
            self._judge_delayed([claim for claim in delayed if SELECTED_NODE not in claim.annotations])
        self._verdicts = self._summed_up()

    def verdicts(self, nodes: Nodes) -> Verdicts:
        whole = self._verdicts
        return whole if whole.codes is None else Verdicts(whole.codes[nodes.rows], whole.statuses)

    def bindings(self, row: int) -> list[Binding]:
        """The volumes that exist and would be used on a node that passed."""
        return [
            Binding(self._volume(match, pick), match.claim)
            for match in self._matches
            if (pick := int(match.picks[row])) != NONE
        ]

    def to_provision(self, row: int) -> list[PersistentVolumeClaim]:
        """The claims for which volumes would be made there, each of them once."""
        unmatched = (match.claim for match in self._matches if match.picks[row] == NONE)
        return list({claim.key: claim for claim in (*self._selected, *unmatched)}.values())

    def _volume(self, match: Match, pick: int) -> PersistentVolume:
        if pick < 0:
            return self._named[-pick - 1]
        assert match.ranking is not None
        volume = self._storage.volumes.get(match.ranking.entries[pick].name)
        assert volume is not None, "nothing changes within a cycle"
        return volume

    # Bound claims

    def _judge_bound(self, claims: Sequence[PersistentVolumeClaim]) -> None:
        """Nodes that fail for one claim are not asked about the next."""
        codes = self._codes
        for claim in claims:
            volume = self._storage.volumes.get(claim.spec.volume_name)
            if volume is None:
                codes[codes == 0] = _GONE
                return
            reached = self._storage.reach.of_bound(volume)
            left = codes == 0
            if reached.fitting is not None:
                self._mark(left & ~reached.fitting, _AFFINITY)
            for row in reached.unknown:
                if left[row]:
                    codes[row], self.problem = _FAILED, reached.problem

    # Claims that wait for a node

    def _judge_delayed(self, claims: list[PersistentVolumeClaim]) -> None:
        left = self._codes != _FAILED
        elsewhere = left & ~self._selected_node()
        self._mark(elsewhere, _UNBOUND)
        left &= ~elsewhere
        if not left.any():
            return
        claims.sort(key=request_of)
        for claim in claims:
            try:
                parse_selector(claim.spec.selector)
            except SelectorError as error:
                text = f"error creating internal label selector for claim: {claim.key}: {error}"
                self._fail(left, text)
                return
            self._matches.append(self._match(claim))
        for claim in self._selected:
            self._provision(claim, left, left.copy())
        for match in self._matches:
            self._provision(match.claim, left, left & (match.picks == NONE))

    def _selected_node(self) -> Bools:
        """The node that an earlier attempt chose; every node if there was none."""
        names = {claim.annotations[SELECTED_NODE] for claim in self._selected}
        here = np.full(len(self._codes), not names, dtype=np.bool_)
        info = self._storage.table.by_name.get(names.pop()) if len(names) == 1 else None
        if info is not None:
            here[info.row] = True
        return here

    def _match(self, claim: PersistentVolumeClaim) -> Match:
        """A volume that names the claim goes before all others, also where it does not fit."""
        storage_class, size = class_of_claim(claim), len(self._codes)
        picks = np.full(size, NONE, dtype=np.int32)
        is_open = np.ones(size, dtype=np.bool_)
        for volume in self._storage.volumes.naming(claim):
            if class_of_volume(volume) != storage_class or not _could_serve(volume, claim):
                continue
            number = self._number(volume)
            here = is_open.copy()
            for match in self._matches:
                here &= match.picks != number
            fitting = self._storage.reach.of_free(volume)
            picks[here if fitting is None else here & fitting] = number
            is_open &= ~here
        ranking = self._storage.volumes.ranking(storage_class)
        if ranking is not None and is_open.any():
            picked = [match.picks for match in self._matches if match.ranking is ranking]
            picks = np.where(is_open, ranking.best(claim, picked), picks)
        return Match(claim, ranking, picks)

    def _number(self, volume: PersistentVolume) -> int:
        """The number of a volume that names its claim, below 0."""
        for place, known in enumerate(self._named):
            if known is volume:
                return -place - 1
        self._named.append(volume)
        return -len(self._named)

    def _provision(self, claim: PersistentVolumeClaim, left: Bools, needed: Bools) -> None:
        """Takes those rows from `left` on which no volume can be made for the claim."""
        if not needed.any():
            return
        name = class_of_claim(claim)
        storage_class = self._storage.classes.get(name)
        if storage_class is None:
            self._fail(needed, f'failed to find storage class "{name}"')
            left &= ~needed
            return
        refused = needed
        if has_provisioner(storage_class):
            refused = _outside(needed, self._storage.provisioning.is_allowed(storage_class))
        self._mark(refused, _UNBOUND)
        left &= ~refused
        short = _outside(needed & left, self._storage.provisioning.has_capacity(claim, storage_class))
        self._mark(short, _NO_SPACE)
        left &= ~short

    def _mark(self, rows: Bools, reason: int) -> None:
        np.bitwise_or(self._codes, np.int8(reason), out=self._codes, where=rows)

    def _fail(self, rows: Bools, problem: str) -> None:
        self._codes[rows] = _FAILED
        self.problem = problem

    def _summed_up(self) -> Verdicts:
        """The codes that occur, numbered from 1."""
        highest = int(self._codes.max(initial=0))
        if highest == 0:
            return Verdicts.passed()
        rejected = self._codes != 0
        if np.array_equal(rejected, self._codes == highest):
            return Verdicts.where(rejected, self._status(highest))
        present = np.flatnonzero(np.bincount(self._codes, minlength=_FAILED + 1)[1:]) + 1
        places = np.zeros(_FAILED + 1, dtype=np.int8)
        places[present] = np.arange(1, len(present) + 1)
        codes: NDArray[np.int8] = places[self._codes]
        return Verdicts(codes, (None, *map(self._status, present.tolist())))

    def _status(self, code: int) -> Status:
        return Status.error(self.problem) if code == _FAILED else _STATUSES[code]


def _outside(rows: Bools, mask: Bools | None) -> Bools:
    """The rows that a mask does not have; None stands for a mask of all."""
    return np.zeros_like(rows) if mask is None else rows & ~mask


def _could_serve(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What is asked even of a volume that names the claim."""
    return (
        capacity_of(volume) >= request_of(claim)
        and Traits.of(volume).same_kind(Traits.of(claim))
        and not volume.deleting
    )
