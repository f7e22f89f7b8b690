"""Objects with amounts that cannot be read or are too large, or with almost nothing in them."""

from __future__ import annotations

import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod
from tests.state.worlds import (
    Document,
    is_compact,
)


@pytest.mark.parametrize(
    ("allocatable", "usable"),
    [
        ({"cpu": "lots"}, False),
        ({"cpu": ""}, False),
        ({"memory": "1e"}, False),
        ({"example.com/x": "1K"}, False),
        ({"cpu": "-1"}, True),
        ({"memory": "100E"}, True),
        ({"memory": 10**30}, True),
        ({}, True),
    ],
)
def test_a_nodes_allocatable(allocatable: Document, usable: bool) -> None:
    state = ClusterState()
    node = make_node("n")
    node.status.allocatable = allocatable
    state.put_node(node)
    state.add_pod(make_pod("p", node="n", cpu="1"))
    problem = state.table.problems.get("n")
    assert (problem is None) == usable
    if problem is not None:
        assert problem.startswith("node(s) had an invalid allocatable: '")
        assert "is not a quantity" in problem
        assert state.table.by_name["n"].allocatable == {}
    state.put_node(make_node("n"))
    assert not state.table.problems


@pytest.mark.parametrize(
    "requests",
    [{"cpu": "x"}, {"memory": "1 Gi"}, {"example.com/x": "NaN"}, {"cpu": ""}, {"cpu": float("inf")}],
)
def test_a_pod_with_a_bad_request_counts_as_asking_for_nothing(
    requests: Document, caplog: pytest.LogCaptureFixture
) -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("p", node="n", requests=requests))
    info = state.table.by_name["n"]
    assert (info.requested, info.nonzero_requested, len(info.pods)) == ({}, {}, 1)
    assert "pod default/p has an invalid request and counts as asking for nothing" in caplog.text
    state.remove_pod("pod-default-p")
    assert is_compact(state)


def test_amounts_beyond_64_bits_wrap_around_and_come_back() -> None:
    """As the 64-bit sums of the original do; nothing is raised and removal undoes it."""
    state = ClusterState()
    state.put_node(make_node("n"))
    largest = 2**63 - 1
    for name in "abc":
        state.add_pod(make_pod(name, node="n", memory=largest, cpu=f"{largest}m"))
    info = state.table.by_name["n"]
    assert info.requested == {"memory": largest - 2, "cpu": largest - 2}
    assert state.priorities.pods_below(1).tolist() == [3]
    state.add_pod(make_pod("d", node="n", memory=largest))
    state.remove_pod("pod-default-a")
    with state.priorities.gone_below(1):
        assert info.requested == {}
    for name in "bcd":
        state.remove_pod(f"pod-default-{name}")
    assert (info.requested, info.nonzero_requested) == ({}, {})


def test_objects_with_almost_nothing_in_them() -> None:
    state = ClusterState()
    state.put_node(Node())
    bare = Pod()
    bare.metadata.uid = "u"
    state.add_pod(bare)
    state.remove_node("nobody")
    assert state.remove_pod("nobody") is None
    state.table.refresh()
    assert is_compact(state)
    assert len(state.nodes) == 1
    assert state.pod("u") is bare
    state.remove_node("")
    state.put_node(Node())
    state.remove_pod("u")
    assert state.pod_total == 0
