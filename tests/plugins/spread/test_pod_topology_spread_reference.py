"""The fast form against the words of the rules, node by node and pod by pod."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Service
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Status
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, scored, verdicts, views
from tests.plugins.spread.spread_cases import (
    APP,
    DELETING,
    HOST,
    MISSING,
    RACK,
    SERVICE,
    SKEWED,
    ZONE,
    Document,
    constraint,
    spread,
)

SELECTORS: list[Document | None] = [
    None,
    {},
    APP,
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
]
maybe = st.sampled_from

constraints = st.builds(
    lambda key, selector, hard, skew, domains, keys, affinity, taints: {
        **constraint(key, selector, hard=hard, skew=skew),
        **({"minDomains": domains} if domains and hard else {}),
        **({"matchLabelKeys": keys} if keys else {}),
        **({"nodeAffinityPolicy": affinity} if affinity else {}),
        **({"nodeTaintsPolicy": taints} if taints else {}),
    },
    maybe([ZONE, HOST, RACK]),
    maybe(SELECTORS),
    st.booleans(),
    st.integers(1, 3),
    maybe([None, 1, 2, 3]),
    maybe([[], ["app"], ["version", "app"]]),
    maybe([None, "Honor", "Ignore"]),
    maybe([None, "Honor", "Ignore"]),
)
node_labels = st.builds(
    lambda zone, host, rack, want: {**zone, **host, **rack, **want},
    maybe([{}, {ZONE: "a"}, {ZONE: "b"}, {ZONE: ""}]),
    maybe([{}, {HOST: "shared"}]),
    maybe([{}, {RACK: "1"}, {RACK: "2"}]),
    maybe([{}, {"want": "yes"}]),
)
pod_labels = maybe([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "version": "1"}])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    nodes = [
        make_node(f"n{i}", labels=draw(node_labels), taints=draw(maybe([(), ("t:NoSchedule",)])))
        for i in range(draw(st.integers(1, 6)))
    ]
    placed = [
        make_pod(
            f"p{i}",
            node=f"n{draw(st.integers(0, len(nodes)))}",  # one of them does not exist
            namespace=draw(maybe(["default", "default", "other"])),
            labels=draw(pod_labels),
            metadata=draw(maybe([{}, {}, DELETING])),
        )
        for i in range(draw(st.integers(0, 10)))
    ]
    return nodes, placed


@st.composite
def incoming(draw: st.DrawFn) -> Pod:
    return make_pod(
        "in",
        labels=draw(pod_labels),
        topologySpreadConstraints=draw(st.lists(constraints, max_size=3)),
        tolerations=draw(maybe([[], [{"operator": "Exists"}]])),
        nodeSelector=draw(maybe([{}, {"want": "yes"}])),
    )


def matches(selector: Document | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for item in selector.get("matchExpressions", ()):
        value = labels.get(item["key"])
        if item["operator"] == "Exists" and value is None:
            return False
        if item["operator"] == "NotIn" and value in item["values"]:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


class Rule:
    """One constraint, read from the document."""

    def __init__(self, document: Document, pod: Pod) -> None:
        self.key, self.skew = document["topologyKey"], document["maxSkew"]
        self.pod = pod
        self.document = document
        self.extra = {k: pod.labels[k] for k in document.get("matchLabelKeys", ()) if k in pod.labels}
        self.selector = document.get("labelSelector")
        self.counts_nobody = self.selector == {} and not self.extra

    def selects(self, labels: Mapping[str, str]) -> bool:
        return matches(self.selector, labels) and all(labels.get(k) == v for k, v in self.extra.items())

    def on(self, node: Node, placed: list[Pod]) -> int:
        return sum(
            pod.spec.node_name == node.name
            and not self.counts_nobody
            and pod.namespace == self.pod.namespace
            and not pod.deleting
            and self.selects(pod.labels)
            for pod in placed
        )

    def includes(self, node: Node) -> bool:
        wanted = self.pod.spec.node_selector or {}
        near = all(node.labels.get(key) == value for key, value in wanted.items())
        tolerated = not node.spec.taints or bool(self.pod.spec.tolerations)
        return (self.document.get("nodeAffinityPolicy") == "Ignore" or near) and (
            self.document.get("nodeTaintsPolicy") != "Honor" or tolerated
        )


Change = tuple[Pod, str, int]


def rules_of(pod: Pod, kind: str) -> list[Rule]:
    documents = pod.raw["spec"].get("topologySpreadConstraints", [])
    return [Rule(item, pod) for item in documents if item["whenUnsatisfiable"] == kind]


def reference_filter(
    nodes: list[Node], placed: list[Pod], pod: Pod, changes: Iterable[Change] = ()
) -> dict[str, Status | None]:
    rules = rules_of(pod, "DoNotSchedule")
    tables: list[dict[str, int]] = [{} for _ in rules]
    by_name = {node.name: node for node in nodes}

    def has_all(node: Node) -> bool:
        return all(rule.key in node.labels for rule in rules)

    for node in nodes:
        for rule, table in zip(rules, tables, strict=True):
            if has_all(node) and rule.includes(node):
                value = node.labels[rule.key]
                table[value] = table.get(value, 0) + rule.on(node, placed)
    for changed_pod, name, delta in changes:
        node = by_name[name]
        for rule, table in zip(rules, tables, strict=True):
            same = changed_pod.namespace == pod.namespace
            if same and has_all(node) and rule.selects(changed_pod.labels) and rule.includes(node):
                table[node.labels[rule.key]] += delta
    answers: dict[str, Status | None] = {}
    for node in nodes:
        answers[node.name] = None
        for rule, table in zip(rules, tables, strict=True):
            if rule.key not in node.labels:
                answers[node.name] = MISSING
                break
            least = min(table.values(), default=0)
            if len(table) < rule.document.get("minDomains", 1):
                least = 0
            if table.get(node.labels[rule.key], 0) + rule.selects(pod.labels) - least > rule.skew:
                answers[node.name] = SKEWED
                break
    return answers


def reference_scores(
    nodes: list[Node], feasible: list[Node], placed: list[Pod], pod: Pod, rules: list[Rule], needs_all: bool
) -> tuple[dict[str, int], dict[str, int]]:
    def lacks(node: Node) -> bool:
        return needs_all and any(rule.key not in node.labels for rule in rules)

    ignored = {node.name for node in feasible if lacks(node)}
    raws: dict[str, float] = {node.name: 0.0 for node in feasible}
    for rule in rules:
        seen = {node.labels.get(rule.key, "") for node in feasible if node.name not in ignored}
        size = len(feasible) - len(ignored) if rule.key == HOST else len(seen)
        weight = math.log(size + 2)
        for node in feasible:
            if node.name in ignored or rule.key not in node.labels:
                continue
            if rule.key == HOST:
                count = rule.on(node, placed)
            else:
                value = node.labels[rule.key]
                count = sum(
                    rule.on(other, placed)
                    for other in nodes
                    if not lacks(other) and rule.includes(other) and other.labels.get(rule.key, "") == value
                )
            raws[node.name] += count * weight + (rule.skew - 1)
    whole = {name: math.floor(value) + (value - math.floor(value) >= 0.5) for name, value in raws.items()}
    counted = [value for name, value in whole.items() if name not in ignored]
    most, least = max(counted, default=0), min(counted, default=0)
    final = {
        name: 0 if name in ignored else 100 if most == 0 else 100 * (most + least - value) // most
        for name, value in whole.items()
    }
    return whole, final


@settings(max_examples=100, deadline=None)
@given(worlds(), incoming())
def test_filter_equals_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    plugin = spread(handle)
    expected = reference_filter(nodes, placed, pod)
    for view in views(handle):
        answers = filtered(plugin, pod, view)
        if rules_of(pod, "DoNotSchedule"):
            assert answers == {name: expected[name] for name in view.names}
        else:
            assert not any(answers.values())


@settings(max_examples=80, deadline=None)
@given(worlds(), incoming(), st.data())
def test_changes_on_one_node_equal_the_rules(
    world: tuple[list[Node], list[Pod]], pod: Pod, data: st.DataObject
) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    plugin, cycle = spread(handle), CycleState()
    if plugin.pre_filter(cycle, pod) is not None:
        return
    name = data.draw(maybe([node.name for node in nodes]))
    node = handle.node(name)
    assert node is not None
    changes: list[Change] = []
    for item in list(node.pods):
        if data.draw(st.booleans()):
            plugin.remove_pod(cycle, pod, item, node)
            changes.append((item, name, -1))
    for number in range(data.draw(st.integers(0, 3))):
        item = make_pod(
            f"x{number}", labels=data.draw(pod_labels), namespace=data.draw(maybe(["default", "other"]))
        )
        plugin.add_pod(cycle, pod, item, node)
        changes.append((item, name, +1))
    assert verdicts(plugin, cycle, pod) == reference_filter(nodes, placed, pod, changes)


@settings(max_examples=100, deadline=None)
@given(worlds(), incoming(), st.data())
def test_scores_equal_the_rules(world: tuple[list[Node], list[Pod]], pod: Pod, data: st.DataObject) -> None:
    nodes, placed = world
    handle = cluster(nodes, placed)
    rules, needs_all = rules_of(pod, "ScheduleAnyway"), True
    if not pod.spec.topology_spread_constraints:
        handle.state.objects.of(Service).put(SERVICE)
        needs_all = False
        if pod.labels.get("app") == "a":
            defaults = (constraint(HOST, skew=3, hard=False), constraint(skew=5, hard=False))
            rules = [Rule(item, pod) for item in defaults]
    names = data.draw(st.lists(maybe([node.name for node in nodes]), unique=True, min_size=1))
    feasible = [node for node in nodes if node.name in names]
    places = [handle.nodes.index(node.name) for node in feasible]
    asked = handle.nodes.subset(np.array(places, dtype=np.intp))
    plugin = spread(handle)
    if not rules:
        assert scored(plugin, pod, asked) == {}
        return
    raws, final = reference_scores(nodes, feasible, placed, pod, rules, needs_all)
    assert scored(plugin, pod, asked, raw=True) == raws
    assert scored(plugin, pod, asked) == final
