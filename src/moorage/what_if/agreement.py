"""Whether a node that somebody else chose for a pod is among the best, and if not, why.

What can be known of another scheduler's choice, and what it is called:

- `agreed`: no node that fits has a higher score. Among equals a scheduler takes any.
- `sampled`: a better node fits, but the other one looks at a share of the nodes only (from 100 nodes on,
  unless its percentageOfNodesToScore says otherwise) and may not have seen it: it ends its search after n
  nodes that fit, and so many fit beside the better ones.
- `disagreed`: a better node fits, and the other one must have seen one of them.
- `infeasible`: the node does not fit by our filters. The other one looked at it, whatever it samples.
- `timing`: one of the last two, explained by what happened between the decision and when it was seen.
  This takes looking back: see `what_if/timing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from msgspec import Struct

from moorage.api.pods import Pod, on_node
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.scoring import Scores
from moorage.framework.status import Code
from moorage.scheduler.cycle import Decision
from moorage.scheduler.search import how_many_to_find
from moorage.state.nodes import Nodes
from moorage.what_if.scenario import Evaluation
from moorage.what_if.tipping import least_change

Kind = Literal["agreed", "sampled", "timing", "disagreed", "infeasible"]

KINDS: tuple[Kind, ...] = ("agreed", "sampled", "timing", "disagreed", "infeasible")

NAMED = 5
"""How many of the best nodes are named at most."""


class Verdict(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is thought of the choice of a node for a pod."""

    pod: str
    """Its `namespace/name`."""
    node: str
    """The one that was chosen."""
    kind: Kind
    best: tuple[str, ...] = ()
    """The nodes that are preferred, some of them if there are many."""
    best_total: int = 0
    """How many are equally good."""
    feasible: int = 0
    """How many nodes fit."""
    difference: int = 0
    """By how many points the chosen node is behind the best."""
    plugin: str = ""
    """The one that tipped the scale, or that rejects the chosen node."""
    words: str = ""

    @property
    def is_exception(self) -> bool:
        """Whether it is to be explained."""
        return self.kind in ("disagreed", "infeasible")


class Agreement:
    """Judges choices against the present state, over all nodes.

    `percentage_of_nodes_to_score` is what the configuration of these profiles says of all of them; `theirs`
    is what that of the other scheduler says, if it is not the same.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        percentage_of_nodes_to_score: int = 0,
        *,
        theirs: int | None = None,
    ) -> None:
        self.profiles = profiles
        self._percentage = percentage_of_nodes_to_score
        self._theirs = theirs

    def judges(self, pod: Pod) -> bool:
        """Whether there is a profile for this pod."""
        return pod.spec.scheduler_name in self.profiles

    def judge(self, pod: Pod, node_name: str) -> Verdict:
        """The verdict on the choice of a node for a pod, in the state as it is without this pod."""
        profile = self.profiles[pod.spec.scheduler_name]
        if pod.spec.node_name:
            pod = on_node(pod, "")
        state = profile.state
        placement = state.take_away(pod.uid)
        try:
            return self._judge(profile, pod, node_name)
        finally:
            if placement is not None:
                state.put_back(placement)

    def could_be_freed(self, pod: Pod, node_name: str) -> bool:
        """Whether a node that does not fit may do so when pods there are gone."""
        profile = self.profiles[pod.spec.scheduler_name]
        decision = Evaluation.of(profile, pod, preempts=False).decision
        if decision is None:
            return False
        if profile.state.node(node_name) is None:
            return True  # nothing is known of it
        return decision.statuses.get(node_name).code is Code.UNSCHEDULABLE

    def _judge(self, profile: Profile, pod: Pod, node_name: str) -> Verdict:
        evaluation = Evaluation.of(profile, pod, preempts=False)
        decision, nodes = evaluation.decision, None
        if decision is not None and decision.failure is None:
            nodes = decision.feasible
        if decision is None or nodes is None:
            return _infeasible(evaluation, node_name)
        place = nodes.index(node_name)
        if decision.nominated_first and place is None:
            best = (decision.node_name,)
            words = f"the pod is nominated to {decision.node_name} and fits there"
            return Verdict(
                pod=pod.key,
                node=node_name,
                kind="disagreed",
                best=best,
                best_total=1,
                feasible=1,
                words=words,
            )
        if place is None:
            return _infeasible(evaluation, node_name)
        scores = decision.scores
        if scores is None:
            # The only one that fits, or nobody scores: then whichever is found first is taken.
            return Verdict(
                pod=pod.key,
                node=node_name,
                kind="agreed",
                best=(node_name,),
                best_total=1,
                feasible=len(nodes),
                words=_only(decision, nodes, node_name),
            )
        totals = scores.totals
        highest, own = int(totals.max()), int(totals[place])
        best_places = np.flatnonzero(totals == highest)
        fits = len(nodes)
        names = tuple(nodes.info(int(each)).name for each in best_places[:NAMED])
        if own == highest:
            return Verdict(
                pod=pod.key,
                node=node_name,
                kind="agreed",
                best=names,
                best_total=len(best_places),
                feasible=fits,
                words=f"{node_name} is among the best {len(best_places)} of {fits} nodes that fit",
            )
        # No array is kept beyond this point: what the scores are made of changes with the next pod.
        plugin = _tipped(profile, scores, int(best_places[0]), place)
        looked_for = self._looked_for(profile, decision)
        better = int((totals > own).sum())
        unseen = better <= fits - looked_for
        return Verdict(
            pod=pod.key,
            node=node_name,
            kind="sampled" if unseen else "disagreed",
            best=names,
            best_total=len(best_places),
            feasible=fits,
            difference=highest - own,
            plugin=plugin,
            words=_behind(names[0], node_name, highest - own, plugin)
            + (_unseen(better, fits, looked_for) if unseen else ""),
        )

    def _looked_for(self, profile: Profile, decision: Decision) -> int:
        """After how many nodes that fit the other one ends its search."""
        names = decision.pre_filtered.names if decision.pre_filtered is not None else None
        table = profile.state.table
        total = len(table) if names is None else sum(name in table.by_name for name in names)
        percentage = self._theirs
        if percentage is None:
            percentage = profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self._percentage
        return how_many_to_find(total, percentage, scores=bool(profile.score))


def _tipped(profile: Profile, scores: Scores, best: int, chosen: int) -> str:
    """Of the plugins that speak for the best node, the one whose weight would have to change the least.

    Where that takes changes of several, the one that speaks most for it.
    """
    pair = np.array([best, chosen])
    weights = {plugin.name: weight for plugin, weight, _ in profile.score}
    speaking = {
        name: values[pair] for name, values in scores.by_plugin.items() if values[best] > values[chosen]
    }
    found = least_change(speaking, weights, scores.totals[pair], 0)
    if found is not None:
        return found.plugin
    return max(speaking, key=lambda name: (speaking[name][0] - speaking[name][1]) * weights[name], default="")


def _infeasible(evaluation: Evaluation, node_name: str) -> Verdict:
    """The chosen node does not fit; whether others do is told, too."""
    decision, pod = evaluation.decision, evaluation.pod
    nodes = None if decision is None or decision.failure is not None else decision.feasible
    best: tuple[str, ...] = ()
    if decision is None:
        assert evaluation.gate is not None
        plugin, reason = evaluation.gate.plugin, evaluation.gate.message
        words = f"{plugin} does not let the pod into the queue: {reason}"
    elif evaluation.profile.state.node(node_name) is None:
        plugin, words = "", f"there is no node {node_name}"
    elif decision.failure is not None and not decision.failure.is_rejection:
        plugin, words = "", decision.failure.message
    else:
        status = decision.statuses.get(node_name)
        plugin = status.plugin
        words = f"{node_name} does not fit: {plugin}: {status.message}"
    if nodes is not None and decision is not None:
        best = (decision.node_name,)
    return Verdict(
        pod=pod.key,
        node=node_name,
        kind="infeasible",
        best=best,
        best_total=0 if decision is None else decision.ties or len(best),
        feasible=0 if nodes is None else len(nodes),
        plugin=plugin,
        words=words,
    )


def _only(decision: Decision, nodes: Nodes, node_name: str) -> str:
    if decision.nominated_first:
        return f"the pod is nominated to {node_name} and fits there"
    if len(nodes) == 1:
        return f"{node_name} is the only node that fits"
    return f"{node_name} is one of {len(nodes)} nodes that fit, and no plugin scores"


def _behind(best: str, chosen: str, difference: int, plugin: str) -> str:
    tipped = f"; {plugin} tips the scale" if plugin else ""
    points = "1 point" if difference == 1 else f"{difference} points"
    return f"{best} is {points} better than {chosen}{tipped}"


def _unseen(better: int, fits: int, looked_for: int) -> str:
    some = "1 is better: it may not have seen it" if better == 1 else f"{better} are better: it may not have"
    ending = "" if better == 1 else " seen them"
    return (
        f"; the other one ends its search after {looked_for} of the {fits} nodes that fit, and {some}{ending}"
    )
