from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.events import FORCE_ACTIVATE, NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.framework.status import Code, Status
from moorage.queue.change_events import ASSIGNED_POD_ADD, NODE_ADD, NODE_DELETE
from tests.queue.worlds import HANDLE, Gate, Rejecter, World, newer

NODE_ADDED = ClusterEvent(NODE, Action.ADD)


def closed_gate(*events: ClusterEvent, name: str = "Gate") -> Gate:
    gate = Gate(name, events)
    gate.closed_to.add("pod")
    return gate


def test_a_pod_that_passes_becomes_active() -> None:
    gate = Gate()
    world = World(gate)
    world.add()
    assert world.place() == "active"
    assert gate.asked == ["pod"]
    assert world.observer.pre_enqueued == ["default-scheduler"]


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.SUCCESS])
def test_any_other_code_gates(code: Code) -> None:
    gate = closed_gate(NODE_ADDED)
    gate.answer = Status(code, "no")
    world = World(gate)
    pod = world.add()
    queued = world.queue.get(pod)
    assert queued is not None
    assert world.place() == "gated"
    assert queued.unschedulable_plugins == {"Gate"}
    assert queued.gating_plugin == "Gate"
    assert NODE_ADDED in queued.gating_events
    assert queued.first_attempt_time is None
    assert world.queue.pop() is None
    assert world.observer.entries == [("unschedulable", "UnschedulablePodAdd")]
    assert world.observer.rejections == {"Gate": 1}
    assert world.observer.pre_enqueued == ["default-scheduler"]


def test_an_explicit_success_is_success() -> None:
    gate = closed_gate()
    gate.answer = Status.success()
    world = World(gate)
    world.add()
    assert world.place() == "active"


def test_an_error_is_logged_and_a_rejection_is_not(caplog: pytest.LogCaptureFixture) -> None:
    gate = closed_gate()
    world = World(gate)
    with caplog.at_level(logging.ERROR):
        world.add()
        assert caplog.text == ""
        gate.answer = Status.error("broken")
        world.add()
        assert "PreEnqueue plugin Gate failed for pod default/pod: broken" in caplog.text


@pytest.mark.parametrize("answer", [ValueError("oops"), "no"])
def test_a_plugin_that_fails_gates(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Gate):
        def pre_enqueue(self, pod: Pod) -> Status | None:
            if isinstance(answer, Exception):
                raise answer
            wrong: Status = answer
            return wrong

    world = World(Broken("Broken"))
    with caplog.at_level(logging.ERROR):
        world.add()
    assert world.place() == "gated"
    assert "PreEnqueue plugin Broken failed" in caplog.text


def test_the_first_objection_counts_and_ends_the_round() -> None:
    first, second = closed_gate(name="First"), closed_gate(name="Second")
    world = World(first, second)
    world.add()
    assert (first.asked, second.asked) == (["pod"], [])
    assert world.observer.rejections == {"First": 1}


def test_a_gated_pod_is_looked_at_again_for_events_of_its_gate_only() -> None:
    gate = closed_gate(NODE_ADDED)
    world = World(gate, Rejecter("Other", [ClusterEvent(POD, Action.ADD), ClusterEvent(NODE, Action.DELETE)]))
    world.add()
    gate.asked.clear()
    world.queue.move_all(ASSIGNED_POD_ADD)
    world.queue.move_all(NODE_DELETE)
    assert gate.asked == []
    world.queue.move_all(NODE_ADD)
    assert gate.asked == ["pod"]
    assert world.place() == "gated"


def test_events_of_plugins_that_rejected_it_earlier_do_not_open_a_gate() -> None:
    gate = Gate("Gate", [NODE_ADDED])
    world = World(gate, Rejecter("Fit", [ClusterEvent(NODE, Action.DELETE)]))
    queued = world.rejected(by=["Fit"])
    gate.closed_to.add("pod")
    world.queue.move_all(NODE_DELETE)
    assert world.place() == "gated"
    assert queued.unschedulable_plugins == {"Fit", "Gate"}
    gate.asked.clear()
    gate.closed_to.clear()
    world.queue.move_all(NODE_DELETE)
    assert gate.asked == []
    assert world.place() == "gated"
    world.queue.move_all(NODE_ADD)
    assert world.place() == "backoff"


def test_a_gate_that_opens_lets_the_pod_through() -> None:
    gate = closed_gate(NODE_ADDED)
    world = World(gate)
    pod = world.add()
    gate.closed_to.clear()
    world.clock.now += 7
    world.queue.move_all(NODE_ADD)
    queued = world.queue.get(pod)
    assert queued is not None
    assert world.place() == "active"
    assert (queued.gating_plugin, queued.gating_events) == ("", ())
    assert (queued.timestamp, queued.first_attempt_time) == (1000.0, 1007.0)
    assert world.observer.entries[-1] == ("active", "NodeAdd")
    world.pop()
    assert world.observer.rejections == {}


def test_a_gate_that_stays_shut_counts_once_on_the_gauge() -> None:
    gate = closed_gate(NODE_ADDED)
    world = World(gate)
    world.add()
    for _ in range(3):
        world.queue.move_all(NODE_ADD)
    assert world.observer.rejections == {"Gate": 1}


def test_another_gate_may_take_over() -> None:
    first, second = closed_gate(NODE_ADDED, name="First"), closed_gate(NODE_ADDED, name="Second")
    world = World(first, second)
    pod = world.add()
    first.closed_to.clear()
    world.queue.move_all(NODE_ADD)
    queued = world.queue.get(pod)
    assert queued is not None
    assert queued.gating_plugin == "Second"
    assert world.observer.rejections == {"First": 1, "Second": 1}


def test_the_hint_of_the_gate_is_asked() -> None:
    gate = closed_gate(NODE_ADDED._replace(hint=lambda pod, old, new: Hint.SKIP))
    world = World(gate)
    world.add()
    gate.asked.clear()
    world.queue.move_all(NODE_ADD)
    assert gate.asked == []


def test_wildcards_ask_again_whatever_the_gate_registered() -> None:
    gate = closed_gate()
    world = World(gate)
    world.add()
    gate.closed_to.clear()
    world.queue.move_all(FORCE_ACTIVATE)
    assert world.place() == "active"


def test_the_timeout_asks_again_and_clears_the_flag_of_a_pod_still_gated() -> None:
    gate = closed_gate()
    world = World(gate)
    pod = world.add()
    queued = world.queue.get(pod)
    assert queued is not None
    gate.asked.clear()
    world.clock.now += 301
    world.queue.flush_unschedulable()
    assert gate.asked == ["pod"]
    assert (world.place(), queued.flushed, queued.flush_time) == ("gated", False, 1301.0)
    gate.closed_to.clear()
    world.clock.now += 301
    world.queue.flush_unschedulable()
    assert (world.place(), queued.flushed) == ("active", True)


def test_the_pods_own_update_is_not_limited_to_the_events_of_the_gate() -> None:
    gate = Gate("Gate", [])
    world = World(gate, Rejecter("Labels", [ClusterEvent(POD, Action.UPDATE_POD_LABEL)]))
    queued = world.rejected(by=["Labels"])
    gate.closed_to.add("pod")
    world.queue.activate([queued.pod])
    assert world.place() == "gated"
    gate.closed_to.clear()
    world.queue.update(queued.pod, newer(queued.pod, labels={"a": "b"}))
    assert world.place() == "backoff"


def test_gates_are_lifted_by_the_pods_own_update() -> None:
    def own(pod: Pod, old: Any, new: Any) -> Hint:
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP

    gate = closed_gate(ClusterEvent(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, own))
    world = World(gate)
    pod = world.add(schedulingGates=[{"name": "x"}])
    gate.closed_to.clear()
    world.queue.update(pod, newer(pod))
    assert world.place() == "active"
    assert world.observer.entries[-1] == ("active", "UnschedulablePodUpdatePodSchedulingGatesEliminated")


def test_pre_enqueue_is_not_repeated_when_backoff_ends() -> None:
    gate = Gate()
    world = World(gate, Rejecter("Fit", [NODE_ADDED]))
    queued = world.rejected(by=["Fit"])
    gate.asked.clear()
    world.queue.move_all(NODE_ADD)
    assert gate.asked == ["pod"]
    gate.closed_to.add("pod")
    world.clock.now += 3
    world.queue.flush_backoff()
    assert world.place() == "active"
    assert gate.asked == ["pod"]
    assert world.pop() is queued


def test_a_gate_that_did_not_return_is_asked_again_after_growing_pauses() -> None:
    class Hangs(Gate):
        def pre_enqueue(self, pod: Pod) -> Status | None:
            self.asked.append(pod.name)
            if pod.name in self.closed_to:
                HANDLE.services.running.interrupted = time.perf_counter()
                raise DidNotReturn
            return None

    gate = Hangs("Gate", None)
    gate.closed_to.add("pod")
    world = World(gate)
    world.add()
    for pause in (10, 20, 40):
        assert gate.asked == ["pod"]
        world.queue.move_all(NODE_ADD)
        world.clock.now += pause - 1
        world.queue.flush_backoff()
        assert gate.asked == ["pod"], "others get their time first, whatever happens"
        assert world.place() == "gated"
        gate.asked.clear()
        world.clock.now += 2
        world.queue.flush_backoff()
    gate.closed_to.clear()
    world.clock.now += 81
    world.queue.flush_backoff()
    assert world.place() == "active"
