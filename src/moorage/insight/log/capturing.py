"""From a decision to what the log keeps of it: within the cycle, and in as few steps as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.plans import Plan
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.scoring import ScoreParts
from moorage.framework.status import Status
from moorage.insight.log.entries import (
    Arrays,
    Candidate,
    Layout,
    NodeOrder,
    Part,
    Seen,
    Verdict,
    row_type,
    text_size,
)
from moorage.plugins.preemption.candidates import Candidate as Found
from moorage.plugins.preemption.default_preemption import CANDIDATES
from moorage.scheduler.cycle import Decision
from moorage.state.columns import Int64s

MOST_TEXTS = 4096
MOST_CANDIDATES = 100
FEW_SAID = 8
MOST_CONSTANT = 256
_BITS_OF_A_ROW = 16
CHANGE_BYTES = 300
"""About what the changes of scores take that lie between two attempts."""

_NOTHING: dict[tuple[str, str], float] = {}
_NO_HISTORY = (None, 0)

Numbered = tuple[NDArray[np.intp], NDArray[np.integer], Sequence[Status]]
"""Rows, for each of them the place of its status, from 1 on, and the statuses."""


class Capturer:
    """Makes `Seen` of decisions; texts and names that come again are kept once."""

    def __init__(self) -> None:
        self._order = NodeOrder(0, ())
        self._order_version: tuple[int, int] | None = None
        self._verdicts: dict[Verdict, Verdict] = {}
        self._constant: dict[tuple[object, ...], Arrays] = {}
        self._new_text = 0

    def capture(self, profile: Profile, decision: Decision) -> Seen:
        table, plan, cycle = profile.state.table, decision.plan, decision.cycle
        version = (id(table), table.order_version)
        if version != self._order_version:
            self._order_version = version
            self._order = NodeOrder(self._order.number + 1, [info.name for info in table.infos])
        layout = plan.layout
        if layout is None or len(layout.skipped) != len(cycle.skip_filter) + len(cycle.skip_score):
            layout = plan.layout = _layout(profile, plan, cycle)
        nodes, statuses, pre, scores = (
            decision.feasible,
            decision.statuses,
            decision.pre_filtered,
            decision.scores,
        )
        given = None if scores is None else scores.parts
        history, moment = _NO_HISTORY if given is None or plan.sum is None else plan.sum.moment()
        took = profile.services.took
        seen = Seen(
            self._order,
            layout,
            decision.began_at,
            0 if nodes is None else len(nodes),
            decision.looked_at,
            decision.total,
            decision.ties,
            dict(took) if took else _NOTHING,
            history,
            moment,
        )
        is_narrowed = pre is not None and (pre.status is not None or pre.names is not None)
        is_stretch = not (is_narrowed or decision.nominated_first or decision.narrowed_by_extenders)
        if (
            history is not None
            and is_stretch
            and not (statuses.put_off or statuses.statuses)
            and scores is not None
            and given is not None
            and not (given.raw or scores.by_extender)
            and (alike := self._same_for_all(given)) is not None
        ):
            seen.unpacked = alike
            seen.room = CHANGE_BYTES if moment else history.room
            return seen
        self._new_text = 0
        rejected = mask = codes = summed = b""
        if statuses.put_off or statuses.statuses:
            rejected, mask, codes, seen.verdicts = self._rejections(statuses)
        if pre is not None and is_narrowed:
            seen.absent = self._verdict(statuses.absent)
            seen.pre_filter = None if pre.status is None else self._verdict(pre.status)
            seen.narrowed_to = None if pre.names is None else len(pre.names)
        fitting = None if is_stretch or nodes is None else _packed_rows(nodes.row_numbers(), len(table))
        parts: tuple[Part, ...] = ()
        extenders: tuple[tuple[str, bytes], ...] = ()
        if scores is not None and given is not None:
            if plan.sum is not None and history is None:
                summed = plan.sum.parts(given.nodes).tobytes()
            parts = _parts(given)
            extenders = tuple((name, added.tobytes()) for name, added in scores.by_extender.items())
        seen.unpacked = Arrays(fitting, rejected, mask, codes, summed, parts, extenders)
        if (candidates := cycle.get(CANDIDATES)) is not None:
            seen.candidates = _candidates(candidates)
        seen.room = seen.unpacked.room + self._new_text
        if history is not None:
            seen.room += CHANGE_BYTES if moment else history.room
        return seen

    def _same_for_all(self, given: ScoreParts) -> Arrays | None:
        """Where plugins beside the plan's sum gave all nodes the same: that, kept once; None otherwise."""
        try:
            key = (given.plan.gives_nothing, *given.found.items())
            known = self._constant.get(key)
        except TypeError:  # an array has no hash
            return None
        if known is None:
            if len(self._constant) > MOST_CONSTANT:
                self._constant.clear()
            known = self._constant[key] = Arrays(parts=_parts(given))
        return known

    def _rejections(self, statuses: NodeStatuses) -> tuple[bytes, bytes, bytes, tuple[Verdict, ...]]:
        found: list[Numbered] = []
        if statuses.statuses:
            # Some rows were judged more than once; what was put off comes last.
            statuses.set_now()
            rows = statuses.given.nonzero()[0]
            found.append((rows, statuses.given[rows], statuses.statuses))
        for each in statuses.put_off:
            rows = each.rows()
            found.append((rows, *each.why(rows)))
        rows = found[0][0] if len(found) == 1 else np.concatenate([each[0] for each in found])
        places: dict[Verdict, int] = {}
        numbered = [self._numbers(codes, said, places) for _, codes, said in found]
        joined: NDArray[np.intp] | None = None
        if len(places) > 1:
            pairs = zip(numbered, found, strict=True)
            joined = np.concatenate([np.broadcast_to(each, len(of[0])) for each, of in pairs])
        size = statuses.size
        rejected = mask = codes = b""
        if len(rows) * _BITS_OF_A_ROW <= size:
            rejected = _packed_rows(rows, size)
        else:
            marked = np.zeros(size, dtype=np.bool_)
            marked[rows] = True
            mask = np.packbits(marked).tobytes()
            if joined is not None and len(found) > 1:
                joined = joined[rows.argsort()]
        if joined is not None:
            codes = joined.astype(np.uint8 if len(places) <= 256 else np.uint32).tobytes()
        return rejected, mask, codes, tuple(places)

    def _numbers(
        self, codes: NDArray[np.integer], said: Sequence[Status], places: dict[Verdict, int]
    ) -> NDArray[np.intp]:
        """The codes by other numbers, the places that verdicts have here; one for all if all are the same."""
        least, most = int(codes.min()), int(codes.max())
        used = (least,) if least == most else range(least, most + 1)
        if most - least > FEW_SAID:
            used = np.unique(codes).tolist()
        number_of = np.zeros(most + 1, dtype=np.intp)
        for code in used:
            if code:
                number_of[code] = places.setdefault(self._verdict(said[code - 1]), len(places))
        return number_of[least : least + 1] if least == most else number_of[codes]

    def _verdict(self, status: Status) -> Verdict:
        verdict = Verdict(status.plugin, status.code.label, status.reasons)
        known = self._verdicts.get(verdict)
        if known is None:
            if len(self._verdicts) > MOST_TEXTS:
                self._verdicts.clear()
            self._verdicts[verdict] = known = verdict
            self._new_text += text_size(verdict)
        return known


def _layout(profile: Profile, plan: Plan, cycle: CycleState) -> Layout:
    """Kept for the plan; its pods rarely differ in what is skipped."""
    return Layout(
        tuple(plugin.name for plugin, _ in profile.filter),
        tuple((plugin.name, weight) for plugin, weight, _ in profile.score),
        plan.summed,
        (*sorted(cycle.skip_filter), *(f"score/{name}" for name in sorted(cycle.skip_score))),
    )


def _packed_rows(rows: NDArray[np.intp], size: int) -> bytes:
    return rows.astype(row_type(size)).tobytes()


def _parts(given: ScoreParts) -> tuple[Part, ...]:
    """What plugins gave that are not in the plan's sum."""
    raw = given.raw
    parts = [Part(name, 0, b"") for name in given.plan.gives_nothing]
    for plugin, scores in given.found.items():
        if isinstance(scores, int):
            parts.append(Part(plugin, scores, b""))
        else:
            before = raw.get(plugin)
            packed = b"" if before is None else _packed_numbers(before)
            parts.append(Part(plugin, scores.astype(np.int8).tobytes(), packed))
    return tuple(parts)


def _packed_numbers(numbers: Int64s) -> bytes:
    small = numbers.astype(np.int32)
    return small.tobytes() if bool((small == numbers).all()) else numbers.tobytes()


def _candidates(found: Iterable[Found]) -> tuple[Candidate, ...]:
    candidates = (
        Candidate(each.node_name, tuple(victim.key for victim in each.victims), each.pdb_violations)
        for each in found
    )
    return tuple(each for _, each in zip(range(MOST_CANDIDATES), candidates, strict=False))
