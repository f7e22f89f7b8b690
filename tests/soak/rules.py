"""The scheduler's hard rules by the book: slow, without any state, one pod and one node at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moorage.api.nodes import Node
from moorage.api.pods import Pod, PodAffinityTerm, TopologySpreadConstraint
from moorage.api.requests import allocatable

HARD_EFFECTS = ("NoSchedule", "NoExecute")


class Placed(NamedTuple):
    pod: Pod
    node: Node


class Cluster(NamedTuple):
    """The nodes, and the pods on nodes that exist."""

    nodes: Mapping[str, Node]
    pods: list[Placed]

    def on(self, name: str) -> list[Pod]:
        return [pod for pod, node in self.pods if node.name == name]


def objection(cluster: Cluster, pod: Pod, name: str) -> str:
    """Why a pod must not go to a node; empty if it may."""
    node = cluster.nodes.get(name)
    if node is None:
        return "no such node"
    checks = (_static, _room, _ports, _own_anti_affinity, _anti_affinity_of_others, _affinity, _spread)
    return next((said for check in checks if (said := check(cluster, pod, node))), "")


def _static(cluster: Cluster, pod: Pod, node: Node) -> str:
    if node.spec.unschedulable:
        return "unschedulable"
    for taint in node.spec.taints:
        if taint.effect in HARD_EFFECTS and taint.key not in {known.key for known in pod.spec.tolerations}:
            return f"taint {taint.key}"
    return "" if _selected(pod, node) else "node selector"


def _selected(pod: Pod, node: Node) -> bool:
    return (pod.spec.node_selector or {}).items() <= node.labels.items()


def _room(cluster: Cluster, pod: Pod, node: Node) -> str:
    there, offered = cluster.on(node.name), allocatable(node.status.allocatable)
    if len(there) + 1 > offered["pods"]:
        return "too many pods"
    for resource, amount in pod.requests.items():
        if amount and amount + sum(other.requests[resource] for other in there) > offered[resource]:
            return f"insufficient {resource}"
    return ""


def _ports(cluster: Cluster, pod: Pod, node: Node) -> str:
    taken = {port for other in cluster.on(node.name) for port in other.host_ports}
    return "port" if taken & set(pod.host_ports) else ""


def _matches(term: PodAffinityTerm | TopologySpreadConstraint, pod: Pod) -> bool:
    selector = term.label_selector
    assert selector is not None and not selector.match_expressions
    return selector.match_labels.items() <= pod.labels.items()


def _together(key: str, one: Node, other: Node) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def _own_anti_affinity(cluster: Cluster, pod: Pod, node: Node) -> str:
    for term in _terms(pod, "pod_anti_affinity"):
        for other, place in cluster.pods:
            if _matches(term, other) and _together(term.topology_key, node, place):
                return f"anti-affinity with {other.key}"
    return ""


def _anti_affinity_of_others(cluster: Cluster, pod: Pod, node: Node) -> str:
    for other, place in cluster.pods:
        for term in _terms(other, "pod_anti_affinity"):
            if _matches(term, pod) and _together(term.topology_key, node, place):
                return f"anti-affinity of {other.key}"
    return ""


def _affinity(cluster: Cluster, pod: Pod, node: Node) -> str:
    for term in _terms(pod, "pod_affinity"):
        key = term.topology_key
        if key not in node.labels:
            return "affinity: no such topology"
        found = [place for other, place in cluster.pods if _matches(term, other) and key in place.labels]
        if not found and _matches(term, pod):
            continue
        if not any(_together(key, node, place) for place in found):
            return "affinity"
    return ""


def _terms(pod: Pod, kind: str) -> tuple[PodAffinityTerm, ...]:
    affinity = getattr(pod.spec.affinity, kind, None)
    return affinity.required if affinity is not None else ()


def _spread(cluster: Cluster, pod: Pod, node: Node) -> str:
    hard = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    keys = {constraint.topology_key for constraint in hard}
    counted = [each for each in cluster.nodes.values() if _selected(pod, each) and keys <= each.labels.keys()]
    for constraint in hard:
        key = constraint.topology_key
        if key not in node.labels:
            return "spread: no such topology"
        counts = {each.labels[key]: 0 for each in counted}
        names = {each.name for each in counted}
        for other, place in cluster.pods:
            if place.name in names and not other.deleting and _matches(constraint, other):
                counts[place.labels[key]] += 1
        skew = counts.get(node.labels[key], 0) + _matches(constraint, pod) - min(counts.values())
        if skew > constraint.max_skew:
            return f"spread over {key}"
    return ""
