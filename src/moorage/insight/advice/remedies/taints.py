"""Taints and cordons: tolerate them, or take them off the node."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, Taint, tolerates
from moorage.insight.advice.drafts import Draft, drop_if_empty, items, part
from moorage.insight.advice.remedy import Remedy, Sight, joined, listed
from moorage.insight.advice.steps import Document
from moorage.state.node_info import NodeInfo
from moorage.what_if.node_models import OF_KUBERNETES

TAINTS = "TaintToleration"
CORDON = "NodeUnschedulable"


def told(taint: Taint) -> str:
    """As kubectl writes it: key=value:effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def untolerated(sight: Sight, node: NodeInfo) -> list[Taint]:
    """The taints that keep the pod away."""
    tolerations = sight.pod.spec.tolerations
    return [
        taint
        for taint in node.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerates(tolerations, taint)
    ]


def remedies(sight: Sight, node: NodeInfo) -> Iterator[Remedy]:
    taints = untolerated(sight, node)
    of_cordon = [taint for taint in taints if taint.key == UNSCHEDULABLE_TAINT.key]
    if node.node.spec.unschedulable or of_cordon:
        yield from _uncordoned(node, bool(taints) and len(of_cordon) == len(taints))
    taints = [taint for taint in taints if taint not in of_cordon]
    if taints:
        yield _tolerated(sight, taints)
        yield _taken_off(node, taints)


def _tolerated(sight: Sight, taints: list[Taint]) -> Remedy:
    troubled = any(taint.key.startswith(OF_KUBERNETES) for taint in taints)
    cost = 10 + len(taints) + 2 * sum(taint.effect == NO_EXECUTE for taint in taints) + 30 * troubled

    def edit(draft: Draft) -> None:
        spec = part(draft.edit(sight.pod), "spec")
        spec["tolerations"] = [*items(spec, "tolerations"), *map(_toleration, taints)]

    text = f"it tolerated {joined(map(told, taints))}"
    return Remedy("toleration", text, cost, edit, fixes=frozenset({TAINTS}))


def _toleration(taint: Taint) -> Document:
    if not taint.value:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}


def _taken_off(node: NodeInfo, taints: list[Taint]) -> Remedy:
    def edit(draft: Draft) -> None:
        _remove(part(draft.edit(node.node), "spec"), taints)

    text = f"{node.name} had no taint {listed(map(told, taints))}"
    cost = 45.0 + 3 * len(taints)
    return Remedy("taint", text, cost, edit, names_node=True, fixes=frozenset({TAINTS}))


def _remove(spec: Document, taints: list[Taint]) -> None:
    gone = {(taint.key, taint.value, taint.effect) for taint in taints}
    spec["taints"] = [
        taint
        for taint in items(spec, "taints")
        if (taint.get("key", ""), taint.get("value") or "", taint.get("effect", "")) not in gone
    ]
    drop_if_empty(spec, "taints")


def _uncordoned(node: NodeInfo, is_all: bool) -> Iterator[Remedy]:
    def edit(draft: Draft) -> None:
        uncordon(part(draft.edit(node.node), "spec"))

    fixes = frozenset({CORDON, TAINTS} if is_all else {CORDON})
    yield Remedy("cordon", f"{node.name} were uncordoned", 30, edit, names_node=True, fixes=fixes)


def uncordon(spec: Document) -> None:
    """Takes off the mark of a cordon, and the taint that goes with it."""
    spec.pop("unschedulable", None)
    spec["taints"] = [taint for taint in items(spec, "taints") if taint.get("key") != UNSCHEDULABLE_TAINT.key]
    drop_if_empty(spec, "taints")
