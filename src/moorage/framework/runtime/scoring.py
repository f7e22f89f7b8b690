"""PreScore, Score, NormalizeScore and weights: which of the nodes that fit is best."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.answers import WrongAnswer, checked_scores, status_of
from moorage.framework.runtime.calls import Question, ask_often
from moorage.framework.status import Code, Status
from moorage.state.columns import Bools, Int64s
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.runtime.plans import Plan, ScoreStep
    from moorage.framework.runtime.profile import Profile

MAX_SCORE = 100

_PRE_SCORE = Question("PreScore", status_of("pre_score"))


def _to_score(size: int) -> Question[Int64s]:
    return Question("Score", lambda scores: checked_scores(scores, size, "score_nodes"))


def _to_normalize(size: int) -> Question[Int64s]:
    return Question("Score", lambda scores: checked_scores(scores, size, "normalize_scores"))


class Scores:
    """The totals per node and what they are made of.

    By plugin the scores, 0 to 100, before the weight; by extender what it adds.
    """

    def __init__(self, totals: Int64s, parts: ScoreParts | None = None, status: Status | None = None) -> None:
        self.totals = totals
        self.parts = parts
        """As they were computed, for those who look at them before anything changes in the cluster."""
        self.by_extender: dict[str, Int64s] = {}
        self.status = status

    @cached_property
    def by_plugin(self) -> dict[str, Int64s]:
        """To be read before anything changes in the cluster: what is kept of scores is not copied before."""
        return {} if self.parts is None else self.parts.by_plugin()

    @classmethod
    def failed(cls, status: Status) -> Scores:
        return cls(np.zeros(0, dtype=np.int64), status=status)


class ScoreParts:
    """What each plugin gave to each node, as far as possible where it is kept: the next pod changes it."""

    __slots__ = ("_profile", "found", "nodes", "plan", "raw")

    def __init__(
        self,
        profile: Profile,
        plan: Plan,
        nodes: Nodes,
        found: Mapping[str, Int64s | int],
        raw: Mapping[str, Int64s],
    ) -> None:
        self._profile = profile
        self.plan = plan
        self.nodes = nodes
        self.found = found
        """Of the plugins that are not summed in the plan; a number if all nodes have that."""
        self.raw = raw
        """Before it was normalized, of those that normalize; 0 everywhere if it is missing."""

    def by_plugin(self) -> dict[str, Int64s]:
        """In the order in which the plugins are configured."""
        plan, nodes = self.plan, self.nodes
        parts: dict[str, Int64s | int] = {**self.found, **dict.fromkeys(plan.gives_nothing, 0)}
        if plan.sum is not None:
            copied = plan.sum.parts(nodes).astype(np.int64)
            parts.update((name, copied[place]) for place, name in enumerate(plan.summed))
        return {
            plugin.name: np.full(len(nodes), scores) if isinstance(scores, int) else scores
            for plugin, _, _ in self._profile.score
            if (scores := parts.get(plugin.name)) is not None
        }


def pre_score(profile: Profile, plan: Plan, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
    """Asks every PreScore plugin once whose answer is not known; the Error status of the first that fails."""
    plan.begin_scoring(cycle)
    profile.observer.plugins_evaluated(plan.passed_pre_score, "PreScore", profile.name)
    for plugin in plan.pre_score:
        status = ask_often(_PRE_SCORE, profile, plugin, cycle.is_timed, plugin.pre_score, cycle, pod, nodes)
        if status is not None and status.code is Code.SKIP:
            cycle.skip_score.add(plugin.name)
            continue
        profile.observer.plugin_evaluated(plugin.name, "PreScore", profile.name)
        if status is None or status.code is Code.SUCCESS:
            continue
        return diagnosis.failed("PreScore", plugin.name, status)
    return None


def score(profile: Profile, plan: Plan, cycle: CycleState, pod: Pod, nodes: Nodes) -> Scores:
    """The weighted sum of all scores. An Error status in the result ends the attempt."""
    size = len(nodes)
    steps = [step for step in plan.score if step.plugin.name not in cycle.skip_score]
    found: dict[str, Int64s | int] = {}
    raw: dict[str, Int64s] = {}
    totals = np.zeros(size, dtype=np.int64) if plan.sum is None else plan.sum.totals(nodes)
    added = 0
    for step in steps:
        scores = _scores_of(profile, cycle, pod, nodes, step, raw)
        if isinstance(scores, Status):
            return Scores.failed(scores)
        found[step.plugin.name] = scores
        if isinstance(scores, int):
            added += scores * step.weight
        else:
            totals = totals + (scores if step.weight == 1 else scores * step.weight)
    profile.observer.plugins_evaluated(
        [*plan.summed, *plan.gives_nothing, *found], "Score", profile.name, size
    )
    if (status := _out_of_range(found)) is not None:
        profile.services.plugin_raised(status.plugin, "Score", WrongAnswer(status.message))
        return Scores.failed(status)
    # A new array: what is kept changes with the next pod.
    return Scores(totals + added, ScoreParts(profile, plan, nodes, found, raw))


def _scores_of(
    profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes, step: ScoreStep, raw: dict[str, Int64s]
) -> Int64s | int | Status:
    """The scores of one plugin, normalized; a number if all nodes have that, a Status if it fails.

    What they were before goes to `raw`.
    """
    plugin, size = step.plugin, len(nodes)
    if step.kept is not None:
        kept = step.kept.of(nodes)
        if kept is None:
            return step.if_all_zero
        raw[plugin.name] = kept
        return plugin.normalize_scores(cycle, pod, kept)

    def ask_about(some: Nodes) -> Int64s | Status:
        return ask_often(
            _to_score(len(some)), profile, plugin, cycle.is_timed, plugin.score_nodes, cycle, pod, some
        )

    signed = None if step.signed is None or profile.trials else step.signed.scores(pod)
    scores = ask_about(nodes) if signed is None else signed.of(nodes, ask_about)
    if isinstance(scores, Status):
        return diagnosis.score_failed(plugin.name, scores, normalizing=False)
    if step.normalizes:
        # Plugins may write the new scores over the old ones.
        raw[plugin.name] = scores.copy()
        scores = ask_often(
            _to_normalize(size), profile, plugin, False, plugin.normalize_scores, cycle, pod, scores
        )
        if isinstance(scores, Status):
            return diagnosis.score_failed(plugin.name, scores, normalizing=True)
    return scores


def _out_of_range(found: Mapping[str, Int64s | int]) -> Status | None:
    """The first score of the first node that is no score."""
    wrong: list[tuple[int, str, int]] = []
    for name, scores in found.items():
        # As unsigned numbers negative ones are huge, so that one comparison finds both ends of the range.
        if not isinstance(scores, int) and len(scores) and scores.view(np.uint64).max() > MAX_SCORE:
            place = int(((scores < 0) | (scores > MAX_SCORE)).argmax())
            wrong.append((place, name, int(scores[place])))
    if not wrong:
        return None
    _, name, score = min(wrong, key=lambda each: each[0])
    return diagnosis.score_out_of_range(name, score)


def _pre_order_keys(size: int) -> Int64s:
    """For heap positions 0, 1, ...: a number that grows along a pre-order walk of the implicit tree."""
    places = np.arange(1, size + 1, dtype=np.int64)
    depths = np.frexp(places)[1].astype(np.int64) - 1
    return ((places << (_TREE_DEPTH - depths)) << 6) | depths


_TREE_DEPTH = 40
_keys = _pre_order_keys(1024)


def best(totals: Int64s) -> int:
    """Which of the nodes wins: the highest total, among equals the one that `first_of` says."""
    return first_of(tied(totals), len(totals))


def tied(totals: Int64s) -> NDArray[np.intp]:
    """The places of all nodes that have the highest total."""
    places: NDArray[np.intp] = (totals == totals.max()).nonzero()[0]
    return places


def first_of(tied: NDArray[np.intp], size: int) -> int:
    """The place, among `size`, of the node that wins over its equals: the one a pre-order walk meets first.

    The walk goes through the implicit binary tree over the list (children of i are 2i+1 and 2i+2), which is
    how kube-scheduler's heap breaks ties.
    """
    global _keys
    if len(tied) == 1:
        return int(tied[0])
    if size > len(_keys):
        _keys = _pre_order_keys(2 * size)
    return int(tied[_keys[tied].argmin()])


def one_at_random(tied: NDArray[np.intp], given: Bools) -> int:
    """As `first_of`; but those come first, in no order, to which extenders gave scores."""
    preferred = tied[given[tied]]
    return int(random.choice(preferred)) if len(preferred) else first_of(tied, len(given))
