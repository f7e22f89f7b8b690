"""Room: which pods would have to leave, the fewest and least important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from moorage.api.pods import Pod
from moorage.api.resources import PODS
from moorage.api.storage import PersistentVolumeClaim
from moorage.api.volume_uses import UseKind, conflicting
from moorage.framework.runtime.what_if import WhatIf
from moorage.insight.advice.drafts import Draft
from moorage.insight.advice.obstacles import RIVALS
from moorage.insight.advice.remedies import pod_affinity, ports, requests, spread
from moorage.insight.advice.remedy import Remedy, Sight, joined, listed
from moorage.state.affinity_terms import terms_of
from moorage.state.cluster import ClusterState
from moorage.state.node_info import NodeInfo

VOLUMES = "VolumeRestrictions"
COUNTED = frozenset({requests.PLUGIN, ports.PLUGIN, pod_affinity.PLUGIN, spread.PLUGIN, VOLUMES, RIVALS})
"""Plugins of which it can be told who is in the way."""
_NEVER_HELPED = frozenset(
    {
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "VolumeBinding",
        "VolumeZone",
        "DynamicResources",
    }
)
"""Plugins that do not care which pods are on a node."""
_MOST_NODES = 24
_NOT_NEAR = "node(s) didn't match pod affinity rules"
_MOST_LEAVING = 40
_PAIRS_AMONG = 60
_NAMED = 4


class Leaving(NamedTuple):
    """Pods that would have to leave for a pod to fit a node."""

    node: NodeInfo
    pods: tuple[Pod, ...]

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Fewest first, then least important."""
        weights = [_importance(pod) for pod in self.pods]
        return len(self.pods), max(weights), sum(weights), self.node.name


def _importance(pod: Pod) -> int:
    """Pods that are ending count least; those that would come back at once count most."""
    if pod.deleting:
        return -(2**32)
    owners = pod.metadata.owner_references
    returns = any(owner.controller and owner.kind in ("DaemonSet", "Node") for owner in owners)
    return pod.priority + (2**32 if returns else 0)


def leaving(sight: Sight, node: NodeInfo, plugins: frozenset[str]) -> Leaving | None:
    """Who would have to leave for these plugins to object to a node no longer, as far as can be told."""
    if plugins <= COUNTED:
        gone = _told(sight, node, plugins)
    else:
        gone = _tried(sight, node)
    if not gone or len(gone) > _MOST_LEAVING or not all(map(sight.world.may_leave, gone.values())):
        return None
    return Leaving(node, tuple(sorted(gone.values(), key=lambda pod: (_importance(pod), pod.key))))


def remedy(sight: Sight, found: Leaving, plugins: frozenset[str]) -> Remedy:
    def edit(draft: Draft) -> None:
        for pod in found.pods:
            draft.delete(pod)

    highest = max(_importance(pod) for pod in found.pods)
    more = 2 if highest > 0 else 0
    cost = 56 + 4 * len(found.pods) + more + (10 if highest >= 10**9 else 0)
    return Remedy("room", _text(found), cost, edit, names_node=True, fixes=plugins)


def _text(found: Leaving) -> str:
    by_node: dict[str, list[Pod]] = {}
    for pod in found.pods:
        by_node.setdefault(pod.spec.node_name, []).append(pod)
    clauses = []
    for name, pods in by_node.items():
        told = [f"{pod.key} ({_standing(pod)})" for pod in pods]
        who = joined(told) if len(told) <= _NAMED else listed(told, _NAMED)
        clauses.append(f"{who} left {name}" if name else f"{who} were gone")
    text = joined(clauses)
    elsewhere = found.node.name not in by_node
    return f"{text} ({found.node.name})" if elsewhere else text


def _standing(pod: Pod) -> str:
    return f"priority {pod.priority}{', ending' if pod.deleting else ''}"


# Who is in the way


def _told(sight: Sight, node: NodeInfo, plugins: frozenset[str]) -> dict[str, Pod] | None:
    """By uid: those that must go for what they hold, and as many more as room is missing."""
    gone: dict[str, Pod] = {}
    if ports.PLUGIN in plugins:
        _add(gone, ports.holders(sight, node))
    if VOLUMES in plugins:
        _add(gone, _users_of_volumes(sight, node))
    if pod_affinity.PLUGIN in plugins:
        row = node.row
        if _NOT_NEAR in sight.obstacles.reasons(pod_affinity.PLUGIN, row):
            return None
        _add(gone, _too_near(sight, node))
    if spread.PLUGIN in plugins:
        crowd = _crowd(sight, node, gone)
        if crowd is None:
            return None
        _add(gone, crowd)
    if RIVALS in plugins:
        _add(gone, sight.services.nominations.rivals(sight.pod).get(node.name, ()))
    if requests.PLUGIN in plugins:
        missing = requests.missing_on(sight, node)
        for pod in gone.values():
            if node.has(pod):
                _give(missing, pod)
        staying = [pod for pod in node.pods if pod.uid not in gone and sight.world.may_leave(pod)]
        more = enough(staying, missing)
        if more is None:
            return None
        _add(gone, more)
    return gone


def _add(gone: dict[str, Pod], pods: Iterable[Pod]) -> None:
    gone.update((pod.uid, pod) for pod in pods)


def _give(missing: dict[str, int], pod: Pod) -> None:
    for name, amount in (*requests.taken_by(pod).items(), (PODS, 1)):
        if name in missing:
            missing[name] -= amount
            if missing[name] <= 0:
                del missing[name]


def enough(pods: list[Pod], missing: dict[str, int]) -> list[Pod] | None:
    """The fewest pods whose leaving gives what is missing, the least important of equally many."""
    if not missing:
        return []
    gives = {pod.uid: {**requests.taken_by(pod), PODS: 1} for pod in pods}
    ordered = sorted(pods, key=lambda pod: (_importance(pod), pod.key))
    ordered = [pod for pod in ordered if any(gives[pod.uid].get(name, 0) > 0 for name in missing)]

    def suffices(chosen: Iterable[Pod]) -> bool:
        given = [gives[pod.uid] for pod in chosen]
        return all(sum(each.get(name, 0) for each in given) >= much for name, much in missing.items())

    if not suffices(ordered):
        return None
    for size in (1, 2):
        if size == 2 and len(ordered) > _PAIRS_AMONG:
            break
        fitting = [chosen for chosen in combinations(ordered, size) if suffices(chosen)]
        if fitting:
            best = min(fitting, key=lambda chosen: [_importance(pod) for pod in reversed(chosen)])
            return list(best)
    chosen: list[Pod] = []
    while not suffices(chosen):
        left = dict(missing)
        for pod in chosen:
            for name in left:
                left[name] -= gives[pod.uid].get(name, 0)

        def help_of(pod: Pod, left: dict[str, int] = left) -> float:
            return sum(
                min(gives[pod.uid].get(name, 0) / much, 1.0) for name, much in left.items() if much > 0
            )

        chosen.append(max((pod for pod in ordered if pod not in chosen), key=help_of))
    for pod in sorted(chosen, key=_importance, reverse=True):
        without = [each for each in chosen if each is not pod]
        if suffices(without):
            chosen = without
    return chosen


def _users_of_volumes(sight: Sight, node: NodeInfo) -> list[Pod]:
    """Pods here with the same disk, and pods anywhere with a claim that only one may use."""
    uses = sight.pod.volume_uses
    forbidden = {other for use in uses for other in conflicting(use)}
    found = [pod for pod in node.pods if not forbidden.isdisjoint(pod.volume_uses)]
    claims = {use for use in uses if use.kind is UseKind.CLAIM and _is_for_one(sight, str(use.what))}
    if claims:
        found += [pod for pod in sight.kept(_with_volumes) if not claims.isdisjoint(pod.volume_uses)]
    return found


def _with_volumes(sight: Sight) -> list[Pod]:
    return [pod for pod in sight.state.pods if pod.volume_uses]


def _is_for_one(sight: Sight, key: str) -> bool:
    namespace, _, name = key.rpartition("/")
    claim = sight.state.objects.of(PersistentVolumeClaim).get(name, namespace)
    return claim is not None and "ReadWriteOncePod" in claim.spec.access_modes


def _too_near(sight: Sight, node: NodeInfo) -> list[Pod]:
    """Pods in the node's domains that the pod keeps away from, or that keep away from it."""
    found: dict[str, Pod] = {}
    for key, by_domain in sight.kept(_kept_away).items():
        here = node.labels.get(key)
        if here is not None:
            _add(found, by_domain.get(here, ()))
    return list(found.values())


def _kept_away(sight: Sight) -> dict[str, dict[str, list[Pod]]]:
    """By topology key and domain: the pods that may not be near the pod."""
    pod, state = sight.pod, sight.state
    own = terms_of(pod).anti_affinity
    around = state.objects.namespace_labels(pod.namespace)
    found: dict[str, dict[str, list[Pod]]] = {}
    for other in state.pods:
        theirs = terms_of(other).anti_affinity
        if not own and not theirs:
            continue
        labels = state.objects.namespace_labels(other.namespace)
        terms = [term for term in own if term.matches(other.namespace, other.labels, labels)]
        terms += [term for term in theirs if term.matches(pod.namespace, pod.labels, around)]
        for key in {term.topology_key for term in terms}:
            _put_in_domain(state, found.setdefault(key, {}), key, other)
    return found


def _put_in_domain(state: ClusterState, by_domain: dict[str, list[Pod]], key: str, pod: Pod) -> None:
    node = state.node(pod.spec.node_name)
    domain = None if node is None else node.labels.get(key)
    if domain is not None:
        by_domain.setdefault(domain, []).append(pod)


def _crowd(sight: Sight, node: NodeInfo, gone: dict[str, Pod]) -> list[Pod] | None:
    """So many matching pods of the node's domain that the skew is small enough again."""
    excess = spread.excess_on(sight, node)
    counted = sight.kept(_counted)
    if len(counted) != len(excess):
        return None
    found: list[Pod] = []
    for (key, by_domain), much in zip(counted, excess, strict=True):
        if much is None:
            return None
        crowd = by_domain.get(node.labels.get(key, ""), [])
        going = {pod.uid for pod in (*gone.values(), *found)}
        missing = max(0, much - sum(pod.uid in going for pod in crowd))
        staying = sorted((pod for pod in crowd if pod.uid not in going), key=_importance)
        if len(staying) < missing:
            return None
        found += staying[:missing]
    return found


def _counted(sight: Sight) -> list[tuple[str, dict[str, list[Pod]]]]:
    """By hard spread constraint: its topology key and the pods that it counts, by domain."""
    found: list[tuple[str, dict[str, list[Pod]]]] = []
    for constraint in spread.constraints_of(sight):
        by_domain: dict[str, list[Pod]] = {}
        for pod in sight.state.pods:
            if pod.deleting or pod.namespace != sight.pod.namespace:
                continue
            if constraint.selector.matches(pod.labels):
                _put_in_domain(sight.state, by_domain, constraint.topology_key, pod)
        found.append((constraint.topology_key, by_domain))
    return found


def _tried(sight: Sight, node: NodeInfo) -> dict[str, Pod] | None:
    """Who must go whatever the reason: all go, and who may come back does, the most important first."""
    decision = sight.obstacles.evaluation.decision
    if decision is None:
        return None
    pods = sorted(node.pods, key=lambda pod: (-_importance(pod), pod.key))
    with WhatIf(sight.world.profile, decision.cycle, sight.pod, node) as tried:
        for pod in pods:
            tried.remove(pod)
        if tried.filters() is not None:
            return None
        gone: dict[str, Pod] = {}
        for pod in pods:
            tried.add(pod)
            if tried.filters() is not None:
                tried.remove(pod)
                gone[pod.uid] = pod
        return gone


def remedies(sight: Sight) -> Iterator[Remedy]:
    """Who would have to leave; the fewest first, whatever the node."""
    for found in sight.kept(all_leaving):
        yield remedy(sight, found, sight.obstacles.plugins_on(found.node.row))


def all_leaving(sight: Sight) -> list[Leaving]:
    """On each of the nodes that lack least, who would have to leave; the fewest first."""
    found: list[Leaving] = []
    for row in _rows(sight):
        gone = leaving(sight, sight.obstacles.info(row), sight.obstacles.plugins_on(row))
        if gone is not None:
            found.append(gone)
    return sorted(found, key=lambda each: each.rank)


def _rows(sight: Sight) -> list[int]:
    """Nodes on which pods that leave could help, those first that lack least."""
    obstacles = sight.obstacles
    if not obstacles.by_plugin:
        return []
    possible = np.ones(len(sight.state.table), dtype=np.bool_)
    for plugin, rejected in obstacles.by_plugin.items():
        if plugin in _NEVER_HELPED:
            possible &= ~rejected
    rows = np.flatnonzero(possible & (obstacles.how_many() > 0))
    order = np.lexsort((requests.severity(sight)[rows], obstacles.how_many()[rows]))
    return [int(row) for row in rows[order][:_MOST_NODES]]
