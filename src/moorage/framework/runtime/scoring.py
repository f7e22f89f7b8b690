"""PreScore, Score, NormalizeScore and weights: which of the nodes that fit is best."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.answers import WrongAnswer, checked_scores, status_of
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.status import Code, Status
from moorage.state.columns import Bools, Int64s
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.framework.runtime.profile import Profile, Weighted

MAX_SCORE = 100

_PRE_SCORE = Question("PreScore", status_of("pre_score"))


def _about(size: int) -> tuple[Question[Int64s], Question[Int64s]]:
    """What a plugin is asked about so many nodes: to score them, and to normalize its scores."""
    return (
        Question("Score", lambda scores: checked_scores(scores, size, "score_nodes")),
        Question("Score", lambda scores: checked_scores(scores, size, "normalize_scores")),
    )


class Scores:
    """The totals per node and what they are made of.

    By plugin the scores, 0 to 100, before the weight; by extender what it adds.
    """

    __slots__ = ("by_extender", "by_plugin", "status", "totals")

    def __init__(self, totals: Int64s, by_plugin: dict[str, Int64s], status: Status | None = None) -> None:
        self.totals = totals
        self.by_plugin = by_plugin
        self.by_extender: dict[str, Int64s] = {}
        self.status = status

    @classmethod
    def failed(cls, status: Status) -> Scores:
        return cls(np.zeros(0, dtype=np.int64), {}, status)


def pre_score(profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
    """Asks every PreScore plugin once; the Error status of the first that fails."""
    for plugin in profile.pre_score:
        status = ask(_PRE_SCORE, profile, plugin, cycle.is_timed, plugin.pre_score, cycle, pod, nodes)
        if status is not None and status.code is Code.SKIP:
            cycle.skip_score.add(plugin.name)
            continue
        profile.observer.plugin_evaluated(plugin.name, "PreScore", profile.name)
        if status is None or status.code is Code.SUCCESS:
            continue
        return diagnosis.failed("PreScore", plugin.name, status)
    return None


def score(profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes) -> Scores:
    """The weighted sum of all scores. An Error status in the result ends the attempt."""
    asked = [entry for entry in profile.score if entry.plugin.name not in cycle.skip_score]
    size = len(nodes)
    # One row per plugin: the range is checked and the weights are applied for all of them at once.
    table = np.empty((len(asked), size), dtype=np.int64)
    to_score, to_normalize = _about(size)
    for row, (plugin, _, normalizes) in enumerate(asked):
        scores = ask(to_score, profile, plugin, cycle.is_timed, plugin.score_nodes, cycle, pod, nodes)
        if isinstance(scores, Status):
            return Scores.failed(diagnosis.score_failed(plugin.name, scores, normalizing=False))
        if normalizes:
            scores = ask(to_normalize, profile, plugin, False, plugin.normalize_scores, cycle, pod, scores)
            if isinstance(scores, Status):
                return Scores.failed(diagnosis.score_failed(plugin.name, scores, normalizing=True))
        table[row] = scores
    profile.observer.plugins_evaluated([entry.plugin.name for entry in asked], "Score", profile.name, size)
    # As unsigned numbers negative ones are huge, so that one comparison finds both ends of the range.
    if table.size and table.view(np.uint64).max() > MAX_SCORE:
        status = _out_of_range(asked, table)
        profile.services.plugin_raised(status.plugin, "Score", WrongAnswer(status.message))
        return Scores.failed(status)
    weights = np.array([weight for _, weight, _ in asked], dtype=np.int64)
    return Scores(weights @ table, {plugin.name: table[row] for row, (plugin, _, _) in enumerate(asked)})


def _out_of_range(asked: Sequence[Weighted], table: Int64s) -> Status:
    place, row = np.argwhere(((table < 0) | (table > MAX_SCORE)).T)[0].tolist()
    return diagnosis.score_out_of_range(asked[row].plugin.name, int(table[row, place]))


def _pre_order_keys(size: int) -> Int64s:
    """For heap positions 0, 1, ...: a number that grows along a pre-order walk of the implicit tree."""
    places = np.arange(1, size + 1, dtype=np.int64)
    depths = np.frexp(places)[1].astype(np.int64) - 1
    return ((places << (_TREE_DEPTH - depths)) << 6) | depths


_TREE_DEPTH = 40
_keys = _pre_order_keys(1024)


def best(totals: Int64s) -> int:
    """Which of the nodes wins: the highest total, among equals the one a pre-order walk meets first.

    The walk goes through the implicit binary tree over the list (children of i are 2i+1 and 2i+2), which is
    how kube-scheduler's heap breaks ties.
    """
    global _keys
    tied = np.flatnonzero(totals == totals.max())
    if len(tied) == 1:
        return int(tied[0])
    if len(totals) > len(_keys):
        _keys = _pre_order_keys(2 * len(totals))
    return int(tied[_keys[tied].argmin()])


def best_at_random(totals: Int64s, given: Bools) -> int:
    """As `best`; but among equals those come first, in no order, to which extenders gave scores."""
    tied = np.flatnonzero((totals == totals.max()) & given)
    return int(random.choice(tied)) if len(tied) else best(totals)
