"""From a decision to what the log keeps of it: within the cycle, and in as few steps as possible."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.scoring import ScoreParts
from moorage.framework.status import Status
from moorage.insight.log.entries import (
    Arrays,
    Candidate,
    Layout,
    NodeOrder,
    Part,
    Rows,
    Seen,
    Verdict,
    text_size,
)
from moorage.plugins.preemption.candidates import Candidate as Found
from moorage.plugins.preemption.default_preemption import CANDIDATES
from moorage.scheduler.cycle import Decision
from moorage.state.columns import Int64s
from moorage.state.nodes import Nodes

MOST_TEXTS = 4096
MOST_CANDIDATES = 100
MOST_OF_TWO_BYTES = 1 << 16


class Capturer:
    """Makes `Seen` of decisions; texts and names that come again are kept once."""

    def __init__(self) -> None:
        self._order = NodeOrder(0, ())
        self._order_version: tuple[int, int] | None = None
        self._layouts: WeakKeyDictionary[Profile, Layout] = WeakKeyDictionary()
        self._verdicts: dict[Verdict, Verdict] = {}
        self._sets: dict[frozenset[str], frozenset[str]] = {frozenset(): frozenset()}

    def capture(self, profile: Profile, decision: Decision) -> Seen:
        order = self._order_of(profile)
        layout = self._layouts.get(profile) or self._layout_of(profile)
        cycle, pre, nodes, statuses = (
            decision.cycle,
            decision.pre_filtered,
            decision.feasible,
            decision.statuses,
        )
        scores = decision.scores
        text_bytes = 0
        rejected = codes = summed = b""
        verdicts: tuple[Verdict, ...] = ()
        parts: tuple[Part, ...] = ()
        summed_by: tuple[str, ...] = ()
        extenders: tuple[tuple[str, bytes], ...] = ()
        if statuses.any_set:
            rejected, codes, verdicts, text_bytes = self._rejections(statuses, order)
        if scores is not None and (given := scores.parts) is not None:
            if given.plan.sum is not None:
                summed = given.plan.sum.parts(given.nodes).astype(np.int8).tobytes()
                summed_by = given.plan.summed
            if given.found:
                parts = _parts(given)
            if scores.by_extender:
                extenders = tuple((name, added.tobytes()) for name, added in scores.by_extender.items())
        candidates = cycle.get(CANDIDATES)
        return Seen(
            order,
            layout,
            Arrays(_rows(nodes, order), rejected, codes, summed, parts, extenders),
            feasible=0 if nodes is None else len(nodes),
            looked_at=decision.looked_at,
            verdicts=verdicts,
            absent=None
            if pre is None or (pre.status is None and pre.names is None)
            else self._verdict(statuses.absent),
            pre_filter=None if pre is None or pre.status is None else self._verdict(pre.status),
            narrowed_to=None if pre is None or pre.names is None else len(pre.names),
            skipped_filters=self._set(cycle.skip_filter),
            skipped_scores=self._set(cycle.skip_score),
            summed=summed_by,
            candidates=_candidates(candidates) if candidates else (),
            took=tuple(
                (point, plugin, seconds) for (point, plugin), seconds in profile.services.took.items()
            ),
            text_bytes=text_bytes,
        )

    def _order_of(self, profile: Profile) -> NodeOrder:
        table = profile.state.table
        version = (id(table), table.order_version)
        if version != self._order_version:
            self._order_version = version
            self._order = NodeOrder(self._order.number + 1, [info.name for info in table.infos])
        return self._order

    def _layout_of(self, profile: Profile) -> Layout:
        filters = tuple(plugin.name for plugin, _ in profile.filter)
        layout = Layout(filters, tuple((plugin.name, weight) for plugin, weight, _ in profile.score))
        self._layouts[profile] = layout
        return layout

    def _rejections(
        self, statuses: NodeStatuses, order: NodeOrder
    ) -> tuple[bytes, bytes, tuple[Verdict, ...], int]:
        given, text_bytes = statuses.codes, 0
        rows = np.flatnonzero(given)
        # One reason may have come in several stretches of the search.
        places: dict[Verdict, int] = {}
        of_code = [0]
        for status in statuses.statuses:
            known = len(self._verdicts)
            verdict = self._verdict(status)
            if len(self._verdicts) != known:
                text_bytes += text_size(verdict)
            of_code.append(places.setdefault(verdict, len(places)))
        small = len(places) <= 256
        codes = np.array(of_code, dtype=np.uint8 if small else np.uint32)[given[rows]]
        return _packed_rows(rows, order.size), codes.tobytes(), tuple(places), text_bytes

    def _verdict(self, status: Status) -> Verdict:
        if len(self._verdicts) > MOST_TEXTS:
            self._verdicts.clear()
        verdict = Verdict(status.plugin, status.code.label, status.reasons)
        return self._verdicts.setdefault(verdict, verdict)

    def _set(self, names: Iterable[str]) -> frozenset[str]:
        found = frozenset(names)
        return self._sets.setdefault(found, found)


def _rows(nodes: Nodes | None, order: NodeOrder) -> Rows:
    if nodes is None:
        return (0, 0)
    rows = nodes.rows
    return (rows.start, rows.stop) if isinstance(rows, slice) else _packed_rows(rows, order.size)


def _packed_rows(rows: NDArray[np.intp], size: int) -> bytes:
    return rows.astype(np.uint16 if size <= MOST_OF_TWO_BYTES else np.uint32).tobytes()


def _parts(given: ScoreParts) -> tuple[Part, ...]:
    raw = given.raw
    return tuple(
        Part(
            plugin,
            scores if isinstance(scores, int) else scores.astype(np.int8).tobytes(),
            b"" if (before := raw.get(plugin)) is None else _packed_numbers(before),
        )
        for plugin, scores in given.found.items()
    )


def _packed_numbers(numbers: Int64s) -> bytes:
    small = numbers.astype(np.int32)
    return small.tobytes() if bool((small == numbers).all()) else numbers.tobytes()


def _candidates(found: list[Found]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(each.node_name, tuple(victim.key for victim in each.victims), each.pdb_violations)
        for each in found[:MOST_CANDIDATES]
    )
