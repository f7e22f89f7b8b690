from __future__ import annotations

from moorage.framework.events import Action, ClusterEvent
from moorage.queue.in_flight import InFlightPods


def event(number: int) -> ClusterEvent:
    return ClusterEvent(f"kind-{number}", Action.ADD)


def seen(pods: InFlightPods, uid: str) -> list[str]:
    return [entry.event.resource for entry in pods.events_since_start(uid)]


def test_a_pod_sees_the_events_after_its_pop() -> None:
    pods = InFlightPods()
    pods.start("a")
    pods.record(event(1), None, None)
    pods.start("b")
    pods.record(event(2), "old", "new")
    assert seen(pods, "a") == ["kind-1", "kind-2"]
    assert seen(pods, "b") == ["kind-2"]
    assert pods.events_since_start("b") == [(event(2), "old", "new")]


def test_events_without_pods_in_flight_are_not_kept() -> None:
    pods = InFlightPods()
    pods.record(event(1), None, None)
    assert pods.event_count == 0
    pods.start("a")
    assert seen(pods, "a") == []


def test_finish_drops_the_events_before_the_next_pod() -> None:
    pods = InFlightPods()
    for number, uid in enumerate("abc"):
        pods.start(uid)
        pods.record(event(number), None, None)
    pods.finish("b")
    assert pods.event_count == 3
    pods.finish("a")
    assert pods.event_count == 1
    assert seen(pods, "c") == ["kind-2"]
    pods.finish("c")
    assert pods.event_count == 0
    assert len(pods) == 0


def test_finish_of_an_unknown_pod_changes_nothing() -> None:
    pods = InFlightPods()
    pods.finish("x")
    pods.start("a")
    pods.record(event(1), None, None)
    pods.finish("x")
    assert "a" in pods
    assert seen(pods, "a") == ["kind-1"]
