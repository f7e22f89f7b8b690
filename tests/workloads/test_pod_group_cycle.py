"""PodGroups are tried as a whole; a gang gets enough nodes or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_node, make_pod
from tests.workloads.group_worlds import GROUPS, WAITS, GroupWorld, members, pod_group

NO_VICTIMS = (
    "no new claims to deallocate, preemption: "
    "0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
NO_CPU = f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"


def test_a_gang_that_fits_is_placed_whole() -> None:
    world = GroupWorld([make_node("n", cpu="3")])
    placed = world.run(pod_group("g", 3), *members("g", 3, cpu="1"))
    assert placed == dict.fromkeys(("g-0", "g-1", "g-2"), "n")
    assert world.told("g") == ("True", "Scheduled", "")
    condition = world.condition("g")
    assert condition is not None
    assert condition.observed_generation == 1
    assert len(world.scheduler.services.waiting_pods) == 0


def test_a_gang_that_does_not_fit_holds_nothing() -> None:
    world = GroupWorld([make_node("n", cpu="2")])
    assert world.run(pod_group("g", 3), *members("g", 3, cpu="1")) == {}
    assert world.assumed() == []
    assert len(world.scheduler.services.waiting_pods) == 0
    assert [world.why(f"g-{place}") for place in range(3)] == [WAITS, WAITS, NO_CPU]
    assert world.told("g") == ("False", "Unschedulable", "pod group is unschedulable")
    assert world.run(make_pod("other", cpu="2")) == {"other": "n"}


def test_a_gang_that_waits_is_tried_again_after_its_backoff() -> None:
    world = GroupWorld([make_node("n", cpu="2")])
    world.run(pod_group("g", 3), *members("g", 3, cpu="1"))
    assert len(world.run(make_node("m", cpu="1"))) == 3
    assert world.told("g") == ("True", "Scheduled", "")


def test_pods_wait_for_their_group() -> None:
    world = GroupWorld([make_node("n")])
    assert world.run(*members("g", 2)) == {}
    assert world.gated_by("g-0") == "GangScheduling"
    assert world.why("g-0") == ""
    assert len(world.run(pod_group("g", 2))) == 2


def test_pods_of_a_gang_wait_until_enough_exist() -> None:
    world = GroupWorld([make_node("n")])
    assert world.run(pod_group("g", 3), *members("g", 2)) == {}
    assert world.gated_by("g-1") == "GangScheduling"
    assert world.told("g") == ("", "", "")
    assert len(world.run(*members("g", 1, start=2))) == 3


def test_a_pod_of_another_group_does_not_count() -> None:
    world = GroupWorld([make_node("n")])
    world.run(pod_group("g", 2), pod_group("h", 3), *members("g", 1), *members("h", 2))
    elsewhere = pod_group("g", 2, namespace="other")
    assert world.run(elsewhere, *members("g", 1, start=5, namespace="other")) == {}


def test_more_members_than_needed_fit_as_far_as_there_is_room() -> None:
    world = GroupWorld([make_node("n", cpu="3")])
    assert sorted(world.run(pod_group("g", 2), *members("g", 4, cpu="1"))) == ["g-0", "g-1", "g-2"]
    assert world.why("g-3") == NO_CPU
    assert world.told("g") == ("True", "Scheduled", "")


def test_a_group_that_was_scheduled_stays_so() -> None:
    world = GroupWorld([make_node("n", cpu="2")])
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    world.run(*members("g", 1, start=2, cpu="1"))
    assert world.why("g-2") == NO_CPU
    assert world.told("g") == ("True", "Scheduled", "")


def test_a_basic_group_is_scheduled_as_soon_as_one_pod_is() -> None:
    world = GroupWorld([make_node("n", cpu="1")])
    assert world.run(pod_group("g"), *members("g", 2, cpu="1")) == {"g-0": "n"}
    assert world.told("g") == ("True", "Scheduled", "")


def test_a_basic_group_of_which_nothing_fits() -> None:
    world = GroupWorld([make_node("n", cpu="1")])
    assert world.run(pod_group("g"), *members("g", 2, cpu="2")) == {}
    assert world.why("g-1").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert world.told("g") == ("False", "Unschedulable", "pod group is unschedulable")


def test_without_the_gate_for_gangs_every_group_is_basic() -> None:
    world = GroupWorld([make_node("n", cpu="1")], gates=GROUPS)
    assert world.run(pod_group("g", 2), *members("g", 2, cpu="1")) == {"g-0": "n"}
    assert world.told("g") == ("True", "Scheduled", "")


def test_without_gates_a_group_counts_for_nothing() -> None:
    world = GroupWorld([make_node("n", cpu="1")], gates="")
    assert len(world.run(*members("g", 2, cpu="1"))) == 1
    assert "GangScheduling" not in world.scheduler.profiles["default-scheduler"].plugins


def test_the_condition_is_written_once_per_change() -> None:
    world = GroupWorld([make_node("n", cpu="2")])
    world.run(pod_group("g", 3), *members("g", 3, cpu="1"))
    first = world.condition("g")
    world.run()
    assert world.condition("g") is first


def test_pods_of_one_group_have_one_scheduler() -> None:
    profiles = "profiles: [{schedulerName: default-scheduler}, {schedulerName: other}]\n"
    world = GroupWorld([make_node("n")], configuration=DEFAULT_CONFIGURATION + profiles)
    strange = members("g", 1, start=1, scheduler="other")
    assert world.run(pod_group("g", 2), *members("g", 1), *strange) == {}
    told = (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        'got: "other" and "default-scheduler"'
    )
    assert {world.why("g-0"), world.why("g-1")} == {told}
    condition = world.pod("g-1").condition("PodScheduled")
    assert condition is not None
    assert condition.reason == "SchedulerError"
    assert world.told("g") == ("", "", "")


def test_the_more_important_members_come_first() -> None:
    world = GroupWorld([make_node("n", cpu="1")])
    low, high = members("g", 1, cpu="1"), members("g", 1, start=1, cpu="1", priority=5)
    assert world.run(pod_group("g", 1), *low, *high) == {"g-1": "n"}


def test_two_gangs_that_do_not_fit_together() -> None:
    world = GroupWorld([make_node("n", cpu="4")])
    first, second = members("a", 3, cpu="1"), members("b", 3, cpu="1")
    mixed = [pod for pair in zip(first, second, strict=True) for pod in pair]
    placed = world.run(pod_group("a", 3), pod_group("b", 3), *mixed)
    assert len({name[0] for name in placed}) == 1
    assert len(placed) == 3


def test_something_that_breaks_fails_the_whole_group(monkeypatch: pytest.MonkeyPatch) -> None:
    world = GroupWorld([make_node("n")])
    place = world.scheduler.chooser.decide

    def breaks(profile: object, pod: Pod) -> object:
        if pod.name == "g-1":
            raise RuntimeError("no idea")
        return place(profile, pod)  # type: ignore[arg-type]

    monkeypatch.setattr(world.scheduler.chooser, "decide", breaks)
    assert world.run(pod_group("g", 2), *members("g", 3)) == {}
    assert world.assumed() == []
    told = "failed to schedule other pod from a pod group: RuntimeError: no idea"
    assert [world.why(f"g-{place}") for place in range(3)] == [told, "RuntimeError: no idea", told]
    assert world.told("g") == ("False", "SchedulerError", told)


# Making room


@pytest.mark.parametrize(("needed", "going"), [(2, 2), (3, 0)])
def test_others_go_only_if_enough_of_the_gang_fit_then(needed: int, going: int) -> None:
    world = GroupWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
    world.run(*(make_pod(f"low-{place}", cpu="1") for place in range(2)))
    placed = world.run(pod_group("g", needed), *members("g", needed, cpu="1", priority=10))
    assert len([name for name in placed if name.startswith("low")]) == 2 - going
    assert world.assumed() == []
    if going:
        assert len([name for name in world.run() if name.startswith("g-")]) == 2
        assert world.told("g") == ("True", "Scheduled", "")
    else:
        assert world.told("g") == ("False", "Unschedulable", "pod group is unschedulable")
        assert world.why("g-0") == WAITS


def test_a_gang_waits_on_the_nodes_on_which_room_is_made() -> None:
    world = GroupWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    world.run(make_pod("low", cpu="1", nodeName="full"))
    deleted: list[str] = []
    world.simulation.client.delete_pod = _noting(deleted)  # type: ignore[assignment]
    world.run(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    assert deleted == ["low"]
    waiting = {pod.name: pod.status.nominated_node_name for pod in map(world.pod, ("g-0", "g-1"))}
    assert waiting == {"g-0": "free", "g-1": "full"}
    told = "pod group is unschedulable, pod group is waiting for preemption to complete"
    assert world.why("g-0") == told
    assert world.why("g-1").startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert world.told("g") == ("False", "Unschedulable", told)


def _noting(deleted: list[str]) -> Callable[[Pod], Awaitable[None]]:
    async def delete_pod(pod: Pod) -> None:
        deleted.append(pod.name)

    return delete_pod


@given(
    minimums=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    numbers=st.lists(st.integers(0, 5), min_size=4, max_size=4),
    cores=st.lists(st.integers(0, 4), min_size=1, max_size=3),
)
@settings(max_examples=40)
def test_no_gang_is_ever_placed_in_part(minimums: list[int], numbers: list[int], cores: list[int]) -> None:
    world = GroupWorld(make_node(f"n{place}", cpu=str(size)) for place, size in enumerate(cores))
    groups = [pod_group(f"g{place}", minimum) for place, minimum in enumerate(minimums)]
    pods = [members(f"g{place}", numbers[place], cpu="1") for place in range(len(minimums))]
    world.run(*groups, *(pod for each in pods for pod in each))
    placed = Counter(name.split("-")[0] for name in world.run())
    for place, minimum in enumerate(minimums):
        number = placed[f"g{place}"]
        assert number == 0 or number >= minimum
        assert (world.told(f"g{place}")[0] == "True") == (number > 0)
    assert world.assumed() == []
    assert len(world.scheduler.services.waiting_pods) == 0
