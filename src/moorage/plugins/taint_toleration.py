"""TaintToleration: taints that a pod does not tolerate.

Nodes with equal taints share a code, so that a pod's tolerations are matched once per set of taints and the
answers are then looked up by code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.taints import PREFER_NO_SCHEDULE, Toleration, tolerates, untolerated
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.plugins.fresh import Fresh
from moorage.plugins.normalize import default_normalize
from moorage.state.columns import Bools, Int64s
from moorage.state.kept_rows import KeptVerdicts, RowScores
from moorage.state.lru import Lru
from moorage.state.nodes import Nodes

Tolerations = tuple[Toleration, ...]

_TOLERATIONS = "PreScoreTaintToleration"
_TAINTED = Status.unresolvable("node(s) had untolerated taint(s)")
_KNOWN_TOLERATIONS = 256


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin):
    """Keeps pods off nodes with taints they do not tolerate; prefers few PreferNoSchedule taints."""

    treats_like_pods_alike = True
    pre_scores_alike = True
    reads_usage_only = True

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = handle.state.table
        self._taint_sets = self._table.taint_sets
        self._rejecting = Fresh(_KNOWN_TOLERATIONS, self._find_rejecting)
        self._disliked = Fresh(_KNOWN_TOLERATIONS, self._count_disliked)
        self._kept_verdicts = Lru[Tolerations, KeptVerdicts](_KNOWN_TOLERATIONS)
        self._row_scores = Lru[Tolerations, RowScores](_KNOWN_TOLERATIONS)

    def _find_rejecting(self, tolerations: Tolerations) -> Bools:
        """By code of a set of taints: whether it keeps a pod with these tolerations away."""
        return np.array(
            [untolerated(taints or (), tolerations) is not None for taints in self._taint_sets.values]
        )

    def _count_disliked(self, tolerations: Tolerations) -> Int64s:
        """By code of a set of taints: how many PreferNoSchedule taints are not tolerated."""
        counts = [
            sum(taint.effect == PREFER_NO_SCHEDULE and not tolerates(tolerations, taint) for taint in taints)
            if taints
            else 0
            for taints in self._taint_sets.values
        ]
        return np.array(counts, dtype=np.int64)

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts:
        tolerations, table = pod.spec.tolerations, self._table

        def rejecting() -> Bools:
            return self._rejecting.get(tolerations, self._taint_sets.version)

        return self._kept_verdicts.get(tolerations) or self._kept_verdicts.put(
            tolerations,
            KeptVerdicts(
                table,
                table.node_changes,
                lambda nodes: rejecting()[nodes.take(table.taint_code)],
                lambda row: bool(rejecting()[table.taint_code[row]]),
            ),
        )

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        rejecting = self._rejecting.get(pod.spec.tolerations, self._taint_sets.version)
        if not rejecting.any():
            return Verdicts.passed()
        return Verdicts.where(rejecting.take(nodes.take(nodes.table.taint_code)), _TAINTED)

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> None:
        cycle.write(_TOLERATIONS, _that_may_matter(pod))

    def row_scores(self, pod: Pod) -> RowScores:
        tolerations, table = _that_may_matter(pod), self._table

        def disliked() -> Int64s:
            return self._disliked.get(tolerations, self._taint_sets.version)

        return self._row_scores.get(tolerations) or self._row_scores.put(
            tolerations,
            RowScores(
                lambda nodes: disliked()[nodes.take(table.taint_code)],
                lambda row: int(disliked()[table.taint_code[row]]),
            ),
        )

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        tolerations = read(cycle, _TOLERATIONS, "failed to read")
        disliked = self._disliked.get(tolerations, self._taint_sets.version)
        return disliked.take(nodes.take(nodes.table.taint_code))

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return default_normalize(scores, reverse=True)

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _node_changed),
            ClusterEvent(POD, Action.UPDATE_POD_TOLERATION, _tolerations_changed),
        ]


def _that_may_matter(pod: Pod) -> Tolerations:
    return tuple(
        toleration for toleration in pod.spec.tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)
    )


def _node_changed(pod: Pod, old: Node | None, new: Node) -> Hint:
    was_rejected = old is None or _rejects(old, pod)
    return Hint.QUEUE if was_rejected and not _rejects(new, pod) else Hint.SKIP


def _rejects(node: Node, pod: Pod) -> bool:
    return untolerated(node.spec.taints, pod.spec.tolerations) is not None


def _tolerations_changed(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
