from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.selectors import Selector
from moorage.api.workloads import Namespace
from moorage.config.args import InterPodAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.framework.handle import Handle
from moorage.framework.status import Code, Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, registered, scored, verdicts, views

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NOT_NEAR = Status.unresolvable("node(s) didn't match pod affinity rules")
TOO_NEAR = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
UNWELCOME = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
DELETING: Document = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
BAD: Document = {"matchExpressions": [{"key": "a", "operator": "In"}]}

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def expression(key: str, operator: str, *values: str) -> Document:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def term(app: str | None = "a", key: str = ZONE, **rest: Any) -> Document:
    """A term for pods of one app; other selectors by keyword."""
    own = {} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}
    return {"topologyKey": key, **own, **rest}


def affinity(
    near: Iterable[Document] = (),
    far: Iterable[Document] = (),
    prefer: Iterable[tuple[int, Document]] = (),
    avoid: Iterable[tuple[int, Document]] = (),
) -> Document:
    def weighted(terms: Iterable[tuple[int, Document]]) -> list[Document]:
        return [{"weight": weight, "podAffinityTerm": item} for weight, item in terms]

    return {
        "podAffinity": {REQUIRED: list(near), PREFERRED: weighted(prefer)},
        "podAntiAffinity": {REQUIRED: list(far), PREFERRED: weighted(avoid)},
    }


def pod_with(
    *,
    app: str = "",
    near: Iterable[Document] = (),
    far: Iterable[Document] = (),
    prefer: Iterable[tuple[int, Document]] = (),
    avoid: Iterable[tuple[int, Document]] = (),
    name: str = "in",
    node: str = "",
    namespace: str = "default",
    **rest: Any,
) -> Pod:
    labels = {"app": app} if app else {}
    wanted = affinity(near, far, prefer, avoid)
    return make_pod(name, node=node, namespace=namespace, labels=labels, affinity=wanted, **rest)


def zones(*pods: Pod, **args: Any) -> InterPodAffinity:
    """Zone 1 with nodes a and b, zone 2 with node c, and node x without a zone."""
    nodes = [make_node(name, labels={ZONE: zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))]
    handle = cluster([*nodes, make_node("x")], pods)
    return InterPodAffinity(InterPodAffinityArgs(**args) if args else None, handle)


def add_namespace(plugin: InterPodAffinity, name: str, **labels: str) -> None:
    made = from_document(Namespace, {"metadata": {"name": name, "labels": labels}})
    plugin.handle.state.objects.of(Namespace).put(made)


def passing(plugin: InterPodAffinity, pod: Pod) -> str:
    return "".join(sorted(name for name, status in filtered(plugin, pod).items() if status is None))


# Required affinity


def test_near_a_matching_pod() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert filtered(plugin, pod_with(near=[term()])) == {"a": None, "b": None, "c": NOT_NEAR, "x": NOT_NEAR}
    assert passing(plugin, pod_with(near=[term(key=HOST)])) == "a"


def test_one_pod_must_match_all_terms() -> None:
    """Different terms cannot be satisfied by different pods."""
    both = [term("a"), {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "t"}}}]
    apart = [make_pod("p", node="a", labels={"app": "a"}), make_pod("q", node="a", labels={"tier": "t"})]
    assert passing(zones(*apart), pod_with(near=both)) == ""
    together = make_pod("p", node="a", labels={"app": "a", "tier": "t"})
    assert passing(zones(together), pod_with(near=both)) == "ab"


def test_every_term_asks_for_its_own_topology() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert passing(plugin, pod_with(near=[term(), term(key=HOST)])) == "a"


def test_terminating_pods_count() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a", metadata=DELETING))
    assert passing(plugin, pod_with(near=[term()])) == "ab"
    assert passing(plugin, pod_with(far=[term()])) == "cx"


@pytest.mark.parametrize(
    ("app", "placed", "passed"),
    [
        ("a", "", "abc"),
        ("b", "", ""),
        ("a", "c", "c"),
        ("a", "x", "abc"),
    ],
    ids=["first of its kind", "does not match itself", "not the first", "others only where no zone is"],
)
def test_the_first_pod_of_a_group(app: str, placed: str, passed: str) -> None:
    """It may go anywhere with the topology; what counts is the map, not the pods."""
    placed_pods = [pod_with(app="a", name="p", node=placed)] if placed else []
    assert passing(zones(*placed_pods), pod_with(app=app, near=[term()])) == passed


def test_the_first_pod_rule_wants_all_own_terms_matched() -> None:
    pod = pod_with(app="a", near=[term("a"), term("b")])
    assert passing(zones(), pod) == ""


def test_a_null_selector_matches_nobody_and_an_empty_one_everybody() -> None:
    plugin = zones(make_pod("p", node="a"))
    assert passing(plugin, pod_with(near=[term(None)])) == ""
    assert passing(plugin, pod_with(near=[term(None, labelSelector={})])) == "ab"
    assert passing(plugin, pod_with(far=[term(None)])) == "abcx"
    assert passing(plugin, pod_with(far=[term(None, labelSelector={})])) == "cx"


# Required anti-affinity


def test_away_from_matching_pods() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    assert filtered(plugin, pod_with(far=[term()])) == {"a": TOO_NEAR, "b": TOO_NEAR, "c": None, "x": None}
    assert passing(plugin, pod_with(far=[term("b"), term(key=HOST)])) == "bcx"


def test_placed_pods_keep_others_away() -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new")]))
    keeps_off = {"a": UNWELCOME, "b": UNWELCOME, "c": None, "x": None}
    assert filtered(plugin, make_pod("in", labels={"app": "new"})) == keeps_off
    assert passing(plugin, make_pod("in", labels={"app": "other"})) == "abcx"


def test_a_placed_pod_on_a_node_without_the_topology_keeps_nobody_away() -> None:
    plugin = zones(pod_with(name="p", node="x", far=[term("new")]))
    answer = plugin.pre_filter(CycleState(), make_pod("in", labels={"app": "new"}))
    assert answer is not None and answer.code is Code.SKIP


def test_the_order_of_reasons() -> None:
    """Affinity, own anti-affinity, that of placed pods."""
    placed = pod_with(app="a", name="p", node="a", far=[term("new")])
    plugin = zones(placed)
    pod = pod_with(app="new", near=[term("nobody")], far=[term()])
    assert set(filtered(plugin, pod).values()) == {NOT_NEAR}
    pod = pod_with(app="new", far=[term()])
    assert filtered(plugin, pod)["a"] == TOO_NEAR
    assert filtered(plugin, pod_with(app="new"))["a"] == UNWELCOME


def test_the_list_of_a_placed_pod_with_an_invalid_selector_is_dropped() -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new"), term(None, labelSelector=BAD)]))
    assert passing(plugin, make_pod("in", labels={"app": "new"})) == "abcx"


@pytest.mark.parametrize("kind", ["near", "far", "prefer", "avoid"])
def test_an_invalid_selector_of_the_pod_itself_is_final(kind: str) -> None:
    bad: Any = [term(None, labelSelector=BAD)]
    terms: Document = {kind: bad if kind in ("near", "far") else [(1, bad[0])]}
    pod = pod_with(**terms)
    plugin = zones()
    answer = plugin.pre_filter(CycleState(), pod)
    assert answer is not None and answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message.startswith("parsing pod: ")
    answer = plugin.pre_score(CycleState(), pod, plugin.handle.nodes)
    assert answer is not None and answer.code is Code.ERROR, "where PreFilter is disabled"
    assert answer.message.startswith("failed to parse pod: ")


def test_nothing_to_do_skips() -> None:
    for plugin in (zones(), zones(pod_with(name="p", node="a", near=[term()], prefer=[(1, term())]))):
        answer = plugin.pre_filter(CycleState(), make_pod("in", labels={"app": "a"}))
        assert answer is not None and answer.code is Code.SKIP


def test_without_its_earlier_point() -> None:
    plugin = zones()
    nodes = plugin.handle.nodes
    with pytest.raises(
        MissingState, match=r'^error reading "PreFilterInterPodAffinity" from cycleState: not found$'
    ):
        plugin.filter_nodes(CycleState(), make_pod("in"), nodes)
    with pytest.raises(
        MissingState, match=r'^failed to read "PreScoreInterPodAffinity" from cycleState: not found$'
    ):
        plugin.score_nodes(CycleState(), make_pod("in"), nodes)


# Namespaces


@pytest.mark.parametrize(
    ("rest", "reached"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue"]}, {"blue"}),
        ({"namespaceSelector": {}}, {"default", "blue", "red", "unknown"}),
        ({"namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue"}),
        ({"namespaces": ["red"], "namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue", "red"}),
        ({"namespaceSelector": expression("colour", "Exists")}, {"blue", "red"}),
        (
            {"namespaceSelector": expression("colour", "NotIn", "blue")},
            {"default", "blue", "red", "unknown"},
        ),
        ({"namespaceSelector": expression("colour", "DoesNotExist")}, {"default", "blue", "red", "unknown"}),
        (
            {
                "namespaceSelector": {
                    "matchLabels": {"colour": "red"},
                    **expression("other", "DoesNotExist"),
                }
            },
            {"red"},
        ),
    ],
    ids=[
        "own",
        "listed",
        "empty selector",
        "selector",
        "both",
        "exists",
        "only NotIn reaches everywhere",
        "only DoesNotExist reaches everywhere",
        "mixed",
    ],
)
def test_namespaces_of_the_terms_of_the_pod_itself(rest: Document, reached: set[str]) -> None:
    """The names are expanded and the selector is asked once more, about a namespace without labels."""
    for namespace in ("default", "blue", "red", "unknown"):
        plugin = zones(pod_with(app="a", name="p", node="a", namespace=namespace))
        add_namespace(plugin, "default")
        add_namespace(plugin, "blue", colour="blue")
        add_namespace(plugin, "red", colour="red")
        expected = "cx" if namespace in reached else "abcx"
        assert passing(plugin, pod_with(far=[term(**rest)])) == expected, namespace
        scores = scored(plugin, pod_with(prefer=[(1, term(**rest))]))
        assert bool(scores) == (namespace in reached)


@pytest.mark.parametrize(
    ("rest", "reached"),
    [
        ({"namespaceSelector": expression("colour", "NotIn", "blue")}, {"default", "red", "unknown"}),
        ({"namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue"}),
        ({"namespaceSelector": {}}, {"default", "blue", "red", "unknown"}),
        ({"namespaces": ["red"]}, {"red"}),
        ({}, {"default"}),
    ],
)
def test_terms_of_placed_pods_are_asked_about_the_real_labels(rest: Document, reached: set[str]) -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new", **rest)]))
    add_namespace(plugin, "default")
    add_namespace(plugin, "blue", colour="blue")
    add_namespace(plugin, "red", colour="red")
    for namespace in ("default", "blue", "red", "unknown"):
        pod = make_pod("in", namespace=namespace, labels={"app": "new"})
        assert passing(plugin, pod) == ("cx" if namespace in reached else "abcx"), namespace


def test_namespaces_that_change_are_noticed() -> None:
    plugin = zones(
        pod_with(app="a", name="p", node="a", namespace="blue"),
        pod_with(
            name="q", node="c", far=[term("new", namespaceSelector={"matchLabels": {"colour": "blue"}})]
        ),
    )
    own = pod_with(far=[term(namespaceSelector={"matchLabels": {"colour": "blue"}})])
    new = make_pod("in", namespace="blue", labels={"app": "new"})
    assert (passing(plugin, own), passing(plugin, new)) == ("abcx", "abcx")
    add_namespace(plugin, "blue", colour="blue")
    assert (passing(plugin, own), passing(plugin, new)) == ("cx", "abx")
    add_namespace(plugin, "blue", colour="green")
    assert (passing(plugin, own), passing(plugin, new)) == ("abcx", "abcx")


# AddPod and RemovePod


def test_added_and_removed_pods_count() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    (placed,) = plugin.handle.pods
    where = {name: plugin.handle.node(name) for name in "acx"}
    pod = pod_with(app="new", near=[term()], far=[term("b")])
    cycle = CycleState()
    assert plugin.pre_filter(cycle, pod) is None

    def after(*changes: tuple[str, Pod, str]) -> str:
        clone = cycle.clone()
        for what, other, name in changes:
            node = where[name]
            assert node is not None
            (plugin.add_pod if what == "add" else plugin.remove_pod)(clone, pod, other, node)
        found = verdicts(plugin, clone, pod)
        assert verdicts(plugin, cycle, pod) == filtered(plugin, pod), "the clone's changes are its own"
        return "".join(sorted(name for name, status in found.items() if status is None))

    assert after() == "ab"
    assert after(("add", pod_with(app="a", name="q"), "c")) == "abc"
    assert after(("add", pod_with(app="b", name="q"), "a")) == ""
    assert after(("add", pod_with(far=[term("new")], name="q"), "a")) == ""
    assert after(("add", pod_with(app="a", name="q"), "x")) == "ab", (
        "a node without the topology counts nowhere"
    )
    assert after(("remove", placed, "a")) == ""
    assert after(("remove", placed, "a"), ("add", placed, "a")) == "ab"


def test_an_entry_that_reaches_0_is_gone() -> None:
    """Without the last matching pod, the first-pod rule applies."""
    plugin = zones(pod_with(app="a", name="p", node="a"))
    (placed,) = plugin.handle.pods
    pod, cycle = pod_with(app="a", near=[term(), term(key=HOST)]), CycleState()
    plugin.pre_filter(cycle, pod)
    node = plugin.handle.node("a")
    assert node is not None
    plugin.remove_pod(cycle, pod, placed, node)
    assert {name for name, status in verdicts(plugin, cycle, pod).items() if status is None} == set("abc")


# Score


def final(raw: list[int]) -> list[int]:
    plugin = zones()
    scores = plugin.normalize_scores(CycleState(), make_pod("in"), np.array(raw, dtype=np.int64))
    return [int(score) for score in scores]


@pytest.mark.parametrize(
    ("raw", "normalized"),
    [
        ([-10, 0, 19], [0, 34, 100]),
        ([0, 29, 100], [0, 28, 100]),
        ([0, 57, 58, 100], [0, 56, 57, 100]),
        ([5, 5], [0, 0]),
        ([-7, -7, -7], [0, 0, 0]),
    ],
)
def test_normalisation_divides_first(raw: list[int], normalized: list[int]) -> None:
    """So 29 of 100 is 28."""
    assert final(raw) == normalized


def raws(plugin: InterPodAffinity, pod: Pod) -> dict[str, int]:
    return scored(plugin, pod, raw=True)


def test_preferences_of_the_pod_itself() -> None:
    plugin = zones(
        pod_with(app="a", name="p", node="a"),
        pod_with(app="a", name="q", node="b", metadata=DELETING),
        pod_with(app="b", name="r", node="c"),
    )
    pod = pod_with(prefer=[(5, term()), (2, term(key=HOST))], avoid=[(3, term("b"))])
    assert raws(plugin, pod) == {"a": 12, "b": 12, "c": -3, "x": 0}
    assert scored(plugin, pod) == {"a": 100, "b": 100, "c": 0, "x": 20}


@pytest.mark.parametrize(("weight", "score"), [(1, 1), (100, 100), (0, None)])
def test_required_affinity_of_placed_pods(weight: int, score: int | None) -> None:
    plugin = zones(pod_with(name="p", node="a", near=[term("new")]), hard_pod_affinity_weight=weight)
    found = raws(plugin, make_pod("in", labels={"app": "new"}))
    assert found == ({} if score is None else {"a": score, "b": score, "c": 0, "x": 0})


def test_preferences_of_placed_pods() -> None:
    plugin = zones(
        pod_with(name="p", node="a", prefer=[(5, term("new")), (5, term("new"))]),
        pod_with(name="q", node="c", avoid=[(3, term("new"))], far=[term("other")]),
    )
    assert raws(plugin, make_pod("in", labels={"app": "new"})) == {"a": 10, "b": 10, "c": -3, "x": 0}
    assert raws(plugin, make_pod("in", labels={"app": "old"})) == {}, "nobody speaks of it: skipped"


def test_preferences_of_placed_pods_can_be_ignored() -> None:
    placed = pod_with(name="p", node="a", app="a", prefer=[(5, term("new"))])
    plugin = zones(placed, ignore_preferred_terms_of_existing_pods=True)
    assert raws(plugin, make_pod("in", labels={"app": "new"})) == {}
    own = pod_with(app="new", prefer=[(1, term("nobody"))])
    assert raws(plugin, own) == {"a": 5, "b": 5, "c": 0, "x": 0}, "not if the pod has preferences itself"


def test_what_cancels_out_does_not_skip() -> None:
    plugin = zones(pod_with(app="a", name="p", node="a"))
    pod = pod_with(prefer=[(5, term())], avoid=[(5, term())])
    assert scored(plugin, pod) == {"a": 0, "b": 0, "c": 0, "x": 0}
    assert scored(plugin, pod_with(prefer=[(5, term("nobody"))])) == {}
    assert scored(zones(pod_with(app="a", name="p", node="x")), pod) == {}, "no topology, no contribution"


# The fast form against the words of the rules, pod by pod

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


# Hints


def ask(pod: Pod, action: Action, old: Any = None, new: Any = None, resource: str = ASSIGNED_POD) -> Hint:
    return hint(zones(), resource, action, pod, old, new)


def placed_pod(app: str = "a", **rest: Any) -> Pod:
    return pod_with(app=app, **{"name": "other", "node": "n", **rest})


def test_registered_events() -> None:
    assert registered(zones()) == [
        (POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, True),
        (NODE, Action.ADD | Action.UPDATE_NODE_LABEL, True),
    ]


NOMINATED: Document = {"nominatedNodeName": "n"}


@pytest.mark.parametrize(
    ("pod", "added", "queue"),
    [
        (pod_with(near=[term()]), placed_pod(), True),
        (pod_with(near=[term()]), placed_pod("b"), False),
        (pod_with(near=[term(), term("b")]), placed_pod(), False),
        (pod_with(near=[term()]), placed_pod(node=""), False),
        (pod_with(near=[term()]), placed_pod(node="", status=NOMINATED), True),
        (pod_with(near=[term()]), placed_pod(namespace="blue"), False),
        (pod_with(near=[term(namespaceSelector={"matchLabels": {"c": "b"}})]), placed_pod(), False),
        (pod_with(near=[term(namespaceSelector={})]), placed_pod(namespace="blue"), True),
        (pod_with(far=[term()]), placed_pod(), False),
        (pod_with(), placed_pod(), False),
    ],
)
def test_hints_for_added_pods(pod: Pod, added: Pod, queue: bool) -> None:
    assert ask(pod, Action.ADD, None, added) is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(
    ("pod", "deleted", "queue"),
    [
        (pod_with(far=[term()]), placed_pod(), True),
        (pod_with(far=[term()]), placed_pod("b"), False),
        (pod_with(far=[term(), term("b")]), placed_pod(), False),
        (pod_with(app="in"), placed_pod(far=[term("in")]), True),
        (pod_with(app="in"), placed_pod(far=[term("in"), term("b")]), False),
        (pod_with(app="in", namespace="blue"), placed_pod(far=[term("in")]), False),
        (pod_with(far=[term()]), placed_pod(node=""), False),
        (pod_with(far=[term()]), placed_pod(node="", status=NOMINATED), True),
        (pod_with(near=[term()]), placed_pod(), False),
    ],
)
def test_hints_for_deleted_pods(pod: Pod, deleted: Pod, queue: bool) -> None:
    assert ask(pod, Action.DELETE, deleted, None) is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(
    ("pod", "old", "new", "queue"),
    [
        (pod_with(near=[term()]), placed_pod("b"), placed_pod(), True),
        (pod_with(near=[term()]), placed_pod(), placed_pod("b"), False),
        (pod_with(far=[term()]), placed_pod(), placed_pod("b"), True),
        (pod_with(far=[term()]), placed_pod("b"), placed_pod(), False),
        (pod_with(far=[term(), term("c")]), placed_pod(), placed_pod("b"), False),
        (pod_with(near=[term()]), placed_pod("b", node=""), placed_pod(node=""), False),
        (pod_with(near=[term()]), placed_pod("b", node=""), placed_pod(node="", status=NOMINATED), False),
        (pod_with(near=[term()]), placed_pod("b", node="", status=NOMINATED), placed_pod(node=""), False),
    ],
)
def test_hints_for_pods_whose_labels_change(pod: Pod, old: Pod, new: Pod, queue: bool) -> None:
    assert ask(pod, Action.UPDATE_POD_LABEL, old, new) is (Hint.QUEUE if queue else Hint.SKIP)


def test_hint_for_a_label_of_ones_own() -> None:
    pod, newer = pod_with(far=[term()]), pod_with(app="x", far=[term()])
    assert ask(pod, Action.UPDATE_POD_LABEL, pod, newer, UNSCHEDULABLE_POD) is Hint.QUEUE


ZONED, OTHER_ZONE, BARE = (make_node("n", labels=labels) for labels in ({ZONE: "1"}, {ZONE: "2"}, {}))


@pytest.mark.parametrize(
    ("pod", "old", "new", "queue"),
    [
        (pod_with(near=[term()]), None, ZONED, True),
        (pod_with(near=[term()]), None, BARE, False),
        (pod_with(near=[term()]), BARE, ZONED, True),
        (pod_with(near=[term()]), ZONED, OTHER_ZONE, True),
        (pod_with(near=[term()]), ZONED, BARE, False),
        (pod_with(near=[term()]), ZONED, ZONED, False),
        (pod_with(far=[term()]), None, ZONED, True),
        (pod_with(far=[term()]), None, BARE, True),
        (pod_with(far=[term()]), ZONED, BARE, True),
        (pod_with(far=[term()]), ZONED, OTHER_ZONE, True),
        (pod_with(far=[term()]), BARE, ZONED, False),
        (pod_with(far=[term()]), ZONED, ZONED, False),
        (pod_with(), None, ZONED, False),
        (pod_with(prefer=[(1, term())]), None, ZONED, False),
    ],
)
def test_hints_for_nodes(pod: Pod, old: Node | None, new: Node, queue: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_LABEL
    assert ask(pod, action, old, new, NODE) is (Hint.QUEUE if queue else Hint.SKIP)


# No cycle walks over pods


def test_a_second_cycle_asks_no_selector_about_placed_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = cluster([make_node(f"n{i}", labels={ZONE: str(i % 3)}) for i in range(10)])
    plugin = InterPodAffinity(None, handle)
    template: Document = {"app": "a", "near": [term(key="rack")], "far": [term("b")], "prefer": [(3, term())]}
    pod = pod_with(**template)
    asked = 0
    plain = Selector.matches

    def counting(self: Selector, labels: Mapping[str, str]) -> bool:
        nonlocal asked
        asked += 1
        return plain(self, labels)

    def cycle() -> int:
        nonlocal asked
        asked = 0
        filtered(plugin, pod)
        scored(plugin, pod)
        return asked

    monkeypatch.setattr(Selector, "matches", counting)
    handle.state.add_pod(pod_with(**template, name="first", node="n0"))
    cycle()
    with_one_pod = cycle()
    asked = 0
    for number in range(1000):
        added = pod_with(**template, name=f"p{number}", node=f"n{number % 10}")
        handle.state.add_pod(added)
    assert asked <= 10, "one question per kind of pod and count"
    assert cycle() == with_one_pod
