"""Plugins that fail or block where no pod is being tried: in hints, and while room is looked for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.status import Status
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node
from tests.scheduler.test_bad_plugins import BROKEN, Counting

# Events


def hinted(hint: Any) -> Counting:
    """A world in which the pod `bad` waits for what the hint says to a new node."""

    class A(FilterPlugin):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return Status.unschedulable("no")

        def events(self) -> list[ClusterEvent]:
            return [ClusterEvent("Node", Action.ADD, hint)]

    world = Counting(A)
    world.add("bad")
    world.schedule()
    assert world.place("bad") == "unschedulable"
    world.door.put(make_node("new"))
    return world


@pytest.mark.parametrize("answer", [BROKEN, SystemExit("gone"), 7, None], ids=repr)
def test_a_hint_that_fails_is_counted_and_the_pod_is_tried_again(answer: Any) -> None:
    def hint(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    world = hinted(hint)
    assert world.place("bad") == "backoff"
    assert world.counted("plugin_failures_total") == {"A": 1}


def test_a_hint_that_blocks_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def hint(*_: Any) -> Hint:
        nonlocal now
        now += 1
        return Hint.SKIP

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    world = hinted(hint)
    assert world.place("bad") == "unschedulable"
    assert world.counted("plugin_slow_calls_total") == {"A": 1}
    assert world.counted("plugin_failures_total") == {}


# What-if questions of preemption


def preempting(where: str, act: Any) -> Counting:
    """A world in which room is looked for, with a plugin that does something at one step of it."""

    class A(PreFilterPlugin, FilterPlugin):
        is_asked_what_if = False

        def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
            self.is_asked_what_if = False

        def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Any:
            return act() if where == "add_pod" else None

        def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Any:
            self.is_asked_what_if = True
            return act() if where == "remove_pod" else None

        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
            return act() if where == "filter" and self.is_asked_what_if else None

    in_tree = ("PrioritySort", "A", "NodeResourcesFit", "DefaultPreemption", "DefaultBinder")
    world = Counting(A, nodes=1, in_tree=in_tree)
    for number in range(2):
        world.add(f"low-{number}", cpu="2")
    world.schedule()
    world.add("high", cpu="2", priority=10)
    world.schedule()
    return world


STEPS = {"add_pod": "AddPod on PreFilter plugin", "remove_pod": "RemovePod on PreFilter plugin"}


@pytest.mark.parametrize("where", ["add_pod", "remove_pod", "filter"])
def test_a_plugin_that_fails_while_room_is_looked_for(where: str) -> None:
    def fail() -> None:
        raise BROKEN

    world = preempting(where, fail)
    condition = world.condition("high")
    assert condition is not None
    failed = (
        'running "A" filter plugin: ValueError: broken'
        if where == "filter"
        else f'running {STEPS[where]} "A": ValueError: broken'
    )
    assert condition[1:] == (
        "Unschedulable",
        f"0/1 nodes are available: 1 Insufficient cpu. preemption: {failed}",
    )
    assert world.counted("plugin_failures_total") == {"A": 1}


@pytest.mark.parametrize("where", ["add_pod", "remove_pod", "filter"])
def test_a_plugin_that_blocks_while_room_is_looked_for(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def block() -> None:
        nonlocal now
        now += 1

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    assert preempting(where, block).counted("plugin_slow_calls_total")["A"] >= 1
