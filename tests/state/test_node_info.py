from __future__ import annotations

from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod


def test_what_a_plugin_sees_of_a_node() -> None:
    state = ClusterState()
    state.put_node(
        make_node(
            "n",
            labels={"tier": "front"},
            annotations={"note": "x"},
            taints=["a=b:NoSchedule"],
            images={"image": 5},
            allocatable={"example.com/gpu": 2},
        )
    )
    state.add_pod(make_pod("p", node="n", cpu="100m"))
    state.add_pod(make_pod("q", node="n", requests={"example.com/gpu": 1}))
    info = state.node("n")
    assert info is not None and info.exists
    assert info.labels == {"kubernetes.io/hostname": "n", "tier": "front"}
    assert info.annotations == {"note": "x"}
    assert [taint.key for taint in info.taints] == ["a"]
    assert info.allocatable == {"cpu": 4000, "memory": 16 * 2**30, "pods": 110, "example.com/gpu": 2}
    assert info.requested == {"cpu": 100, "example.com/gpu": 1}
    assert info.nonzero_requested == {"cpu": 200, "memory": 2 * 200 * 2**20}
    assert info.requested["nobody/asks"] == 0
    assert [pod.name for pod in info.pods] == ["p", "q"]
    assert set(info.images) == {"image"}
    assert repr(info) == "<NodeInfo n with 2 pods>"


def test_a_ghost_has_nothing_but_pods() -> None:
    state = ClusterState()
    state.add_pod(make_pod("p", node="n", cpu="1"))
    info = state._ghosts["n"]
    assert not info.exists
    assert (info.requested, info.allocatable, info.labels) == ({}, {}, {})
    assert [pod.name for pod in info.pods] == ["p"]


def test_removal_takes_away_exactly_what_was_added() -> None:
    """What a pod asked for is computed when it is placed: the object changing afterwards does not count."""
    state = ClusterState()
    state.put_node(make_node("n"))
    pod = make_pod("p", node="n", cpu="1", labels={"app": "a"})
    state.add_pod(pod)
    pod.metadata.labels = {"app": "other"}
    pod.spec.priority = 50
    pod.spec.containers = ()
    state.remove_pod(pod.uid)
    info = state.node("n")
    assert info is not None
    assert (info.requested, len(state.counts)) == ({}, 0)
