"""Topology spread constraints: a larger skew, or a preference instead of a requirement."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.insight.advice.drafts import Draft, items, part
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.insight.advice.steps import Document
from moorage.plugins.spread.constraints import HARD, SOFT, Constraint
from moorage.plugins.spread.pod_topology_spread import hard_constraints_in, skews_in
from moorage.state.node_info import NodeInfo

PLUGIN = "PodTopologySpread"
_CONSTRAINTS = "topologySpreadConstraints"
_FIXES = frozenset({PLUGIN})


def _hard(sight: Sight) -> list[tuple[int, Document]]:
    """Place and document of each constraint that must be met."""
    found = items(sight.pod.raw.get("spec") or {}, _CONSTRAINTS)
    return [(place, each) for place, each in enumerate(found) if each.get("whenUnsatisfiable") == HARD]


def excess_on(sight: Sight, node: NodeInfo) -> list[int | None]:
    """By hard constraint: how far above its maximum the skew would be there; None without the label."""
    decision = sight.obstacles.evaluation.decision
    return [] if decision is None else skews_in(decision.cycle, node, sight.state.table)


def constraints_of(sight: Sight) -> tuple[Constraint, ...]:
    """The hard constraints that count, those of the configuration included."""
    decision = sight.obstacles.evaluation.decision
    return () if decision is None else hard_constraints_in(decision.cycle)


def remedies(sight: Sight, node: NodeInfo) -> Iterator[Remedy]:
    hard = _hard(sight)
    if not hard:
        # They are those of the configuration, which the pod can only replace by its own.
        yield from _own(sight)
        return
    excess = excess_on(sight, node)
    if len(excess) != len(hard):
        excess = [None] * len(hard)
    failing = [
        (place, each, much)
        for (place, each), much in zip(hard, excess, strict=True)
        if much is None or much > 0
    ] or [(place, each, None) for place, each in hard]
    if all(much is not None for _, _, much in failing):
        yield _larger(sight, [(place, each, much or 0) for place, each, much in failing])
    yield _preferred(sight, [(place, each) for place, each, _ in failing])


def _own(sight: Sight) -> Iterator[Remedy]:
    constraints = constraints_of(sight)
    if not constraints or sight.pod.spec.topology_spread_constraints:
        return

    def edit(draft: Draft) -> None:
        part(draft.edit(sight.pod), "spec")[_CONSTRAINTS] = [
            {
                "maxSkew": constraint.max_skew,
                "topologyKey": constraint.topology_key,
                "whenUnsatisfiable": SOFT,
                "labelSelector": {"matchLabels": dict(sight.pod.labels)},
            }
            for constraint in constraints
        ]

    keys = " and ".join(dict.fromkeys(constraint.topology_key for constraint in constraints))
    text = f"it had spread constraints of its own, which only preferred to spread over {keys}"
    yield Remedy("spread", text, 40, edit, fixes=_FIXES)


def _larger(sight: Sight, failing: list[tuple[int, Document, int]]) -> Remedy:
    def edit(draft: Draft) -> None:
        constraints = part(draft.edit(sight.pod), "spec")[_CONSTRAINTS]
        for place, each, much in failing:
            constraints[place]["maxSkew"] = each["maxSkew"] + much

    text = " and ".join(
        f"its spread constraint over {each.get('topologyKey')} allowed a skew of {each['maxSkew'] + much}"
        for _, each, much in failing
    )
    cost = sum(18.0 + 2 * min(much, 10) for _, _, much in failing)
    return Remedy("spread", text, cost, edit, fixes=_FIXES)


def _preferred(sight: Sight, failing: list[tuple[int, Document]]) -> Remedy:
    def edit(draft: Draft) -> None:
        constraints = part(draft.edit(sight.pod), "spec")[_CONSTRAINTS]
        for place, _ in failing:
            # A soft constraint knows no least number of domains.
            constraints[place]["whenUnsatisfiable"] = SOFT
            constraints[place].pop("minDomains", None)

    keys = " and ".join(dict.fromkeys(str(each.get("topologyKey")) for _, each in failing))
    text = f"spreading over {keys} were only preferred"
    return Remedy("spread", text, 36 + 2 * len(failing), edit, fixes=_FIXES)
