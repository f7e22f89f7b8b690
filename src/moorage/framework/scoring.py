"""PreScore, Score, NormalizeScore and weights: which of the nodes that fit is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.api.pods import Pod
from moorage.framework.calls import FAILURES, failure, timed
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import ScorePlugin, WrongAnswer, checked_status
from moorage.framework.status import Code, Status
from moorage.state.columns import Int64s
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.framework.profile import Profile, Weighted

MAX_SCORE = 100


class Scores:
    """The totals per node and, by plugin, the scores they are made of (0 to 100, before the weight)."""

    __slots__ = ("by_plugin", "status", "totals")

    def __init__(self, totals: Int64s, by_plugin: dict[str, Int64s], status: Status | None = None) -> None:
        self.totals = totals
        self.by_plugin = by_plugin
        self.status = status

    @classmethod
    def failed(cls, status: Status) -> Scores:
        return cls(np.zeros(0, dtype=np.int64), {}, status)


def pre_score(profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
    """Asks every PreScore plugin once; the Error status of the first that fails."""
    for plugin in profile.pre_score:
        try:
            answer = timed(profile, cycle, plugin, "PreScore", plugin.pre_score, cycle, pod, nodes)
            status = checked_status(answer, "pre_score")
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is Code.SKIP:
            cycle.skip_score.add(plugin.name)
            continue
        profile.observer.plugin_evaluated(plugin.name, "PreScore", profile.name)
        if status is None or status.code is Code.SUCCESS:
            continue
        text = f'running PreScore plugin "{plugin.name}": {status.message}'
        return Status(Code.ERROR, text, plugin=plugin.name)
    return None


def score(profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes) -> Scores:
    """The weighted sum of all scores. An Error status in the result ends the attempt."""
    asked = [entry for entry in profile.score if entry.plugin.name not in cycle.skip_score]
    size = len(nodes)
    # One row per plugin: the range is checked and the weights are applied for all of them at once.
    table = np.empty((len(asked), size), dtype=np.int64)
    for row, (plugin, _, normalizes) in enumerate(asked):
        arguments = (plugin, cycle, pod, nodes, normalizes, table[row])
        failed = timed(profile, cycle, plugin, "Score", _ask, *arguments)
        if failed is not None:
            return Scores.failed(failed)
    profile.observer.plugins_evaluated([entry.plugin.name for entry in asked], "Score", profile.name, size)
    # As unsigned numbers negative ones are huge, so that one comparison finds both ends of the range.
    if table.size and table.view(np.uint64).max() > MAX_SCORE:
        return Scores.failed(_out_of_range(asked, table))
    weights = np.array([weight for _, weight, _ in asked], dtype=np.int64)
    return Scores(weights @ table, {plugin.name: table[row] for row, (plugin, _, _) in enumerate(asked)})


def _ask(
    plugin: ScorePlugin, cycle: CycleState, pod: Pod, nodes: Nodes, normalizes: bool, into: Int64s
) -> Status | None:
    """Writes a plugin's scores into a row; the Error status if that fails."""
    doing = "running Score plugins"
    try:
        scores = _checked(plugin.score_nodes(cycle, pod, nodes), len(into), "score_nodes")
        if normalizes:
            doing = "running Normalize on Score plugins"
            normalized = plugin.normalize_scores(cycle, pod, scores)
            scores = _checked(normalized, len(into), "normalize_scores")
    except FAILURES as error:
        text = f'{doing}: plugin "{plugin.name}" failed with: {failure(error).message}'
        return Status(Code.ERROR, text, plugin=plugin.name)
    into[:] = scores
    return None


def _out_of_range(asked: Sequence[Weighted], table: Int64s) -> Status:
    row, place = np.argwhere((table < 0) | (table > MAX_SCORE))[0].tolist()
    name = asked[row].plugin.name
    text = (
        f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid '
        f"score {table[row, place]}, it should in the range of [0, 100] after normalizing"
    )
    return Status(Code.ERROR, text, plugin=name)


def _checked(scores: object, size: int, method: str) -> Int64s:
    if not isinstance(scores, np.ndarray):
        raise WrongAnswer(f"{method} returned {type(scores).__name__}, use an array of whole numbers")
    if scores.shape != (size,):
        raise WrongAnswer(f"{method} returned {scores.shape} scores for {size} nodes")
    if scores.dtype != np.int64:
        if scores.dtype.kind not in "iu":
            raise WrongAnswer(f"{method} returned an array of {scores.dtype}, use whole numbers (int64)")
        return scores.astype(np.int64)
    return scores


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
