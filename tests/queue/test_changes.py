"""Add, update, delete, activate, and what they do to nominations."""

from __future__ import annotations

import logging

import pytest

from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.change_events import NODE_ADD
from moorage.testing.builders import make_pod
from tests.queue.worlds import Gate, Rejecter, World, newer

NODE_ADDED = ClusterEvent(NODE, Action.ADD)


def fit() -> Rejecter:
    return Rejecter("Fit", [NODE_ADDED])


def labels(hint: Hint = Hint.QUEUE) -> Rejecter:
    return Rejecter("Labels", [ClusterEvent(POD, Action.UPDATE_POD_LABEL, lambda pod, old, new: hint)])


# Add


def test_add() -> None:
    world = World()
    pod = world.add()
    queued = world.queue.get(pod)
    assert queued is not None
    assert (queued.pod, queued.timestamp, queued.attempts) == (pod, 1000.0, 0)
    assert world.observer.entries == [("active", "UnschedulablePodAdd")]
    assert world.queue.pending().active == [queued]
    assert world.queue.describe() == "activeQ:1; backoffQ:0; unschedulablePods:0"


def test_add_of_a_foreign_pod_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    with caplog.at_level(logging.ERROR):
        foreign = world.add(scheduler="foreign", status={"nominatedNodeName": "node"})
        world.queue.update(None, foreign)
    assert world.place() == "nowhere"
    assert len(world.nominations) == 0
    assert "default/pod is for scheduler 'foreign'" in caplog.text


def test_add_again_replaces_the_record() -> None:
    world = World(fit())
    old = world.rejected(by=["Fit"])
    world.queue.add(newer(old.pod))
    queued = world.queue.get(old.pod)
    assert queued is not None
    assert queued is not old
    assert queued.unschedulable_count == 0
    assert world.place() == "active"
    assert world.observer.rejections == {}


# Update


def test_update_to_the_same_version_is_ignored() -> None:
    world = World(labels())
    pod = make_pod(metadata={"resourceVersion": "7"})
    world.queue.add(pod)
    world.queue.update(pod, newer(pod, "7", labels={"a": "b"}))
    queued = world.queue.get(pod)
    assert queued is not None
    assert queued.pod is pod


def test_update_of_an_assumed_pod_is_ignored() -> None:
    world = World()
    pod = make_pod()
    world.queue.update(pod, newer(pod), assumed=True)
    assert world.place() == "nowhere"


def test_update_of_an_active_pod_replaces_it_and_keeps_the_order_right() -> None:
    world = World(Gate())
    pods = [world.add(name) for name in ("a", "b", "c")]
    gate_entries = list(world.observer.entries)
    changed = newer(pods[2], priority=5)
    world.queue.update(pods[2], changed)
    queued = world.queue.get(changed)
    assert queued is not None
    assert queued.pod is changed
    assert world.observer.entries == gate_entries
    world.queue.update(pods[0], newer(pods[0], labels={"x": "y"}))
    assert world.pop_all() == ["c", "a", "b"]


def test_update_of_a_pod_in_backoff_leaves_it_there() -> None:
    world = World(fit(), labels())
    records = [world.rejected(name, by=["Fit", "Labels"]) for name in ("a", "b")]
    world.queue.move_all(NODE_ADD)
    changed = newer(records[1].pod, priority=5, labels={"x": "y"})
    world.queue.update(records[1].pod, changed)
    assert world.place("b") == "backoff"
    assert records[1].pod is changed
    assert world.pop_all() == ["b", "a"]


def test_update_of_a_pod_in_backoff_after_an_error_leaves_it_there() -> None:
    world = World(labels())
    queued = world.rejected()
    changed = newer(queued.pod, labels={"x": "y"})
    world.queue.update(queued.pod, changed)
    assert world.place() == "backoff"
    assert queued.pod is changed
    assert world.queue.pop() is None


def test_update_of_an_unschedulable_pod_moves_it_if_a_hint_says_so() -> None:
    world = World(labels())
    queued = world.rejected(by=["Labels"])
    changed = newer(queued.pod, labels={"x": "y"})
    world.queue.update(queued.pod, changed)
    assert world.place() == "backoff"
    assert queued.pod is changed
    assert world.observer.entries[-1] == ("backoff", "UnschedulablePodUpdatePodLabel")


@pytest.mark.parametrize("hint", [Hint.SKIP, None])
def test_update_of_an_unschedulable_pod_that_nothing_hopes_for_leaves_it(hint: Hint | None) -> None:
    world = World(fit() if hint is None else labels(hint))
    queued = world.rejected(by=["Labels", "Fit"])
    world.observer.entries.clear()
    changed = newer(queued.pod, labels={"x": "y"})
    world.queue.update(queued.pod, changed)
    assert world.place() == "unschedulable"
    assert queued.pod is changed
    assert world.observer.entries == []


def test_update_stops_at_the_first_aspect_that_moves_the_pod() -> None:
    asked: list[str] = []

    def hint_of(name: str, answer: Hint) -> ClusterEvent:
        def hint(pod: object, old: object, new: object) -> Hint:
            asked.append(name)
            return answer

        action = {
            "label": Action.UPDATE_POD_LABEL,
            "gates": Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            "toleration": Action.UPDATE_POD_TOLERATION,
        }[name]
        return ClusterEvent(POD, action, hint)

    plugin = Rejecter(
        "P",
        [hint_of("toleration", Hint.QUEUE), hint_of("gates", Hint.QUEUE), hint_of("label", Hint.SKIP)],
    )
    world = World(plugin)
    queued = world.rejected(by=["P"], schedulingGates=[{"name": "g"}])
    changed = newer(queued.pod, labels={"x": "y"}, tolerations=[{"operator": "Exists"}])
    world.queue.update(queued.pod, changed)
    assert asked == ["label", "gates"]
    assert world.observer.entries[-1][1] == "UnschedulablePodUpdatePodSchedulingGatesEliminated"


def test_update_of_an_unknown_pod_adds_it() -> None:
    world = World()
    pod = make_pod(status={"nominatedNodeName": "node"})
    world.queue.update(pod, newer(pod, status={"nominatedNodeName": "node"}))
    assert world.place() == "active"
    assert world.observer.entries == [("active", "UnschedulablePodUpdate")]
    assert world.nominations.node_of(pod.uid) == "node"


def test_update_without_an_old_version_compares_with_the_record() -> None:
    world = World(labels())
    queued = world.rejected(by=["Labels"])
    world.queue.update(None, newer(queued.pod, labels={"x": "y"}))
    assert world.place() == "backoff"


def test_update_that_is_another_pod_of_the_same_name_starts_anew() -> None:
    world = World(fit())
    old = world.rejected(by=["Fit"], status={"nominatedNodeName": "node"})
    new = make_pod(uid="another", metadata={"resourceVersion": "2"})
    world.queue.update(old.pod, new)
    queued = world.queue.get(new)
    assert queued is not None
    assert (queued.pod, queued.attempts) == (new, 0)
    assert world.place() == "active"
    assert world.observer.rejections == {}
    assert len(world.nominations) == 0


# Delete


def test_delete_from_every_place() -> None:
    gate = Gate()
    gate.closed_to.add("gated")
    world = World(fit(), gate)
    world.rejected("error")
    world.rejected("unschedulable", by=["Fit"])
    world.add("active")
    world.add("gated")
    names = {queued.pod.name: queued for place in world.queue.pending() for queued in place}
    assert set(names) == {"error", "unschedulable", "active", "gated"}
    for queued in names.values():
        world.queue.delete(queued.pod)
    assert world.queue.counts() == (0, 0, 0, 0)
    assert world.observer.rejections == {}


def test_delete_from_backoff() -> None:
    world = World(fit())
    queued = world.rejected(by=["Fit"])
    world.queue.move_all(NODE_ADD)
    assert world.place() == "backoff"
    world.queue.delete(queued.pod)
    assert world.place() == "nowhere"
    assert world.queue.pop() is None
    assert world.observer.rejections == {}


def test_delete_leaves_a_pod_in_flight_alone() -> None:
    world = World(fit())
    pod = world.add()
    world.pop()
    world.queue.delete(pod)
    assert pod.uid in world.queue._in_flight


def test_delete_of_an_unknown_pod_is_harmless() -> None:
    World().queue.delete(make_pod())


# Activate


def test_activate_ignores_backoff() -> None:
    gate = Gate()
    world = World(fit(), gate)
    rejected = world.rejected("rejected", by=["Fit"])
    gate.asked.clear()
    world.queue.activate([rejected.pod])
    assert world.place("rejected") == "active"
    assert gate.asked == ["rejected"]
    assert world.observer.entries[-1] == ("active", "ForceActivate")


@pytest.mark.parametrize("by", [["Fit"], []], ids=["rejected", "error"])
def test_activate_takes_from_backoff_without_pre_enqueue(by: list[str]) -> None:
    gate = Gate()
    world = World(fit(), gate)
    queued = world.rejected(by=by)
    world.queue.move_all(NODE_ADD)
    assert world.place() == "backoff"
    gate.asked.clear()
    gate.closed_to.add("pod")
    world.queue.activate([queued.pod])
    assert world.place() == "active"
    assert gate.asked == []
    assert world.observer.entries[-1] == ("active", "ForceActivate")


def test_activate_asks_pre_enqueue_for_gated_pods() -> None:
    gate = Gate()
    gate.closed_to.add("pod")
    world = World(gate)
    pod = world.add()
    world.observer.entries.clear()
    world.queue.activate([pod])
    assert world.place() == "gated"
    assert world.observer.entries == []
    gate.closed_to.clear()
    world.queue.activate([pod])
    assert world.place() == "active"


def test_activate_of_a_pod_in_flight_is_remembered_for_it_alone() -> None:
    world = World(fit())
    pods = [world.add(name) for name in ("a", "b")]
    first, second = world.pop(), world.pop()
    world.queue.activate([pods[1]])
    world.give_back(first, by=["Fit"])
    world.give_back(second, by=["Fit"])
    assert (world.place("a"), world.place("b")) == ("unschedulable", "backoff")


def test_activate_ignores_active_and_unknown_pods() -> None:
    world = World(fit())
    pod = world.add()
    world.add("flying", priority=1)
    world.pop()
    world.observer.entries.clear()
    world.queue.activate([pod, make_pod("unknown")])
    assert world.observer.entries == []
    assert world.queue._in_flight.event_count == 0


# Nominations


def nominated(name: str) -> dict[str, str]:
    return {"nominatedNodeName": name}


def test_add_records_the_nomination_of_the_status() -> None:
    world = World()
    pod = world.add(status=nominated("node-1"))
    world.add("other")
    assert world.nominations.node_of(pod.uid) == "node-1"
    assert list(world.nominations.on("node-1")) == [pod]
    assert len(world.nominations) == 1


def test_update_follows_the_status() -> None:
    world = World()
    pod = world.add(status=nominated("node-1"))
    changed = newer(pod, "2", status=nominated("node-2"))
    world.queue.update(pod, changed)
    assert world.nominations.node_of(pod.uid) == "node-2"
    world.queue.update(changed, newer(pod, "3"))
    assert world.nominations.node_of(pod.uid) == ""


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
def test_update_keeps_a_nomination_that_lives_in_memory(place: str) -> None:
    world = World(fit())
    pod = world.add()
    if place != "active":
        world.give_back(world.pop(), by=["Fit"])
    if place == "backoff":
        world.queue.move_all(NODE_ADD)
    assert world.place() == place
    world.nominations.add(pod, "node-1")
    changed = newer(pod, labels={"a": "b"})
    world.queue.update(pod, changed)
    assert world.nominations.node_of(pod.uid) == "node-1"
    assert list(world.nominations.on("node-1")) == [changed]


def test_update_in_flight_does_not_touch_the_nomination() -> None:
    world = World()
    pod = world.add(status=nominated("node-1"))
    world.pop()
    world.queue.update(pod, newer(pod, status=nominated("node-2")))
    assert world.nominations.node_of(pod.uid) == "node-1"


def test_delete_removes_the_nomination_even_in_flight() -> None:
    world = World()
    pod = world.add(status=nominated("node-1"))
    world.pop()
    world.queue.delete(pod)
    assert len(world.nominations) == 0


def test_pop_and_requeue_leave_nominations_alone() -> None:
    world = World(fit())
    pod = world.add(status=nominated("node-1"))
    world.give_back(world.pop(), by=["Fit"])
    assert world.nominations.node_of(pod.uid) == "node-1"


# Looking in


def test_pending_and_describe_tell_the_places_apart() -> None:
    gate = Gate()
    gate.closed_to.add("gated")
    world = World(fit(), gate)
    world.rejected("unschedulable", by=["Fit"])
    world.rejected("backoff")
    world.add("gated")
    world.add("flying", priority=1)
    world.pop()
    world.add("active")

    def names(pods: list[QueuedPod]) -> list[str]:
        return [queued.pod.name for queued in pods]

    assert {place: names(pods) for place, pods in world.queue.pending()._asdict().items()} == {
        "active": ["active"],
        "backoff": ["backoff"],
        "unschedulable": ["unschedulable"],
        "gated": ["gated"],
    }
    assert world.queue.counts() == (1, 1, 1, 1)
    assert world.queue.describe() == "activeQ:1; backoffQ:1; unschedulablePods:2"
    assert world.queue.get(make_pod("flying")) is None
