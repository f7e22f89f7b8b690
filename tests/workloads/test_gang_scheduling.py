"""The plugin GangScheduling by itself."""

from __future__ import annotations

import pytest

from moorage.api.pod_groups import PodGroup
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Hint
from moorage.framework.status import Code, Status, Wait
from moorage.plugins.workloads.gang_scheduling import GangScheduling
from moorage.testing import make_node, make_pod
from tests.workloads.group_worlds import GroupWorld, members, pod_group


def plugin_of(world: GroupWorld) -> GangScheduling:
    plugin = world.scheduler.profiles["default-scheduler"].plugins["GangScheduling"]
    assert isinstance(plugin, GangScheduling)
    return plugin


def test_the_plugin_comes_last_in_the_default_profile() -> None:
    profile = GroupWorld().scheduler.profiles["default-scheduler"]
    assert [plugin.name for plugin in profile.pre_enqueue][-1] == "GangScheduling"
    assert [plugin.name for plugin in profile.permit] == ["GangScheduling"]


def test_who_may_enter_the_queue() -> None:
    world = GroupWorld()
    first, second = members("g", 2)
    world.simulation.add(first)
    plugin = plugin_of(world)
    assert plugin.pre_enqueue(make_pod("alone")) is None
    missing = plugin.pre_enqueue(first)
    assert missing is not None
    assert missing.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert missing.message == 'waiting for pods\'s pod group "g" to appear in scheduling queue'
    world.simulation.add(pod_group("g", 2))
    few = plugin.pre_enqueue(first)
    assert few is not None
    assert few.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert few.message == "waiting for minCount pods from a gang to appear in scheduling queue"
    world.simulation.add(second)
    assert plugin.pre_enqueue(first) is None


def test_a_basic_group_waits_for_nobody() -> None:
    world = GroupWorld()
    [pod] = members("g", 1)
    world.simulation.add(pod_group("g"))
    world.simulation.add(pod)
    assert plugin_of(world).pre_enqueue(pod) is None
    assert plugin_of(world).permit(CycleState(), pod, "n") is None


def test_who_may_go_on() -> None:
    world = GroupWorld([make_node("n")])
    first, second = members("g", 2, schedulingGates=[{"name": "not-yet"}])
    for item in (pod_group("g", 2), first, second):
        world.simulation.add(item)
    plugin = plugin_of(world)
    assert plugin.permit(CycleState(), make_pod("alone"), "n") is None
    world.scheduler.state.assume(first, "n")
    answer = plugin.permit(CycleState(), first, "n")
    assert isinstance(answer, Wait)
    assert (answer.timeout, answer.message) == (
        300.0,
        "waiting for minCount pods from a gang to be scheduled",
    )
    world.scheduler.state.assume(second, "n")
    assert plugin.permit(CycleState(), second, "n") is None


def test_a_group_that_is_gone() -> None:
    [pod] = members("g", 1)
    answer = plugin_of(GroupWorld()).permit(CycleState(), pod, "n")
    assert isinstance(answer, Status)
    assert answer.code is Code.ERROR
    assert answer.message == ('failed to get podGroup default/g: podgroup.scheduling.k8s.io "g" not found')


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        (make_pod("x", schedulingGroup={"podGroupName": "g"}), Hint.QUEUE),
        (make_pod("x", schedulingGroup={"podGroupName": "h"}), Hint.SKIP),
        (make_pod("x", namespace="other", schedulingGroup={"podGroupName": "g"}), Hint.SKIP),
        (make_pod("x"), Hint.SKIP),
        (pod_group("g"), Hint.QUEUE),
        (pod_group("h"), Hint.SKIP),
        (pod_group("g", namespace="other"), Hint.SKIP),
    ],
    ids=["member", "other group", "other namespace", "no group", "its group", "other", "elsewhere"],
)
def test_which_events_help(other: object, hint: Hint) -> None:
    [pod] = members("g", 1)
    pods, groups = plugin_of(GroupWorld()).events()
    event = groups if isinstance(other, PodGroup) else pods
    assert event.hint is not None
    assert event.hint(pod, None, other) is hint
