"""The fast form against the words of the rules, pod by pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Namespace
from moorage.config.args import InterPodAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_node
from tests.plugins.affinity_cases import (
    DELETING,
    HOST,
    NOT_NEAR,
    PREFERRED,
    REQUIRED,
    TOO_NEAR,
    UNWELCOME,
    ZONE,
    Document,
    expression,
    pod_with,
)
from tests.plugins.helpers import cluster, filtered, scored, verdicts, views

NAMESPACES: dict[str, dict[str, str]] = {"default": {}, "blue": {"colour": "blue"}, "red": {"colour": "red"}}
maybe = st.sampled_from

terms = st.builds(
    lambda key, selector, scope: {"topologyKey": key, **selector, **scope},
    maybe([ZONE, HOST, "rack"]),
    maybe(
        [
            {},
            {"labelSelector": {}},
            {"labelSelector": {"matchLabels": {"app": "a"}}},
            {"labelSelector": {"matchLabels": {"app": "b"}}},
            {"labelSelector": expression("app", "NotIn", "b")},
        ]
    ),
    maybe(
        [
            {},
            {},
            {"namespaces": ["blue"]},
            {"namespaceSelector": {}},
            {"namespaceSelector": {"matchLabels": {"colour": "blue"}}},
            {"namespaceSelector": expression("colour", "NotIn", "blue")},
        ]
    ),
)
some_terms = st.lists(terms, max_size=2)
some_weighted = st.lists(st.tuples(st.integers(1, 5), terms), max_size=2)
apps = maybe(["", "a", "b"])
namespaces = maybe(["default", "default", "blue", "red"])


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "") -> Pod:
    return pod_with(
        app=draw(apps),
        near=draw(some_terms),
        far=draw(some_terms),
        prefer=draw(some_weighted),
        avoid=draw(some_weighted),
        name=name,
        node=node,
        namespace=draw(namespaces),
        metadata=draw(maybe([{}, {}, DELETING])),
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    labels = maybe([{}, {ZONE: "1"}, {ZONE: "2"}, {ZONE: "1", "rack": "r"}, {ZONE: "", "rack": "s"}])
    nodes = [make_node(f"n{i}", labels=draw(labels)) for i in range(draw(st.integers(1, 5)))]
    placed = [
        draw(pods(f"p{i}", f"n{draw(st.integers(0, len(nodes)))}")) for i in range(draw(st.integers(0, 7)))
    ]
    return nodes, placed


def selects(selector: Document | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for item in selector.get("matchExpressions", ()):
        assert item["operator"] == "NotIn"
        if labels.get(item["key"]) in item["values"]:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def speaks_of(item: Document, owner: Pod, pod: Pod, around: Mapping[str, str], expanded: bool) -> bool:
    """Whether a term of `owner` matches `pod`; `expanded` for the terms of the incoming pod."""
    names = set(item.get("namespaces", ()))
    selector = item.get("namespaceSelector")
    if not names and selector is None:
        names = {owner.namespace}
    if expanded and selector:
        names |= {name for name, labels in NAMESPACES.items() if selects(selector, labels)}
    inside = pod.namespace in names or selects(selector, {} if expanded else around)
    return inside and selects(item.get("labelSelector"), pod.labels)


def terms_in(pod: Pod, kind: str, how: str) -> list[Any]:
    found: list[Any] = pod.raw["spec"]["affinity"][kind][how]
    return found


class Reference:
    """What PreFilter counts, as dictionaries from (key, value) to a number."""

    def __init__(self, nodes: list[Node], placed: list[Pod], pod: Pod) -> None:
        self.pod = pod
        self.nodes = {node.name: node for node in nodes}
        self.near, self.far = (
            terms_in(pod, "podAffinity", REQUIRED),
            terms_in(pod, "podAntiAffinity", REQUIRED),
        )
        self.affinity: dict[tuple[str, str], int] = {}
        self.anti: dict[tuple[str, str], int] = {}
        self.existing: dict[tuple[str, str], int] = {}
        for other in placed:
            if other.spec.node_name in self.nodes:
                self.change(other, other.spec.node_name, +1)
        self.skips = not self.near and not self.far and not self.existing

    def change(self, other: Pod, name: str, delta: int) -> None:
        node, around = self.nodes[name], NAMESPACES[self.pod.namespace]

        def count(counts: dict[tuple[str, str], int], key: str) -> None:
            if key in node.labels:
                pair = (key, node.labels[key])
                counts[pair] = counts.get(pair, 0) + delta
                if not counts[pair]:
                    del counts[pair]

        for item in terms_in(other, "podAntiAffinity", REQUIRED):
            if speaks_of(item, other, self.pod, around, False):
                count(self.existing, item["topologyKey"])
        if self.near and all(speaks_of(item, self.pod, other, {}, True) for item in self.near):
            for item in self.near:
                count(self.affinity, item["topologyKey"])
        for item in self.far:
            if speaks_of(item, self.pod, other, {}, True):
                count(self.anti, item["topologyKey"])

    def verdict(self, node: Node) -> Status | None:
        keys = [item["topologyKey"] for item in self.near]
        if any(key not in node.labels for key in keys):
            return NOT_NEAR
        if any(self.affinity.get((key, node.labels[key]), 0) <= 0 for key in keys):
            alone = not self.affinity
            if not (alone and all(speaks_of(item, self.pod, self.pod, {}, True) for item in self.near)):
                return NOT_NEAR
        pairs = set(node.labels.items())
        keys = [item["topologyKey"] for item in self.far]
        if any(pair[0] in keys and count > 0 for pair, count in self.anti.items() if pair in pairs):
            return TOO_NEAR
        if any(count > 0 for pair, count in self.existing.items() if pair in pairs):
            return UNWELCOME
        return None

    def verdicts(self) -> dict[str, Status | None]:
        return {name: self.verdict(node) for name, node in self.nodes.items()}


def handle_of(nodes: list[Node], placed: list[Pod]) -> Handle:
    handle = cluster(nodes, placed)
    for name, labels in NAMESPACES.items():
        made = from_document(Namespace, {"metadata": {"name": name, "labels": labels}})
        handle.state.objects.of(Namespace).put(made)
    return handle


@settings(max_examples=100, deadline=None)
@given(worlds(), pods("in"))
def test_filter_equals_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod) -> None:
    nodes, placed = world
    handle = handle_of(nodes, placed)
    plugin, reference = InterPodAffinity(None, handle), Reference(nodes, placed, pod)
    skip = plugin.pre_filter(CycleState(), pod)
    assert (skip is not None) == reference.skips
    expected = reference.verdicts()
    for view in views(handle):
        assert filtered(plugin, pod, view) == {name: expected[name] for name in view.names}


@settings(max_examples=80, deadline=None)
@given(worlds(), pods("in"), st.data())
def test_changes_equal_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod, data: st.DataObject) -> None:
    nodes, placed = world
    handle = handle_of(nodes, placed)
    plugin, reference, cycle = InterPodAffinity(None, handle), Reference(nodes, placed, pod), CycleState()
    if plugin.pre_filter(cycle, pod) is not None:
        return
    name = data.draw(maybe([node.name for node in nodes]))
    node = handle.node(name)
    assert node is not None
    for other in list(node.pods):
        if data.draw(st.booleans()):
            plugin.remove_pod(cycle, pod, other, node)
            reference.change(other, name, -1)
    for number in range(data.draw(st.integers(0, 2))):
        other = data.draw(pods(f"x{number}"))
        plugin.add_pod(cycle, pod, other, node)
        reference.change(other, name, +1)
    assert verdicts(plugin, cycle, pod) == reference.verdicts()


@settings(max_examples=100, deadline=None)
@given(worlds(), pods("in"), maybe([0, 1, 7]), st.booleans(), st.data())
def test_scores_equal_the_rules(
    world: tuple[list[Node], list[Pod]], pod: Pod, hard: int, ignore: bool, data: st.DataObject
) -> None:
    nodes, placed = world
    handle = handle_of(nodes, placed)
    args = InterPodAffinityArgs(hard_pod_affinity_weight=hard, ignore_preferred_terms_of_existing_pods=ignore)
    plugin = InterPodAffinity(args, handle)
    own = [(item, 1) for item in terms_in(pod, "podAffinity", PREFERRED)]
    own += [(item, -1) for item in terms_in(pod, "podAntiAffinity", PREFERRED)]
    by_name = {node.name: node for node in nodes}
    points: dict[tuple[str, str], int] = {}
    around = NAMESPACES[pod.namespace]

    def count(item: Document, node: Node, weight: int) -> None:
        key = item["topologyKey"]
        if key in node.labels:
            pair = (key, node.labels[key])
            points[pair] = points.get(pair, 0) + weight

    for other in placed:
        node = by_name.get(other.spec.node_name)
        if node is None:
            continue
        for weighted, sign in own:
            if speaks_of(weighted["podAffinityTerm"], pod, other, {}, True):
                count(weighted["podAffinityTerm"], node, sign * weighted["weight"])
        for item in terms_in(other, "podAffinity", REQUIRED):
            if hard and speaks_of(item, other, pod, around, False):
                count(item, node, hard)
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for weighted in terms_in(other, kind, PREFERRED):
                if speaks_of(weighted["podAffinityTerm"], other, pod, around, False):
                    count(weighted["podAffinityTerm"], node, sign * weighted["weight"])
    names = data.draw(st.lists(maybe(sorted(by_name)), unique=True, min_size=1))
    asked = handle.nodes.subset(np.array([handle.nodes.index(name) for name in names], dtype=np.intp))
    if not points or (ignore and not own):
        assert scored(plugin, pod, asked) == {}
        return
    expected = {name: sum(points.get(pair, 0) for pair in by_name[name].labels.items()) for name in names}
    assert scored(plugin, pod, asked, raw=True) == expected
    low, high = min(expected.values()), max(expected.values())
    assert scored(plugin, pod, asked) == {
        name: int(100.0 * (float(value - low) / float(high - low))) if high > low else 0
        for name, value in expected.items()
    }
