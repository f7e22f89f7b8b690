"""The gate WorkloadAwarePreemption: room is made for a group as a whole, anywhere in the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from moorage.api.pod_groups import PodGroup
from moorage.testing import make_node, make_pod
from tests.workloads.group_worlds import GANGS, TOPOLOGY, WAITS, GroupWorld, members, pod_group

WHOLE = f"{GANGS},WorkloadAwarePreemption=true"
NOT_ALONE = "preemption: not eligible due to workload aware preemption enabled"


def important(name: str, minimum: int, priority: int = 10, **spec: Any) -> PodGroup:
    group = pod_group(name, minimum)
    group.spec = replace(group.spec, priority=priority, **spec)
    return group


def lows(*nodes: str, **more: Any) -> list[Any]:
    return [make_pod(f"low-{node}", cpu="1", nodeName=node, **more) for node in nodes]


def test_only_those_go_that_have_to() -> None:
    world = GroupWorld([make_node(f"n{place}", cpu="1") for place in range(4)], WHOLE)
    world.run(*lows("n0", "n1", "n2"))
    world.run(important("g", 3), *members("g", 3, cpu="1"))
    assert world.told("g") == ("False", "Unschedulable", "pod group is unschedulable")
    assert world.assumed() == []
    left = [name for name in world.run() if name.startswith("low")]
    assert len(left) == 1
    assert len([name for name in world.run() if name.startswith("g-")]) == 3
    assert world.told("g") == ("True", "Scheduled", "")


def test_nobody_goes_if_the_group_does_not_fit_then() -> None:
    world = GroupWorld([make_node("n", cpu="1")], WHOLE)
    world.run(*lows("n"))
    assert world.run(important("g", 2), *members("g", 2, cpu="1")) == {"low-n": "n"}
    told = "pod group is unschedulable, pod group is unschedulable"
    assert world.told("g") == ("False", "Unschedulable", told)
    assert world.why("g-0").endswith(NOT_ALONE)


@pytest.mark.parametrize(
    ("group", "more", "told"),
    [
        (important("g", 2, 0), {}, "No preemption victims found for incoming preemptor"),
        (
            important("g", 2),
            {"preemptionPolicy": "Never"},
            "not eligible due to preemptionPolicy=Never.",
        ),
    ],
)
def test_when_nobody_is_asked(group: PodGroup, more: dict[str, Any], told: str) -> None:
    world = GroupWorld([make_node("n", cpu="2")], WHOLE)
    world.run(*lows("n"))
    assert world.run(group, *members("g", 2, cpu="1", **more)) == {"low-n": "n"}
    assert world.told("g")[2] == f"pod group is unschedulable, {told}"
    assert WAITS in {world.why("g-0"), world.why("g-1")}


def test_groups_with_constraints_are_left_out() -> None:
    world = GroupWorld(
        [make_node("n", cpu="1", labels={"rack": "a"})], f"{TOPOLOGY},WorkloadAwarePreemption=true"
    )
    world.run(*lows("n"))
    group = pod_group("g", 1, "rack")
    group.spec = replace(group.spec, priority=10)
    assert world.run(group, *members("g", 1, cpu="1")) == {"low-n": "n"}
    assert world.told("g")[2] == (
        "0/1 placements are available, first placement status: pod group is unschedulable, "
        "workload aware preemption is not supported for pod groups with scheduling constraints"
    )


@pytest.mark.parametrize(("mode", "left"), [("PodGroup", 0), ("Pod", 1)])
def test_a_group_goes_as_a_whole_if_it_says_so(mode: str, left: int) -> None:
    world = GroupWorld([make_node("n0", cpu="1"), make_node("n1", cpu="1")], WHOLE)
    victim = important("v", 1, -5, disruption_mode=mode)
    world.run(victim, *members("v", 2, cpu="1", priority=-5))
    world.run(important("g", 1), *members("g", 1, cpu="1"))
    assert len([name for name in world.run() if name.startswith("v-")]) == left


def test_the_least_important_go_first() -> None:
    world = GroupWorld([make_node("n0", cpu="1"), make_node("n1", cpu="1")], WHOLE)
    world.run(*lows("n0", priority=5), *lows("n1", priority=1))
    world.run(important("g", 1), *members("g", 1, cpu="1"))
    assert "low-n0" in world.run()
    assert world.run()["g-0"] == "n1"
