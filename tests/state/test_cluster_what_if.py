"""Trying out on one node leaves no trace."""

from __future__ import annotations

import pytest

from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod


def test_what_if_keeps_the_order_of_the_pods_even_if_something_raises() -> None:
    """The order of pods decides among victims that nothing else tells apart."""
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in "abc":
        state.add_pod(make_pod(name, node="n", cpu="1"))
    info = state.table.by_name["n"]
    with pytest.raises(ZeroDivisionError), state.what_if(info) as trial:
        for pod_info in list(info.pod_infos):
            trial.remove(pod_info)
        assert not info.pods and not info.requested
        raise ZeroDivisionError
    assert [pod.name for pod in info.pods] == ["a", "b", "c"]
    assert [pod_info.pod.name for pod_info in info.pod_infos] == ["a", "b", "c"]
    assert info.requested["cpu"] == 3000


def test_what_if_inside_what_if() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("a", node="n", cpu="1"))
    info = state.table.by_name["n"]
    (only,) = info.pod_infos
    with state.what_if(info) as outer:
        outer.remove(only)
        with state.what_if(info) as inner:
            inner.add(state.pod_info(make_pod("b", cpu="2")))
            assert info.requested["cpu"] == 2000
        assert (info.requested, list(info.pods)) == ({}, [])
    assert info.requested["cpu"] == 1000


def test_what_if_again_is_about_the_node_as_it_is_then() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    info = state.table.by_name["n"]
    trial = state.what_if(info)
    with trial:
        trial.add(state.pod_info(make_pod("x", cpu="1")))
    state.add_pod(make_pod("a", node="n", cpu="2"))
    with trial, pytest.raises(RuntimeError, match="<Trial on node n> has not ended and cannot begin again"):
        trial.__enter__()
    assert ([pod.name for pod in info.pods], info.requested["cpu"]) == (["a"], 2000)


def test_an_outer_what_if_takes_the_inner_ones_along() -> None:
    """As when a generator with an inner one is not run to its end."""
    state = ClusterState()
    state.put_node(make_node("n"))
    info = state.table.by_name["n"]
    inner = state.what_if(info)
    with state.what_if(info) as outer:
        inner.__enter__()
        inner.add(state.pod_info(make_pod("x", cpu="1")))
    assert not inner.is_open and not outer.is_open
    inner.__exit__(None, None, None)
    assert not info.pods and not info.requested and not state.trials


def test_what_changes_the_cluster_ends_a_what_if_that_was_left_open(caplog: pytest.LogCaptureFixture) -> None:
    """A plugin awaited in its block: what comes now must be counted on the node as it is."""
    state = ClusterState()
    state.put_node(make_node("n"))
    info = state.table.by_name["n"]
    left = state.what_if(info)
    left.__enter__()
    left.add(state.pod_info(make_pod("x", cpu="1")))
    state.add_pod(make_pod("a", node="n", cpu="2"))
    assert ([pod.name for pod in info.pods], info.requested["cpu"]) == (["a"], 2000)
    assert "a plugin left a what-if open" in caplog.text
