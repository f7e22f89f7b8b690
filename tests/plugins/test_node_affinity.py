from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import NodeAffinity as Affinity
from moorage.api.pods import Pod
from moorage.api.selectors import SelectorError
from moorage.config.args import NodeAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, Action, Hint
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.status import Code, Status
from moorage.plugins.node_affinity import NodeAffinity
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, scored, verdicts, views

UNMATCHED = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")

Document = dict[str, Any]


def term(
    *expressions: tuple[str, str, list[str]], fields: list[tuple[str, str, list[str]]] | None = None
) -> Document:
    """A term of requirements written as (key, operator, values)."""

    def listed(requirements: Any) -> list[Document]:
        return [{"key": key, "operator": op, "values": values} for key, op, values in requirements]

    return {"matchExpressions": listed(expressions), "matchFields": listed(fields or [])}


def affinity(*required: Document, preferred: list[tuple[int, Document]] | None = None) -> Document:
    document: Document = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "preference": preference} for weight, preference in preferred or []
        ]
    }
    if required:
        document["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(required)}
    return document


def requiring(*terms: Document, **spec: Any) -> Pod:
    return make_pod(affinity={"nodeAffinity": affinity(*terms)}, **spec)


def preferring(*terms: tuple[int, Document]) -> Pod:
    return make_pod(affinity={"nodeAffinity": affinity(preferred=list(terms))})


def with_added(document: Document, *nodes: Any) -> NodeAffinity:
    return NodeAffinity(NodeAffinityArgs(added_affinity=msgspec.convert(document, Affinity)), cluster(nodes))


def three_nodes() -> NodeAffinity:
    nodes = [
        make_node("a", labels={"disk": "ssd", "cores": "8"}),
        make_node("b", labels={"disk": "hdd", "cores": "x"}),
        make_node("c", labels={"cores": "-3", "empty": ""}),
    ]
    return NodeAffinity(None, cluster(nodes))


def by_name(*names: str, operator: str = "In") -> Document:
    return term(fields=[("metadata.name", operator, list(names))])


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (("disk", "In", ["ssd", "nvme"]), "a"),
        (("disk", "In", ["ssd", "hdd"]), "ab"),
        (("disk", "In", ["nvme"]), ""),
        (("empty", "In", [""]), "c"),
        (("disk", "NotIn", ["ssd"]), "bc"),
        (("disk", "NotIn", ["nvme", "tape"]), "abc"),
        (("nowhere", "NotIn", ["x"]), "abc"),
        (("disk", "Exists", []), "ab"),
        (("empty", "Exists", []), "c"),
        (("disk", "DoesNotExist", []), "c"),
        (("nowhere", "DoesNotExist", []), "abc"),
        (("cores", "Gt", ["4"]), "a"),
        (("cores", "Gt", ["8"]), ""),
        (("cores", "Lt", ["9"]), "ac"),
        (("cores", "Lt", ["0"]), "c"),
        (("nowhere", "Lt", ["9"]), ""),
    ],
)
def test_operators(requirement: tuple[str, str, list[str]], expected: str) -> None:
    assert passing(filtered(three_nodes(), requiring(term(requirement)))) == set(expected)


@pytest.mark.parametrize(
    "invalid",
    [
        term(("disk", "In", [])),
        term(("disk", "NotIn", [])),
        term(("disk", "Exists", ["x"])),
        term(("disk", "DoesNotExist", ["x"])),
        term(("disk", "Like", ["ssd"])),
        term(("bad key!", "Exists", [])),
        term(("disk", "NotIn", ["bad value!"])),
        term(("cores", "Gt", ["-5"])),
        term(("cores", "Lt", ["+9"])),
        term(("cores", "Lt", ["9", "10"])),
        term(("cores", "Lt", ["x"])),
        term(("disk", "DoesNotExist", []), ("disk", "In", [])),
        term(fields=[("metadata.name", "In", ["a", "b"])]),
        term(fields=[("metadata.name", "Exists", [])]),
    ],
)
def test_an_invalid_term_never_matches_but_others_still_can(invalid: Document) -> None:
    plugin = three_nodes()
    cycle = CycleState()
    pod = requiring(invalid)
    plugin.pre_filter(cycle, pod)
    assert passing(verdicts(plugin, cycle, pod)) == set()
    assert passing(filtered(plugin, requiring(invalid, term(("disk", "In", ["hdd"]))))) == {"b"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (requiring(term()), ""),
        (requiring(term(), term(("disk", "Exists", []))), "ab"),
        (requiring(term(("disk", "Exists", []), ("cores", "Gt", ["1"]))), "a"),
        (requiring(by_name("b")), "b"),
        (requiring(by_name("b", operator="NotIn")), "ac"),
        (requiring(by_name("z", operator="NotIn")), "abc"),
        (requiring(term(fields=[("metadata.uid", "In", [""])])), "abc"),
        (requiring(term(fields=[("metadata.uid", "NotIn", [""])])), ""),
        (requiring(term(fields=[("metadata.uid", "NotIn", ["x"])])), "abc"),
        (requiring(term(fields=[("metadata.uid", "In", ["x"])])), ""),
        (make_pod(nodeSelector={"disk": "hdd"}), "b"),
        (make_pod(nodeSelector={"disk": "hdd", "cores": "8"}), ""),
        (make_pod(nodeSelector={"not a valid key!": "x"}), ""),
        (make_pod(nodeSelector={}), "abc"),
        (requiring(term(("disk", "Exists", [])), nodeSelector={"cores": "8"}), "a"),
    ],
)
def test_terms_and_node_selectors(pod: Pod, expected: str) -> None:
    statuses = filtered(three_nodes(), pod)
    assert passing(statuses) == set(expected)
    assert {status for status in statuses.values() if status} <= {UNMATCHED}


def test_a_required_block_without_terms_matches_nothing() -> None:
    pod = make_pod(
        affinity={
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
        }
    )
    assert passing(filtered(three_nodes(), pod)) == set()


# PreFilter


@pytest.mark.parametrize("pod", [make_pod(), preferring((1, term(("disk", "Exists", []))))])
def test_nothing_required_skips(pod: Pod) -> None:
    answer = three_nodes().pre_filter(CycleState(), pod)
    assert isinstance(answer, Status)
    assert answer.code is Code.SKIP


def test_an_empty_node_selector_and_an_added_affinity_do_not_skip() -> None:
    assert three_nodes().pre_filter(CycleState(), make_pod(nodeSelector={})) is None
    plugin = with_added(affinity(term(("disk", "Exists", []))))
    assert plugin.pre_filter(CycleState(), make_pod()) is None


CONFLICT = Status.unresolvable("pod affinity terms conflict")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([by_name("a")], {"a"}),
        ([by_name("a"), by_name("b")], {"a", "b"}),
        ([by_name("a", "b")], {"a", "b"}),
        ([by_name("unknown")], {"unknown"}),
        ([by_name("a"), term(("disk", "Exists", []))], None),
        ([by_name("a"), by_name("b", operator="NotIn")], None),
        ([term(("kubernetes.io/hostname", "In", ["a"]))], None),
        ([term(fields=[("metadata.namespace", "In", ["a"])])], None),
        ([term(fields=[("metadata.name", "In", ["a"]), ("metadata.name", "In", ["b"])])], CONFLICT),
        ([term(fields=[("metadata.name", "In", ["a", "b"]), ("metadata.name", "In", ["b", "c"])])], {"b"}),
        (
            [term(fields=[("metadata.name", "In", ["a"]), ("metadata.name", "In", ["b"])]), by_name("c")],
            {"c"},
        ),
        ([term(("disk", "Exists", []), fields=[("metadata.name", "In", ["a"])])], {"a"}),
    ],
)
def test_narrowing(terms: list[Document], expected: set[str] | Status | None) -> None:
    assert three_nodes().pre_filter(CycleState(), requiring(*terms)) == expected


def test_without_pre_filter_the_filter_computes_on_the_spot() -> None:
    pod = requiring(by_name("b"))
    assert passing(verdicts(three_nodes(), CycleState(), pod)) == {"b"}
    assert passing(verdicts(three_nodes(), CycleState(), make_pod())) == {"a", "b", "c"}


# Score


def test_scores_are_sums_of_weights() -> None:
    pod = preferring(
        (10, term(("disk", "Exists", []))), (20, term(("disk", "In", ["hdd"]))), (5, by_name("c"))
    )
    assert scored(three_nodes(), pod, raw=True) == {"a": 10, "b": 30, "c": 5}


@pytest.mark.parametrize(
    ("pod", "final"),
    [
        (
            preferring((10, term(("disk", "Exists", []))), (20, term(("disk", "In", ["hdd"])))),
            {"a": 33, "b": 100, "c": 0},
        ),
        (preferring((10, term(("nowhere", "Exists", [])))), {"a": 0, "b": 0, "c": 0}),
        (preferring((0, term(("disk", "Exists", [])))), {"a": 0, "b": 0, "c": 0}),
        (preferring((9, term())), {"a": 0, "b": 0, "c": 0}),
        (make_pod(), {}),
    ],
)
def test_normalised_scores(pod: Pod, final: dict[str, int]) -> None:
    assert scored(three_nodes(), pod) == final


def test_an_invalid_preferred_term_is_an_error() -> None:
    plugin = three_nodes()
    pod = preferring((1, term(("disk", "Exists", []))), (1, term(("disk", "In", []))))
    with pytest.raises(SelectorError):
        plugin.pre_score(CycleState(), pod, plugin.handle.nodes)
    with pytest.raises(SelectorError):
        plugin.score_nodes(CycleState(), pod, plugin.handle.nodes)


def test_an_invalid_preferred_term_without_weight_is_dropped() -> None:
    pod = preferring((1, term(("disk", "Exists", []))), (0, term(("disk", "In", []))))
    assert scored(three_nodes(), pod, raw=True) == {"a": 1, "b": 1, "c": 0}


def test_without_pre_score_the_score_computes_on_the_spot() -> None:
    plugin = three_nodes()
    pod = preferring((7, term(("disk", "Exists", []))))
    for asked, expected in ((pod, [7, 7, 0]), (make_pod(), [0, 0, 0])):
        assert plugin.score_nodes(CycleState(), asked, plugin.handle.nodes).tolist() == expected


# Added affinity


def test_added_affinity_comes_first() -> None:
    nodes = [make_node(name, labels={"pool": pool}) for name, pool in (("a", "x"), ("b", "y"), ("c", "x"))]
    plugin = with_added(affinity(term(("pool", "In", ["x"]))), *nodes)
    pod = requiring(by_name("a"))
    assert filtered(plugin, pod) == {"a": None, "b": ENFORCED, "c": UNMATCHED}
    assert filtered(plugin, make_pod()) == {"a": None, "b": ENFORCED, "c": None}


def test_added_preferences_count_for_every_pod() -> None:
    nodes = [make_node("a", labels={"pool": "x"}), make_node("b")]
    plugin = with_added(affinity(preferred=[(3, term(("pool", "Exists", [])))]), *nodes)
    assert scored(plugin, make_pod(), raw=True) == {"a": 3, "b": 0}
    assert scored(plugin, preferring((5, by_name("b"))), raw=True) == {"a": 3, "b": 5}
    assert plugin.score_nodes(CycleState(), make_pod(), plugin.handle.nodes).tolist() == [3, 0]


@pytest.mark.parametrize(
    "document",
    [
        affinity(term(("pool", "Exists", [])), term(("pool", "In", []))),
        affinity(preferred=[(1, term(("pool", "In", [])))]),
    ],
)
def test_an_invalid_added_affinity_is_an_error_at_start(document: Document) -> None:
    with pytest.raises(PluginLoadError, match=r"^args\.addedAffinity\.\w+DuringScheduling"):
        with_added(document)


# The same rules, written once more node by node


def is_valid(requirement: Document) -> bool:
    operator, values = requirement["operator"], requirement["values"]
    if requirement["key"] == "bad key!" or operator == "Like":
        return False
    if operator in ("In", "NotIn"):
        return len(values) > 0
    if operator in ("Exists", "DoesNotExist"):
        return not values
    return [value.isdigit() for value in values] == [True]


def holds(requirement: Document, labels: dict[str, str]) -> bool:
    operator: str = requirement["operator"]
    values: list[str] = requirement["values"]
    value = labels.get(requirement["key"])
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Exists", "DoesNotExist"):
        return (value is None) == (operator == "DoesNotExist")
    if value is None or not value.isdigit():
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def term_matches(term: Document, labels: dict[str, str], name: str) -> bool:
    expressions, fields = term["matchExpressions"], term["matchFields"]
    if not (expressions or fields) or not all(map(is_valid, expressions)):
        return False
    if any(field["operator"] not in ("In", "NotIn") or len(field["values"]) != 1 for field in fields):
        return False
    return all(holds(requirement, labels) for requirement in expressions) and all(
        holds(field, {"metadata.name": name}) for field in fields
    )


values = st.sampled_from(["", "v", "w", "3", "7"])
label_maps = st.dictionaries(st.sampled_from(["k", "l"]), values)
requirements = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["k", "l", "m", "bad key!"]),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Like"]),
        "values": st.lists(values, max_size=2),
    }
).map(lambda r: r | ({"values": []} if r["operator"] in ("Exists", "DoesNotExist") else {}))
name_fields = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from(["n0", "n1", "n9"]), min_size=1, max_size=1),
    }
)
terms = st.fixed_dictionaries(
    {
        "matchExpressions": st.lists(requirements, max_size=2),
        "matchFields": st.lists(name_fields, max_size=1),
    }
)
weighted = st.tuples(
    st.integers(0, 100),
    terms.filter(lambda t: all(map(is_valid, t["matchExpressions"]))),
)


@settings(max_examples=100)
@given(
    stages=st.lists(st.lists(label_maps, min_size=1, max_size=6), min_size=1, max_size=3),
    selector=st.none() | label_maps,
    required=st.lists(terms, max_size=2),
    preferred=st.lists(weighted, max_size=3),
    added=st.none() | weighted.map(lambda pair: pair[1]),
)
def test_fast_form_is_the_rule_node_by_node(
    stages: list[list[dict[str, str]]],
    selector: dict[str, str] | None,
    required: list[Document],
    preferred: list[tuple[int, Document]],
    added: Document | None,
) -> None:
    """One plugin sees the nodes change, appear and go: nothing that is kept may be stale."""
    plugin = with_added(affinity(added)) if added else NodeAffinity(None, cluster())
    pod = make_pod(nodeSelector=selector, affinity={"nodeAffinity": affinity(*required, preferred=preferred)})
    state = plugin.handle.state
    for stage in stages:
        for i, labels in enumerate(stage):
            state.put_node(make_node(f"n{i}", labels=labels))
        for name in [info.name for info in state.table if int(info.name[1:]) >= len(stage)]:
            state.remove_node(name)
        state.table.refresh()

        def expected(name: str, stage: list[dict[str, str]] = stage) -> Status | None:
            labels = stage[int(name[1:])]
            if added and not term_matches(added, labels, name):
                return ENFORCED
            selected = all(labels.get(key) == value for key, value in (selector or {}).items())
            fits = not required or any(term_matches(term, labels, name) for term in required)
            return None if selected and fits else UNMATCHED

        def expected_score(name: str, stage: list[dict[str, str]] = stage) -> int:
            return sum(w for w, t in preferred if term_matches(t, stage[int(name[1:])], name))

        for view in views(plugin.handle):
            for name, status in verdicts(plugin, CycleState(), pod, view).items():
                assert status == expected(name)
            for name, score in scored(plugin, pod, view, raw=True).items():
                assert score == expected_score(name)


# Hints


def test_registered_events() -> None:
    assert registered(three_nodes()) == [(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, True)]


SSD = requiring(term(("disk", "In", ["ssd"])))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, {"disk": "ssd"}, Hint.QUEUE),
        (None, {"disk": "hdd"}, Hint.SKIP),
        ({"disk": "hdd"}, {"disk": "ssd"}, Hint.QUEUE),
        ({"disk": "ssd"}, {"disk": "ssd", "new": "1"}, Hint.SKIP),
        ({"disk": "ssd"}, {"disk": "hdd"}, Hint.SKIP),
    ],
)
def test_node_hint(before: dict[str, str] | None, after: dict[str, str], expected: Hint) -> None:
    old = None if before is None else make_node(labels=before)
    action = Action.ADD if old is None else Action.UPDATE_NODE_LABEL
    assert hint(three_nodes(), NODE, action, SSD, old, make_node(labels=after)) is expected


def test_node_hint_with_an_invalid_term_that_might_have_mattered() -> None:
    invalid = requiring(term(("disk", "In", [])), nodeSelector={"zone": "a"})
    plugin = three_nodes()
    assert hint(plugin, NODE, Action.ADD, invalid, None, make_node(labels={"zone": "a"})) is Hint.QUEUE
    assert hint(plugin, NODE, Action.ADD, invalid, None, make_node(labels={"zone": "b"})) is Hint.SKIP


def test_node_hint_heeds_added_affinity() -> None:
    plugin = with_added(affinity(term(("pool", "Exists", []))))
    outside, inside = make_node(labels={"disk": "ssd"}), make_node(labels={"disk": "ssd", "pool": "x"})
    assert hint(plugin, NODE, Action.ADD, SSD, None, outside) is Hint.SKIP
    assert hint(plugin, NODE, Action.ADD, SSD, None, inside) is Hint.QUEUE
    # Whether the old node was outside does not matter, only whether it matched the pod.
    assert hint(plugin, NODE, Action.UPDATE_NODE_LABEL, SSD, outside, inside) is Hint.SKIP
