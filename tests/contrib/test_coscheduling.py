"""Coscheduling: what a group needs before it is tried, its place in the queue, and what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.contrib.coscheduling.coscheduling import Coscheduling, CoschedulingArgs
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.queued_pod import QueuedPod
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import GangWorld, members, pod_group


def plugin_of(world: GangWorld) -> Coscheduling:
    found = world.scheduler.profiles["default-scheduler"].gangs
    assert isinstance(found, Coscheduling)
    return found


# What has to be free


def three_cpus(labels: dict[str, str] | None = None) -> tuple[GangWorld, list[Pod]]:
    """Two nodes of 3 cpus, of which 2 and 1 are taken."""
    world = GangWorld([make_node("node-a", cpu="3"), make_node("node-b", cpu="3")])
    taken = [
        make_pod("p1", cpu="2", nodeName="node-a", labels=labels or {}),
        make_pod("p2", cpu="1", nodeName="node-b"),
    ]
    world.add(*taken)
    return world, taken


@pytest.mark.parametrize("change", ["a pod goes", "a node comes"])
def test_a_group_waits_until_the_cluster_has_what_it_needs(change: str) -> None:
    world, taken = three_cpus()
    group = pod_group("pg1", 1, min_resources={"cpu": "4"})
    world.run(group, *members("pg1", 1, cpu="1"))
    assert world.why("pg1-0").startswith("0/2 nodes are available: resource gap: map[cpu:1000m].")
    if change == "a pod goes":
        world.remove(taken[0])
    else:
        world.add(make_node("node-c", cpu="1"))
    assert "pg1-0" in world.run()


def test_a_member_that_another_scheduler_has_placed_may_be_the_last_one() -> None:
    world = GangWorld([make_node("n")])
    world.run(pod_group("g", 2), *members("g", 1))
    assert world.placed == {}
    assert sorted(world.run(*members("g", 1, start=1, nodeName="n"))) == ["g-0", "g-1"]


def test_what_members_take_counts_as_free_for_their_group() -> None:
    labels = members("pg1", 1)[0].labels
    world, _ = three_cpus(labels)
    world.run(pod_group("pg1", 2, min_resources={"cpu": "4"}), *members("pg1", 1, cpu="1"))
    assert "pg1-0" in world.placed


def test_an_amount_that_cannot_be_read_is_told() -> None:
    world = GangWorld([make_node("n")])
    world.run(pod_group("g", 1, min_resources={"cpu": "many"}), *members("g", 1))
    assert "podGroup default/g: spec.minResources: cpu: " in world.why("g-0")


# The order of the queue


def place(world: GangWorld, pod: Pod, tried: float = 1e9) -> Any:
    queued = QueuedPod(pod, tried)
    queued.first_attempt_time = tried
    return plugin_of(world).sort_key(queued)


def test_groups_go_by_priority_then_age_then_name() -> None:
    world = GangWorld()
    world.add(pod_group("old", 1, created="2001-01-01T00:00:00Z"))
    world.add(pod_group("new", 1, created="2002-01-01T00:00:00Z"))
    [old], [new], [late] = members("old", 1), members("new", 1), members("old", 1, start=7)
    important = make_pod("important", priority=5)
    alone = make_pod("alone")
    pods = [alone, new, late, old, important]
    ordered = sorted(pods, key=lambda pod: place(world, pod, tried=2e9))
    assert [pod.name for pod in ordered] == ["important", "old-0", "old-7", "new-0", "alone"]


def test_a_group_that_failed_is_behind_a_younger_one_until_it_is_placed_or_some_time_has_passed() -> None:
    world = GangWorld()
    world.add(pod_group("old", 1, created="2001-01-01T00:00:00Z"))
    world.add(pod_group("new", 1, created="2002-01-01T00:00:00Z"))
    [old], [new] = members("old", 1), members("new", 1)
    plugin = plugin_of(world)
    gang = plugin.gang_of(old)
    assert gang is not None
    plugin.gang_tried(gang, is_placed=False)
    assert place(world, new) < place(world, old)
    plugin.gang_tried(gang, is_placed=True)
    assert place(world, old) < place(world, new)
    plugin.gang_tried(gang, is_placed=False)
    world.simulation._now += 121
    assert place(world, old) < place(world, new)


def test_what_is_known_of_a_group_goes_with_it() -> None:
    world = GangWorld()
    group = pod_group("g", 1, created="2001-01-01T00:00:00Z")
    world.add(group)
    [pod] = members("g", 1)
    before = place(world, pod)
    plugin = plugin_of(world)
    gang = plugin.gang_of(pod)
    assert gang is not None
    plugin.gang_tried(gang, is_placed=False)
    world.remove(group)
    world.add(group)
    assert place(world, pod) == before


# A group that goes, and one that is to wait


def test_a_group_that_is_deleted_leaves_its_pods_waiting() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    group = pod_group("g", 2)
    world.run(group, *members("g", 2, cpu="1"))
    assert world.placed == {}
    world.remove(group)
    world.run(make_node("m", cpu="1"))
    assert world.placed == {}
    assert world.why("g-0") == "0/1 nodes are available: 1 PodGroup not found."


def test_a_group_backs_off_for_as_long_as_it_is_told_to() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    plugin = plugin_of(world)
    plugin.args.pod_group_backoff_seconds = 100
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    world.run(make_node("m", cpu="1"))
    assert world.placed == {}
    assert world.why("g-0").startswith("0/2 nodes are available: podGroup default/g failed recently.")
    world.simulation._now += 100
    plugin.end_backoffs()
    assert len(world.run()) == 2


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            {"permit_waiting_time_seconds": -1},
            "permitWaitingTimeSeconds: Invalid value: -1: must be greater than 0",
        ),
        (
            {"pod_group_backoff_seconds": -2},
            "podGroupBackoffSeconds: Invalid value: -2: must be greater than 0",
        ),
        (
            {"pod_group_reject_percentage": 101},
            "podGroupRejectPercentage: Invalid value: 101: must be between 0",
        ),
    ],
)
def test_args_out_of_range_are_refused(args: dict[str, int], problem: str) -> None:
    handle = plugin_of(GangWorld()).handle
    with pytest.raises(PluginLoadError, match=problem):
        Coscheduling(CoschedulingArgs(**args), handle)


def test_args_at_the_edge_are_taken() -> None:
    handle = plugin_of(GangWorld()).handle
    Coscheduling(
        CoschedulingArgs(
            permit_waiting_time_seconds=0, pod_group_backoff_seconds=0, pod_group_reject_percentage=0
        ),
        handle,
    )
