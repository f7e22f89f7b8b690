"""PodGroups that have to stay in one domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from moorage.api.nodes import Node
from moorage.config.args import ResourceSpec
from moorage.framework.placements import PlacedGroup, Placement
from moorage.plugins.workloads.fullness import fullness
from moorage.testing import make_node, make_pod
from tests.workloads.group_worlds import GANGS, TOPOLOGY, WAITS, GroupWorld, members, pod_group

RACK = "example.com/rack"


def racks(**sizes: int) -> Iterator[Node]:
    """So many nodes for two pods in each rack."""
    for rack, size in sizes.items():
        for number in range(size):
            yield make_node(f"{rack}-{number}", cpu="2", labels={RACK: rack})


def test_a_gang_stays_in_one_rack() -> None:
    world = GroupWorld(racks(a=1, b=2), TOPOLOGY)
    placed = world.run(pod_group("g", 4, RACK), *members("g", 4, cpu="1"))
    assert Counter(placed.values()) == {"b-0": 2, "b-1": 2}
    assert world.told("g") == ("True", "Scheduled", "")


def test_a_gang_that_fits_in_no_rack_waits() -> None:
    world = GroupWorld([*racks(a=1, b=1), make_node("none", cpu="9")], TOPOLOGY)
    assert world.run(pod_group("g", 3, RACK), *members("g", 3, cpu="1")) == {}
    assert world.assumed() == []
    told = "0/2 placements are available, first placement status: pod group is unschedulable"
    assert world.told("g") == ("False", "Unschedulable", told)
    assert world.why("g-0") == WAITS
    assert world.why("g-2") == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to placement-based pod group scheduling limitation"
    )
    assert len(world.run(*racks(c=2))) == 3


def test_a_label_that_no_node_has() -> None:
    world = GroupWorld([make_node("n")], TOPOLOGY)
    assert world.run(pod_group("g", 1, RACK), *members("g", 1)) == {}
    assert world.why("g-0") == "no feasible placements found"
    assert world.told("g") == ("False", "Unschedulable", "no feasible placements found")


def test_of_several_racks_the_one_with_most_pods_wins() -> None:
    world = GroupWorld(racks(a=1, b=2, c=1), TOPOLOGY)
    placed = world.run(pod_group("g", 2, RACK), *members("g", 4, cpu="1"))
    assert Counter(placed.values()) == {"b-0": 2, "b-1": 2}


def test_of_racks_with_as_many_pods_the_fullest_wins() -> None:
    for _ in range(10):
        world = GroupWorld(racks(a=2, b=1, c=3), TOPOLOGY)
        placed = world.run(pod_group("g", 2, RACK), *members("g", 2, cpu="1"))
        assert set(placed.values()) == {"b-0"}


def test_a_placement_is_scored_by_what_all_its_nodes_have_together() -> None:
    world = GroupWorld(racks(a=2), TOPOLOGY)
    world.run(make_pod("other", cpu="1", memory="4Gi", nodeName="a-0"))
    [pod] = members("g", 1, cpu="1", memory="4Gi", requests={"example.com/absent": 1})
    group = PlacedGroup("default/g", Placement("a", frozenset(("a-0", "a-1"))), [(pod, "a-1")])
    resources = [ResourceSpec("cpu", 1), ResourceSpec("memory", 1), ResourceSpec("example.com/absent", 9)]
    # Half of four cores, a quarter of 32Gi
    assert fullness(world.scheduler.state.table, resources, group) == (50 + 25) // 2


def test_a_member_that_comes_later_goes_where_the_others_are() -> None:
    world = GroupWorld(racks(a=2, b=2), TOPOLOGY)
    rack = {node[0] for node in world.run(pod_group("g", 2, RACK), *members("g", 2, cpu="1")).values()}
    assert {node[0] for node in world.run(*members("g", 2, start=2, cpu="1")).values()} == rack


def test_members_in_two_racks_cannot_be_joined() -> None:
    world = GroupWorld(racks(a=1, b=1), TOPOLOGY)
    here, there = members("g", 1, nodeName="a-0"), members("g", 1, start=1, nodeName="b-0")
    world.run(pod_group("g", 1, RACK), *here, *there, *members("g", 1, start=2))
    told = "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b"
    assert world.why("g-2") == told
    assert world.told("g") == ("False", "SchedulerError", told)


def test_without_a_constraint_a_group_goes_anywhere() -> None:
    world = GroupWorld(racks(a=1, b=1), TOPOLOGY)
    assert len(world.run(pod_group("g", 4), *members("g", 4, cpu="1"))) == 4


def test_without_the_gate_a_constraint_counts_for_nothing() -> None:
    world = GroupWorld(racks(a=1, b=1), GANGS)
    assert len(world.run(pod_group("g", 4, RACK), *members("g", 4, cpu="1"))) == 4


@pytest.mark.parametrize("minimum", [0, 1])
def test_equal_racks_are_chosen_at_random(minimum: int) -> None:
    chosen = set()
    for _ in range(40):
        world = GroupWorld(racks(a=1, b=1), TOPOLOGY)
        chosen |= set(world.run(pod_group("g", minimum, RACK), *members("g", 2, cpu="1")).values())
        if len(chosen) == 2:
            return
    raise AssertionError(f"always {chosen}")
