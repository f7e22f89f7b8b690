from __future__ import annotations

from collections.abc import Callable

import pytest

from moorage.api.nodes import Node
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod

TIER = "tier"


def cluster(*nodes: Node) -> ClusterState:
    state = ClusterState()
    for node in nodes:
        state.put_node(node)
    state.table.refresh()
    return state


def labels_of(state: ClusterState, key: str) -> dict[str, str | None]:
    label = state.table.label(key)
    return {info.name: label.codes.values[label.column[info.row]] for info in state.table}


# Labels


def test_an_empty_label_is_a_value_and_a_missing_one_is_not() -> None:
    state = cluster(make_node("a", labels={TIER: ""}), make_node("b"), make_node("c", labels={TIER: "x"}))
    assert labels_of(state, TIER) == {"a": "", "b": None, "c": "x"}
    label = state.table.label(TIER)
    assert label.column[state.table.by_name["b"].row] == 0
    assert label.column[state.table.by_name["a"].row] != 0


def test_label_columns_follow_nodes_that_change_come_and_go() -> None:
    state = cluster(make_node("a", labels={TIER: "1"}), make_node("b", labels={TIER: "2"}))
    labels_of(state, TIER)
    state.put_node(make_node("a", labels={TIER: "2"}))
    state.put_node(make_node("c", labels={TIER: "3"}))
    state.remove_node("b")
    assert labels_of(state, TIER) == {"a": "2", "c": "3"}
    assert len(state.table.label(TIER).codes) == 3, "the code of a value nobody has is used again"


def test_a_label_that_is_asked_for_again_after_many_others_may_have_other_codes() -> None:
    state = cluster(make_node("a", labels={TIER: "1"}))
    first = state.table.label(TIER)
    for number in range(300):
        state.table.label(f"key-{number}")
    assert state.table.label(TIER) is first, "within a cycle nothing is forgotten"
    for number in range(300):
        state.table.label(f"other-{number}")
    version = state.table.static_version
    state.table.refresh()
    assert state.table.static_version != version, "whoever kept codes has to ask again"
    assert state.table.label(TIER) is not first
    assert labels_of(state, TIER) == {"a": "1"}
    state.table.refresh()
    version = state.table.static_version
    state.table.refresh()
    assert state.table.static_version == version


# The version of static facts


@pytest.mark.parametrize(
    ("change", "changes_version"),
    [
        (lambda: make_node("a", labels={TIER: "2"}), True),
        (lambda: make_node("a", labels={TIER: "1"}, taints=["t:NoSchedule"]), True),
        (lambda: make_node("a", labels={TIER: "1"}, unschedulable=True), True),
        (lambda: make_node("a", labels={TIER: "1"}, annotations={"x": "y"}), True),
        (lambda: make_node("a", labels={TIER: "1"}, declaredFeatures=["F"]), True),
        (lambda: make_node("a", labels={TIER: "1"}), False),
        (lambda: make_node("a", labels={TIER: "1"}, cpu="8"), False),
        (lambda: make_node("a", labels={TIER: "1"}, images={"x": 1}), False),
    ],
)
def test_what_changes_the_static_version(change: Callable[[], Node], changes_version: bool) -> None:
    state = cluster(make_node("a", labels={TIER: "1"}))
    version = state.table.static_version
    state.put_node(change())
    state.table.refresh()
    assert (state.table.static_version != version) == changes_version


def test_usage_does_not_change_the_static_version() -> None:
    state = cluster(make_node("a"))
    version = state.table.static_version
    state.add_pod(make_pod("p", node="a", cpu="1", labels={"app": "a"}))
    state.remove_pod("pod-default-p")
    state.table.refresh()
    assert state.table.static_version == version


def test_nodes_that_come_or_go_change_the_static_version() -> None:
    state = cluster(make_node("a"))
    versions = [state.table.static_version]
    state.put_node(make_node("b"))
    versions.append(state.table.static_version)
    state.table.refresh()
    versions.append(state.table.static_version)
    state.remove_node("a")
    versions.append(state.table.static_version)
    assert len(set(versions)) == 4


# Facts


def cost(node: Node) -> float:
    return float(node.labels.get("cost", "0"))


def costs(state: ClusterState) -> dict[str, float]:
    return dict(zip(state.nodes.names, state.nodes.column("cost", cost).tolist(), strict=True))


def test_a_fact_is_computed_when_a_node_appears_or_changes() -> None:
    asked: list[str] = []

    def counted(node: Node) -> float:
        asked.append(node.name)
        return cost(node)

    state = cluster(make_node("a", labels={"cost": "1"}), make_node("b"))
    for _ in range(2):
        assert state.nodes.column("cost", counted).tolist() == [1, 0]
    state.put_node(make_node("b", labels={"cost": "5"}))
    assert state.nodes.column("cost", counted).tolist() == [1, 5]
    assert asked == ["a", "b", "b"]


def test_a_fact_that_cannot_be_computed_is_the_affair_of_whoever_asks() -> None:
    """A node with a bad label is recorded all the same; the plugin hears of it, again and again."""
    state = cluster(make_node("a", labels={"cost": "1"}), make_node("b", labels={"cost": "2"}))
    assert costs(state) == {"a": 1, "b": 2}
    state.put_node(make_node("a", labels={"cost": "cheap", TIER: "x"}, taints=["t:NoSchedule"]))
    assert state.table.by_name["a"].labels["cost"] == "cheap"
    assert labels_of(state, TIER)["a"] == "x"
    for _ in range(2):
        with pytest.raises(ValueError, match="cheap"):
            costs(state)
    state.put_node(make_node("a", labels={"cost": "3"}))
    assert costs(state) == {"a": 3, "b": 2}


def test_a_fact_that_fails_at_first_is_not_kept_half_done() -> None:
    state = cluster(make_node("a", labels={"cost": "cheap"}), make_node("b", labels={"cost": "2"}))
    for _ in range(2):
        with pytest.raises(ValueError, match="cheap"):
            costs(state)
    state.remove_node("a")
    assert costs(state) == {"b": 2}


# Resources


def test_a_resource_column_lives_while_some_node_or_pod_has_the_name() -> None:
    state = cluster(make_node("a", allocatable={"example.com/x": 1}), make_node("b"))
    assert "example.com/x" in state.nodes.allocatable
    state.put_node(make_node("a"))
    assert "example.com/x" not in state.nodes.allocatable
    state.add_pod(make_pod("p", node="b", requests={"example.com/y": 0}))
    assert "example.com/y" in state.nodes.requested
    state.remove_pod("pod-default-p")
    assert "example.com/y" not in state.nodes.requested
    assert state.nodes.requested["example.com/y"].tolist() == [0, 0]


def test_a_node_without_pods_in_its_allocatable_takes_no_pod() -> None:
    node = make_node("a")
    node.status.allocatable = {"cpu": "1"}
    state = cluster(node, make_node("b", pods=7))
    assert dict(zip(state.nodes.names, state.nodes.allowed_pods.tolist(), strict=True)) == {"a": 0, "b": 7}


def test_an_amount_that_cannot_be_read_is_told_until_it_is_mended() -> None:
    state = cluster(make_node("a", cpu="4x"))
    (problem,) = state.table.problems.values()
    assert problem.startswith("node(s) had an invalid allocatable: '4x' is not a quantity")
    state.remove_node("a")
    assert state.table.problems == {}
