"""Gangs in one rack: those that grow, and those for which there is room in a rack if others go."""

from __future__ import annotations

import pytest

from moorage.contrib.coscheduling.pod_groups import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import RACK, GangWorld, members, pod_group, racks
from tests.contrib.quota_cases import quota


def racks_of(placed: dict[str, str]) -> set[str]:
    return {node.split("-")[0] for name, node in placed.items() if name.startswith("g-")}


def test_members_that_come_later_stay_in_the_rack_or_wait() -> None:
    world = GangWorld(racks({"a": 1, "b": 2}))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="1"))
    placed = world.run(*members("g", 3, start=2, cpu="1"))
    assert (len(placed), racks_of(placed)) == (4, {"a"})
    [waiting] = {f"g-{place}" for place in range(5)} - placed.keys()
    assert world.why(waiting).startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Coscheduling]. "
    )
    assert len(world.run(make_node("a-1", cpu="1", labels={RACK: "a"}))) == 5


def test_members_beyond_the_minimum_stay_in_the_rack_or_wait() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    placed = world.run(group, *members("g", 3, cpu="2"))
    assert len(placed) == 2
    assert len(racks_of(placed)) == 1


def test_of_racks_that_are_large_enough_that_for_all_members_comes_first() -> None:
    world = GangWorld(racks({"small": 1, "larger": 2, "largest": 3}))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    placed = world.run(group, *members("g", 4, cpu="2"))
    assert (len(placed), racks_of(placed)) == (4, {"larger"})


def test_where_no_rack_is_for_all_members_that_for_most_counts() -> None:
    world = GangWorld(racks({"small": 1, "larger": 2}))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    placed = world.run(group, *members("g", 6, cpu="2"))
    assert (len(placed), racks_of(placed)) == (4, {"larger"})


@pytest.mark.parametrize(("size", "expected"), [(1, {"a"}), (3, {"a", "b"})])
def test_members_that_would_rather_be_near_the_others(size: int, expected: set[str]) -> None:
    world = GangWorld(racks({"a": 1, "b": 3}))
    group = pod_group("g", 2, annotations={PREFERRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="1"))
    placed = world.run(*members("g", size, start=2, cpu="1"))
    assert (len(placed), racks_of(placed)) == (2 + size, expected)


def full_of_lesser(rack: str, cpus: int = 4) -> list[object]:
    return [make_pod(f"{rack}-low-{place}", cpu="1", nodeName=f"{rack}-0") for place in range(cpus)]


def test_room_is_made_in_the_rack_where_that_is_possible() -> None:
    """In the first one more members fit, but who is there is more important."""
    world = GangWorld(racks({"a": 1, "b": 1}))
    world.run(make_pod("important", cpu="3", priority=20, nodeName="a-0"), *full_of_lesser("b"))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="1", priority=10))
    placed = world.run()
    assert (racks_of(placed), len([name for name in placed if "low" in name])) == ({"b"}, 2)


def test_nobody_goes_where_no_rack_is_large_enough() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    world.run(make_pod("important", cpu="3", priority=20, nodeName="a-0"), *full_of_lesser("b"))
    group = pod_group("g", 5, annotations={REQUIRED_TOPOLOGY: RACK})
    placed = world.run(group, *members("g", 5, cpu="1", priority=10))
    assert (racks_of(placed), len(placed)) == (set(), 5)
    assert "1 of 5 members fit on nodes with example.com/rack=a" in world.why("g-0")


def test_while_room_is_made_in_one_rack_nobody_goes_in_another() -> None:
    world = GangWorld(racks({"a": 1, "b": 1, "c": 1}))
    world.linger()
    important = make_pod("important", cpu="3", priority=20, nodeName="a-0")
    world.run(important, *full_of_lesser("b"), *full_of_lesser("c"))
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="1", priority=10))
    going = world.going()
    assert len(going) == 2
    for _ in range(3):
        world.try_all()
        assert world.going() == going
        assert world.why("g-0") == "pod group is waiting for preemption to complete"
    world.let_go()
    assert racks_of(world.run()) == {going[0].split("-")[0]}


def test_what_was_borrowed_is_taken_back_in_the_rack_where_that_is_possible() -> None:
    """Whatever the priorities; in the first rack more members fit, but nobody there has borrowed."""
    world = GangWorld(racks({"a": 1, "b": 1}), plugins=("Coscheduling", "CapacityScheduling"))
    world.add(quota("default", {"cpu": 4}, {"cpu": 8}), quota("team", {"cpu": 1}, {"cpu": 8}))
    others = [make_pod(f"other-{place}", cpu="1", nodeName="a-0", namespace="free") for place in range(3)]
    borrowers = [make_pod(f"b-{place}", cpu="1", nodeName="b-0", namespace="team") for place in range(4)]
    world.run(*others, *borrowers)
    group = pod_group("g", 2, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 2, cpu="1"))
    placed = world.run()
    assert (racks_of(placed), len([name for name in placed if name.startswith("b-")])) == ({"b"}, 2)


def test_a_member_for_which_room_was_made_elsewhere_goes_where_the_others_are() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    group = pod_group("g", 1, annotations={REQUIRED_TOPOLOGY: RACK})
    world.run(group, *members("g", 1, cpu="1", nodeName="a-0"))
    nominated = members("g", 1, start=1, cpu="1", status={"nominatedNodeName": "b-0"})
    assert racks_of(world.run(*nominated)) == {"a"}
