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
