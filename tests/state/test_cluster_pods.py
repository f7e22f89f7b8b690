"""Pods that are assumed, watched and updated, also on nodes that are gone."""

from __future__ import annotations

import logging

import pytest

from moorage.state.cluster import AssumeError, ClusterState
from moorage.testing import make_node, make_pod
from tests.state.worlds import (
    Document,
    affinity,
    ask,
    described,
    selects,
    term,
)

# Assuming


def test_an_assumed_pod_counts_at_once_and_is_confirmed_by_the_watch() -> None:
    state = ClusterState()
    state.put_node(make_node("n", cpu="4"))
    assumed = state.assume(make_pod("p", cpu="1"), "n")
    info = state.table.by_name["n"]
    assert (info.requested["cpu"], state.is_assumed(assumed.uid)) == (1000, True)
    watched = make_pod("p", cpu="1", node="n")
    state.add_pod(watched)
    assert (info.requested["cpu"], state.is_assumed(assumed.uid)) == (1000, False)
    assert state.pod(watched.uid) is watched
    assert list(info.pods) == [watched]


def test_a_pod_that_is_confirmed_with_other_labels_is_counted_by_these() -> None:
    state = ClusterState()
    state.put_node(make_node("n", cpu="4"))
    in_zone = state.counts.count("zone", lambda pods: int("zone" in pods.labels))
    state.assume(make_pod("p", cpu="1", labels={"app": "a"}), "n")
    assert in_zone[0] == 0
    changes = state.table.usage_changes.end
    watched = make_pod("p", cpu="1", node="n", labels={"app": "a", "zone": "z"})
    state.add_pod(watched)
    assert in_zone[0] == 1
    assert state.table.usage_changes.end == changes, "its labels use nothing up"
    assert (watched.labels, list(state.table.by_name["n"].pods)) == ({"app": "a", "zone": "z"}, [watched])
    state.remove_pod(watched.uid)
    assert (in_zone[0], len(state.counts)) == (0, 0)


def test_the_watched_node_wins_over_the_assumed_one(caplog: pytest.LogCaptureFixture) -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    pod = state.assume(make_pod("p", cpu="1"), "a")
    with caplog.at_level(logging.WARNING):
        state.add_pod(make_pod("p", cpu="1", node="b"))
    assert "was assumed on node a and is on b" in caplog.text
    assert [len(info.pods) for info in state.table] == [0, 1]
    assert not state.is_assumed(pod.uid)


def test_what_cannot_be_assumed_or_forgotten() -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    pod = make_pod("p", uid="u")
    state.forget(pod)  # unknown: nothing happens
    state.assume(pod, "a")
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) is in the cache, so can't be assumed$"):
        state.assume(pod, "b")
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) was assumed on b but assigned to a$"):
        state.forget(make_pod("p", uid="u", node="b"))
    state.add_pod(make_pod("p", uid="u", node="a"))
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) wasn't assumed so cannot be forgotten$"):
        state.forget(make_pod("p", uid="u", node="a"))
    nameless = make_pod("q")
    nameless.metadata.uid = ""
    with pytest.raises(AssumeError, match="has no uid"):
        state.assume(nameless, "a")


def test_pods_without_a_uid_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The key of a pod is its uid: two pods without one would stand for each other."""
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in ("p", "q"):
        pod = make_pod(name, node="n")
        pod.metadata.uid = ""
        state.add_pod(pod)
    assert state.pod_total == 0
    assert "pod default/p has no uid and is left out" in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"labels": {"app": "b"}},
        {"priority": 7},
        {"cpu": "2"},
        {"status": {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}},
        {"resources": {"requests": {"cpu": "5"}}},
        {"overhead": {"cpu": "1"}},
        {"affinity": affinity(far=[term("kubernetes.io/hostname", selects({"app": "a"}))])},
        {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}},
    ],
)
def test_an_update_leaves_what_the_new_version_alone_would(change: Document) -> None:
    before: Document = {"node": "n", "cpu": "1", "labels": {"app": "a"}}
    updated, fresh = ClusterState(), ClusterState()
    for state in (updated, fresh):
        state.put_node(make_node("n"))
    described(updated)
    updated.add_pod(make_pod("p", **before))
    newer = make_pod("p", **{**before, **change})
    updated.add_pod(newer)
    fresh.add_pod(newer)
    assert described(updated) == described(fresh)
    assert updated.pod(newer.uid) is newer


# Ghosts


def test_a_ghost_is_seen_by_nobody_and_vanishes_with_its_last_pod() -> None:
    state = ClusterState()
    state.add_pod(make_pod("p", node="gone", cpu="1"))
    assert (state.ghost_count, len(state.nodes), state.node("gone")) == (1, 0, None)
    assert ask(state, "affinity") == {}
    state.remove_pod("pod-default-p")
    assert state.ghost_count == 0


def test_a_node_that_comes_back_has_its_pods_again() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("p", node="n", cpu="1", labels={"app": "a"}))
    state.remove_node("n")
    assert (state.ghost_count, len(state.nodes)) == (1, 0)
    state.add_pod(make_pod("q", node="n", cpu="2", labels={"app": "a"}))
    state.put_node(make_node("n"))
    info = state.table.by_name["n"]
    assert (info.requested["cpu"], len(info.pods), state.ghost_count) == (3000, 2, 0)
    assert ask(state, "affinity") == {"n": 2}
