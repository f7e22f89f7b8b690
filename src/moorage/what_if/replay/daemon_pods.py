"""Pods of DaemonSets on nodes that a trace does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from moorage.api.nodes import Node
from moorage.api.pods import Affinity, NodeAffinity, Pod, on_node
from moorage.api.selectors import NodeSelector, NodeSelectorTerm, SelectorError

_OF_EVERY_NODE = ("node.kubernetes.io/unschedulable",)
"""Taints that DaemonSets put up with, whatever they say."""


def daemon_pods(patterns: Iterable[Pod], node: Node) -> Iterator[Pod]:
    """One pod like each of these for a node, where its DaemonSet would have one."""
    for pattern in patterns:
        if _wants(pattern, node):
            name = f"{pattern.name}-on-{node.name}"
            made: Pod = on_node(pattern, node.name)
            made.metadata = replace(pattern.metadata, name=name, uid=f"{pattern.uid}-on-{node.name}")
            yield made


def _wants(pod: Pod, node: Node) -> bool:
    taints = [taint for taint in node.spec.taints if taint.key not in _OF_EVERY_NODE]
    if pod.untolerated_taint(taints) is not None:
        return False
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    required = _without_its_node(pod.spec.affinity)
    try:
        return required is None or required.matches(labels, node.name)
    except SelectorError:
        return False


def _without_its_node(affinity: Affinity | None) -> NodeSelector | None:
    """What the DaemonSet asks of nodes: the pod itself names the one that it was made for as well."""
    node_affinity: NodeAffinity | None = None if affinity is None else affinity.node_affinity
    required = None if node_affinity is None else node_affinity.required
    if required is None:
        return None
    terms = tuple(
        NodeSelectorTerm(match_expressions=term.match_expressions) for term in required.node_selector_terms
    )
    return None if any(term.empty for term in terms) else NodeSelector(node_selector_terms=terms)
