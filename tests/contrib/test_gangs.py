"""Gangs are placed in one step, enough members or none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from moorage.api.pods import Pod
from moorage.contrib.coscheduling.pod_groups import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import RACK, GangWorld, members, pod_group, racks

NO_VICTIMS = (
    "no new claims to deallocate, preemption: "
    "0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


def test_a_gang_that_fits_is_placed_whole() -> None:
    world = GangWorld([make_node(f"n{place}", cpu="2") for place in range(2)])
    placed = world.run(pod_group("g", 4), *members("g", 4, cpu="1"))
    assert sorted(placed) == ["g-0", "g-1", "g-2", "g-3"]
    assert sorted(placed.values()) == ["n0", "n0", "n1", "n1"]


def test_a_gang_that_does_not_fit_holds_nothing() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    assert world.run(pod_group("g", 4), *members("g", 4, cpu="1")) == {}
    assert world.assumed() == []
    assert world.run(make_pod("other", cpu="3")) == {"other": "n"}
    why = (
        "pod group default/g: 3 of 4 members fit; default/g-3 does not: "
        f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"
    )
    assert {world.why(f"g-{place}") for place in range(4)} == {why}


def test_a_gang_that_waits_is_tried_whole_when_there_is_room() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    world.run(pod_group("g", 4), *members("g", 4, cpu="1"))
    assert len(world.run(make_node("m", cpu="1"))) == 4


def test_more_members_than_needed_fit_as_far_as_there_is_room() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    placed = world.run(pod_group("g", 2), *members("g", 4, cpu="1"))
    assert sorted(placed) == ["g-0", "g-1", "g-2"]
    assert world.why("g-3") == (f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}")


def test_members_that_come_later_are_placed_one_by_one() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    assert sorted(world.run(*members("g", 2, start=2, cpu="1"))) == ["g-0", "g-1", "g-2"]


def test_a_member_that_is_missing_keeps_the_others_waiting() -> None:
    world = GangWorld([make_node("n")])
    assert world.run(pod_group("g", 3), *members("g", 2)) == {}
    assert world.why("g-1") == (
        "0/1 nodes are available: pre-filter pod g-1 cannot find enough sibling pods, "
        "current pods number: 2, minMember of group: 3."
    )
    assert len(world.run(*members("g", 1, start=2))) == 3


def test_pods_of_a_group_that_does_not_exist_wait_for_it() -> None:
    world = GangWorld([make_node("n")])
    assert world.run(*members("g", 2)) == {}
    assert world.why("g-0") == "0/1 nodes are available: 1 PodGroup not found."
    assert len(world.run(pod_group("g", 2))) == 2


def test_nobody_goes_for_pods_of_a_group_that_does_not_exist() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    world.run(make_pod("low", cpu="1"))
    assert world.try_all(*members("g", 1, cpu="1", priority=10)) == {"low": "n"}
    assert world.why("g-0") == "0/1 nodes are available: 1 Insufficient cpu."


def test_members_that_cannot_be_tried_are_named() -> None:
    world = GangWorld([make_node("n")])
    world.run(pod_group("g", 3), *members("g", 2), *members("g", 1, start=2, schedulerName="another"))
    assert world.why("g-0") == (
        "pod group default/g: 2 of 3 members fit; "
        "default/g-2 is for the scheduler 'another', not 'default-scheduler'"
    )


@pytest.mark.parametrize("minimum", [None, 0, -1])
def test_a_group_that_asks_for_nothing_lets_each_pod_go_its_way(minimum: int | None) -> None:
    world = GangWorld([make_node("n", cpu="1")])
    assert len(world.run(pod_group("g", minimum), *members("g", 2, cpu="1"))) == 1


def test_groups_of_one_name_in_two_namespaces_are_two() -> None:
    world = GangWorld([make_node("n")])
    here, there = pod_group("g", 2), pod_group("g", 2, namespace="other")
    placed = world.run(here, there, *members("g", 2), *members("g", 1, start=5, namespace="other"))
    assert sorted(placed) == ["g-0", "g-1"]


def test_two_gangs_that_do_not_fit_together_do_not_starve_each_other() -> None:
    world = GangWorld([make_node("n", cpu="4")])
    first, second = members("a", 3, cpu="1"), members("b", 3, cpu="1")
    mixed = [pod for pair in zip(first, second, strict=True) for pod in pair]
    placed = world.run(pod_group("a", 3), pod_group("b", 3), *mixed)
    assert sorted(placed) in (["a-0", "a-1", "a-2"], ["b-0", "b-1", "b-2"])
    bound = [world.simulation.client.pods[f"default/{name}"] for name in placed]
    world.remove(*bound)
    assert sorted({*world.run(), *placed}) == ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"]


def test_a_group_larger_than_the_cluster_waits_with_one_reason() -> None:
    world = GangWorld([make_node("n", cpu="2")])
    assert world.run(pod_group("g", 2_000_000), *members("g", 3, cpu="1")) == {}
    assert "current pods number: 3, minMember of group: 2000000" in world.why("g-0")


def test_gated_members_hold_the_group_back_only_if_they_are_needed() -> None:
    for minimum, fitting in ((2, 2), (3, 0)):
        world = GangWorld([make_node("n")])
        gated = members("g", 2, start=2, schedulingGates=[{"name": "wait"}])
        assert len(world.run(pod_group("g", minimum), *members("g", 2), *gated)) == fitting
        if not fitting:
            assert "cannot proceed due to gated pods in the same PodGroup" in world.why("g-0")


# One rack


def test_a_gang_stays_in_one_rack_the_one_that_is_just_large_enough() -> None:
    world = GangWorld(racks({"small": 1, "right": 2, "large": 4}))
    group = pod_group("g", 4, annotations={REQUIRED_TOPOLOGY: RACK})
    placed = world.run(group, *members("g", 4, cpu="2"))
    assert sorted(placed.values()) == ["right-0", "right-0", "right-1", "right-1"]


def test_a_gang_that_must_stay_in_one_rack_waits_for_one() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    group = pod_group("g", 3, annotations={REQUIRED_TOPOLOGY: RACK})
    assert world.run(group, *members("g", 3, cpu="2")) == {}
    assert world.why("g-0") == (
        "pod group default/g: 2 of 3 members fit on nodes with example.com/rack=b; default/g-2 does not: "
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [Coscheduling]. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )
    assert world.assumed() == []
    assert len(world.run(make_node("c", cpu="6", labels={RACK: "c"}))) == 3


def test_a_gang_that_would_rather_stay_together_is_spread_if_it_has_to() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    group = pod_group("g", 3, annotations={PREFERRED_TOPOLOGY: RACK})
    assert len(world.run(group, *members("g", 3, cpu="2"))) == 3


def test_a_member_that_comes_back_goes_where_the_others_are() -> None:
    world = GangWorld(racks({"a": 1, "b": 2}))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="2"))
    pods = world.simulation.client.pods
    lost = pods["default/g-1"]
    kept = pods["default/g-0"].spec.node_name
    world.remove(lost)
    placed = world.run(*members("g", 1, start=2, cpu="1"))
    assert placed["g-2"].split("-")[0] == kept.split("-")[0]


# Making room


def test_others_go_only_if_the_whole_gang_fits_then() -> None:
    for needed, going in ((2, 2), (3, 0)):
        world = GangWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
        world.run(*(make_pod(f"low-{place}", cpu="1") for place in range(2)))
        gang = members("g", needed, cpu="1", priority=10)
        placed = world.run(pod_group("g", needed), *gang)
        assert len([name for name in placed if name.startswith("low")]) == 2 - going
        assert world.assumed() == []
        if going:
            assert len([name for name in world.run() if name.startswith("g-")]) == 2


def test_a_gang_waits_on_the_nodes_on_which_room_is_made() -> None:
    world = GangWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    world.run(make_pod("low", cpu="1", nodeName="full"))
    deleted: list[str] = []
    world.simulation.client.delete_pod = _noting(deleted)  # type: ignore[assignment]
    world.run(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    assert deleted == ["low"]
    pods = world.simulation.client.pods
    waiting = [pods[f"default/g-{place}"] for place in range(2)]
    assert sorted(pod.status.nominated_node_name for pod in waiting) == ["free", "full"]
    assert world.why("g-0") == "pod group is waiting for preemption to complete"
    assert "other" not in world.run(make_pod("other", cpu="1"))


def test_nobody_goes_for_members_that_are_not_there() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    world.run(make_pod("low", cpu="1"))
    assert world.run(pod_group("g", 2), *members("g", 1, cpu="1", priority=10)) == {"low": "n"}


def test_a_gang_that_may_not_preempt_does_not() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    world.run(make_pod("low", cpu="1"))
    gang = members("g", 1, cpu="1", priority=10, preemptionPolicy="Never")
    assert world.run(pod_group("g", 1), *gang) == {"low": "n"}


def _noting(deleted: list[str]) -> Callable[[Pod], Awaitable[None]]:
    async def delete_pod(pod: Pod) -> None:
        deleted.append(pod.name)

    return delete_pod


def test_what_a_controller_writes_down_is_no_reason_to_try_again() -> None:
    world = GangWorld([make_node("n", cpu="1")])
    group = pod_group("g", 2)
    world.run(group, *members("g", 2, cpu="1"))
    queued = world.scheduler.queue.get(world.simulation.client.pods["default/g-0"])
    assert queued is not None
    tries = queued.attempts
    counted = pod_group("g", 2)
    counted.status.phase = "Scheduling"
    world.run(counted)
    assert queued.attempts == tries
    world.run(pod_group("g", 1))
    assert len(world.placed) == 1


@pytest.mark.parametrize("topology", ["", REQUIRED_TOPOLOGY])
def test_those_who_come_for_a_gang_that_ends_are_a_gang_of_their_own(topology: str) -> None:
    """A Job makes new pods as soon as the old ones are told to go; these keep their nodes for a while."""
    world = GangWorld(racks({"a": 1}, cpu="2"))
    world.linger()
    group = pod_group("g", 2, annotations={topology: RACK} if topology else {})
    world.run(group, *members("g", 2, cpu="1"))
    world.run(make_pod("high", cpu="2", priority=10))
    assert world.going() == ["g-0", "g-1"]
    placed = world.try_all(make_node("b-0", cpu="1", labels={RACK: "b"}), *members("g", 2, start=2, cpu="1"))
    assert sorted(placed) == ["g-0", "g-1"]
    assert world.why("g-2").startswith("pod group default/g: 1 of 2 members fit")
    world.add(make_node("b-1", cpu="1", labels={RACK: "b"}))
    assert sorted(world.try_all()) == ["g-0", "g-1", "g-2", "g-3"]


def test_members_that_end_are_not_among_those_that_are_needed() -> None:
    world = GangWorld([make_node("n")])
    world.linger()
    world.run(pod_group("g", 2), *members("g", 2))
    world.simulation.client.delete_pod(world.simulation.client.pods["default/g-0"])
    world.simulation.client.delete_pod(world.simulation.client.pods["default/g-1"])
    assert sorted(world.try_all(*members("g", 1, start=2))) == ["g-0", "g-1"]
    assert "current pods number: 1, minMember of group: 2" in world.why("g-2")
