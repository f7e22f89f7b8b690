from __future__ import annotations

import logging
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.events import FORCE_ACTIVATE, NODE, UNSCHEDULABLE_TIMEOUT, Action, ClusterEvent, Hint
from moorage.queue.change_events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE
from moorage.testing.builders import make_node
from tests.queue.worlds import Gate, Rejecter, World, newer

NODE_ADDED = ClusterEvent(NODE, Action.ADD)


def fit(hint: Hint = Hint.QUEUE) -> Rejecter:
    return Rejecter("Fit", [NODE_ADDED._replace(hint=lambda pod, old, new: hint)])


def other(*events: ClusterEvent) -> Rejecter:
    return Rejecter("Other", list(events))


def test_a_rejected_pod_waits_for_an_event() -> None:
    world = World(fit())
    queued = world.rejected(by=["Fit"])
    assert world.place() == "unschedulable"
    assert (queued.unschedulable_count, queued.consecutive_errors) == (1, 0)
    assert world.observer.entries[-1] == ("unschedulable", "ScheduleAttemptFailure")
    assert world.observer.rejections == {"Fit": 1}


def test_a_pod_that_met_an_error_backs_off() -> None:
    world = World(fit())
    queued = world.rejected()
    assert world.place() == "backoff"
    assert (queued.unschedulable_count, queued.consecutive_errors) == (0, 1)
    assert world.observer.entries[-1] == ("backoff", "ScheduleAttemptFailure")
    assert world.observer.rejections == {}


def test_counts_of_several_attempts_and_their_backoff() -> None:
    world = World(fit())
    queued = world.rejected(by=["Fit"])
    world.queue.activate([queued.pod])
    world.give_back(world.pop(), by=["Fit"])
    assert (queued.unschedulable_count, queued.consecutive_errors) == (2, 0)
    for errors in (1, 2):
        world.queue.activate([queued.pod])
        world.give_back(world.pop())
        assert (queued.unschedulable_count, queued.consecutive_errors) == (2, errors)
        assert queued.backoff_expiry == 1000 + 2 ** (errors - 1)
    world.queue.activate([queued.pod])
    world.give_back(world.pop(), by=["Fit"])
    assert (queued.unschedulable_count, queued.consecutive_errors) == (3, 0)
    world.queue.move_all(NODE_ADD)
    assert queued.backoff_expiry == 1004


def test_requeue_resets_what_belongs_to_the_last_wait() -> None:
    world = World(fit())
    queued = world.rejected(by=["Fit"])
    world.clock.now += 301
    world.queue.flush_unschedulable()
    assert (queued.flushed, queued.flush_time) == (True, 1301.0)
    again = world.pop()
    again.backoff_expiry = 5.0
    world.clock.now += 1
    world.give_back(again, by=["Fit"])
    reset = world.queue.get(again.pod)
    assert reset is not None
    assert (reset.flushed, reset.flush_time, reset.backoff_expiry) == (False, None, None)
    assert again.timestamp == 1302.0


def test_requeue_ends_the_flight() -> None:
    world = World(fit())
    pod = world.add()
    queued = world.pop()
    assert pod.uid in world.queue._in_flight
    world.give_back(queued, by=["Fit"])
    assert pod.uid not in world.queue._in_flight


def test_a_pod_that_is_queued_already_is_not_requeued(caplog: pytest.LogCaptureFixture) -> None:
    world = World(fit())
    pod = world.add()
    queued = world.pop()
    world.queue.add(pod)
    with caplog.at_level(logging.ERROR):
        world.give_back(queued, by=["Fit"])
    assert "default/pod is in the queue already" in caplog.text
    assert world.place() == "active"
    assert queued.unschedulable_count == 0
    assert world.observer.rejections == {}
    assert pod.uid not in world.queue._in_flight
    assert world.queue.get(pod) is not queued


def test_a_rejection_of_a_pod_not_in_flight_backs_off(caplog: pytest.LogCaptureFixture) -> None:
    world = World(fit())
    pod = world.add()
    queued = world.pop()
    world.queue.done(pod.uid)
    with caplog.at_level(logging.ERROR):
        world.give_back(queued, by=["Fit"])
    assert "was not in flight" in caplog.text
    assert world.place() == "backoff"


def test_an_error_after_done_backs_off() -> None:
    world = World(fit())
    pod = world.add()
    queued = world.pop()
    world.queue.done(pod.uid)
    world.give_back(queued)
    assert world.place() == "backoff"


# Events seen in flight


@pytest.mark.parametrize(
    ("hint", "place"), [(Hint.QUEUE, "backoff"), (Hint.SKIP, "unschedulable")], ids=["queue", "skip"]
)
def test_an_event_in_flight_counts_as_its_hint_says(hint: Hint, place: str) -> None:
    world = World(fit(hint))
    world.add()
    queued = world.pop()
    world.queue.move_all(NODE_ADD, None, make_node())
    world.give_back(queued, by=["Fit"])
    assert world.place() == place
    assert world.observer.entries[-1] == (place, "ScheduleAttemptFailure")


def test_events_in_flight_matter_only_to_the_plugins_that_rejected() -> None:
    world = World(fit(), other(NODE_ADDED))
    world.add()
    queued = world.pop()
    world.queue.move_all(NODE_ADD)
    world.give_back(queued, by=["Unregistered"])
    assert world.place() == "unschedulable"


def test_events_before_the_pop_do_not_count() -> None:
    world = World(fit())
    world.add("a", priority=1)
    world.add("b")
    first = world.pop()
    world.queue.move_all(NODE_ADD)
    second = world.pop()
    world.give_back(second, by=["Fit"])
    world.give_back(first, by=["Fit"])
    assert world.place("a") == "backoff"
    assert world.place("b") == "unschedulable"


def test_the_best_answer_of_all_events_wins() -> None:
    world = World(fit(), other(ASSIGNED_POD_DELETE, NODE_DELETE))
    for name, events, place in (
        ("immediately", [NODE_ADD, ASSIGNED_POD_DELETE, NODE_ADD], "active"),
        ("backoff", [NODE_DELETE._replace(action=Action.UPDATE_NODE_LABEL), NODE_ADD], "backoff"),
        ("skip", [NODE_DELETE._replace(action=Action.UPDATE_NODE_LABEL)], "unschedulable"),
    ):
        world.add(name)
        queued = world.pop()
        for event in events:
            world.queue.move_all(event)
        world.give_back(queued, by=["Fit"], pending=["Other"])
        assert world.place(name) == place
        world.queue.delete(queued.pod)


def test_hints_get_the_objects_of_the_event_and_the_newest_pod() -> None:
    calls: list[tuple[Pod, Any, Any]] = []

    def hint(pod: Pod, old: Any, new: Any) -> Hint:
        calls.append((pod, old, new))
        return Hint.SKIP

    world = World(Rejecter("Fit", [NODE_ADDED._replace(hint=hint)]))
    pod = world.add()
    queued = world.pop()
    node = make_node()
    world.queue.move_all(NODE_ADD, None, node)
    queued.pod = newer(pod)
    world.give_back(queued, by=["Fit"])
    assert calls == [(queued.pod, None, node)]


def test_events_nobody_wants_are_not_kept() -> None:
    world = World(fit())
    world.add()
    world.pop()
    world.queue.move_all(ASSIGNED_POD_ADD)
    assert world.queue._in_flight.event_count == 0
    world.queue.move_all(NODE_ADD)
    assert world.queue._in_flight.event_count == 1
    world.queue.move_all(UNSCHEDULABLE_TIMEOUT)
    assert world.queue._in_flight.event_count == 2


def test_events_are_not_kept_without_pods_in_flight() -> None:
    world = World(fit())
    world.queue.move_all(NODE_ADD)
    assert world.queue._in_flight.event_count == 0


def test_done_forgets_the_events_nobody_can_ask_for() -> None:
    world = World(fit())
    first = world.add("a", priority=1)
    second = world.add("b")
    world.pop()
    world.queue.move_all(NODE_ADD)
    world.pop()
    world.queue.move_all(NODE_ADD)
    world.queue.done(first.uid)
    assert world.queue._in_flight.event_count == 1
    world.queue.done(second.uid)
    assert world.queue._in_flight.event_count == 0


def test_the_pods_own_update_in_flight_is_offered_to_the_hints() -> None:
    tolerations = ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION, hint=lambda pod, old, new: Hint.QUEUE)
    world = World(Rejecter("Taints", [tolerations]))
    pod = world.add(metadata={"resourceVersion": "1"})
    queued = world.pop()
    changed = newer(pod, tolerations=[{"operator": "Exists"}], labels={"a": "b"})
    world.queue.update(pod, changed)
    assert world.place() == "nowhere"
    assert world.queue._in_flight.event_count == 2
    queued.pod = changed
    world.give_back(queued, by=["Taints"])
    assert world.place() == "backoff"


def test_an_update_in_flight_without_an_old_version_is_a_plain_update() -> None:
    world = World(Rejecter("Any", [ClusterEvent("Pod", Action.UPDATE)]))
    pod = world.add()
    queued = world.pop()
    world.queue.update(None, newer(pod))
    world.give_back(queued, by=["Any"])
    assert world.place() == "backoff"


def test_a_wildcard_in_flight_requeues_every_pod_or_the_one_it_is_for() -> None:
    for carried, place in ((None, "backoff"), ("pod", "backoff"), ("stranger", "unschedulable")):
        world = World(fit())
        pods = {name: world.add(name) for name in ("pod", "stranger")}
        records = {queued.pod.name: queued for queued in (world.pop(), world.pop())}
        world.queue.move_all(FORCE_ACTIVATE, None, pods[carried] if carried else None)
        world.give_back(records["pod"], by=["Fit"])
        assert world.place("pod") == place


def test_pre_enqueue_runs_before_backoff_and_active() -> None:
    gate = Gate()
    world = World(fit(), gate)
    world.add()
    queued = world.pop()
    gate.closed_to.add("pod")
    world.give_back(queued)
    assert world.place() == "gated"
    assert queued.unschedulable_plugins == {"Gate"}
    assert world.observer.entries[-1] == ("unschedulable", "ScheduleAttemptFailure")


def test_pre_enqueue_is_not_asked_about_a_pod_that_waits_for_an_event() -> None:
    gate = Gate()
    world = World(fit(), gate)
    world.add()
    queued = world.pop()
    gate.asked.clear()
    world.give_back(queued, by=["Fit"])
    assert gate.asked == []
    assert world.place() == "unschedulable"


def test_the_sets_of_the_caller_are_not_changed() -> None:
    gate = Gate()
    world = World(fit(), gate)
    world.add()
    queued = world.pop()
    gate.closed_to.add("pod")
    plugins = {"Fit"}
    queued.unschedulable_plugins = plugins
    world.queue.move_all(NODE_ADD)
    world.queue.requeue(queued)
    assert queued.unschedulable_plugins == {"Fit", "Gate"}
    assert plugins == {"Fit"}
