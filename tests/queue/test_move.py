from __future__ import annotations

from collections.abc import Callable

import pytest

from moorage.api.pods import Pod
from moorage.framework.events import (
    FORCE_ACTIVATE,
    NODE,
    POD,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    Hint,
)
from moorage.queue.change_events import ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE
from moorage.testing.builders import make_node
from tests.queue.worlds import Rejecter, World, make_queue_profile


def fit() -> Rejecter:
    return Rejecter("Fit", [ClusterEvent(NODE, Action.ADD)])


def test_a_pod_that_backs_off_goes_to_backoff() -> None:
    world = World(fit())
    world.rejected(by=["Fit"])
    world.queue.move_all(NODE_ADD, None, make_node())
    assert world.place() == "backoff"
    assert world.observer.entries[-1] == ("backoff", "NodeAdd")
    assert world.observer.rejections == {"Fit": 1}


def test_a_pod_whose_backoff_is_over_becomes_active() -> None:
    world = World(fit())
    world.rejected(by=["Fit"])
    world.clock.now += 2
    world.queue.move_all(NODE_ADD, None, make_node())
    assert world.place() == "active"
    assert world.observer.entries[-1] == ("active", "NodeAdd")


def test_a_pending_plugin_makes_it_active_at_once() -> None:
    world = World(fit())
    world.rejected(pending=["Fit"])
    world.queue.move_all(NODE_ADD)
    assert world.place() == "active"


def test_a_hint_can_leave_it() -> None:
    world = World(Rejecter("Fit", [ClusterEvent(NODE, Action.ADD, lambda pod, old, new: Hint.SKIP)]))
    world.rejected(by=["Fit"])
    world.queue.move_all(NODE_ADD)
    assert world.place() == "unschedulable"


def test_a_hint_that_fails_moves_it() -> None:
    def broken(pod: Pod, old: object, new: object) -> Hint:
        raise RuntimeError("broken")

    world = World(Rejecter("Fit", [ClusterEvent(NODE, Action.ADD, broken)]))
    world.rejected(by=["Fit"])
    world.queue.move_all(NODE_ADD)
    assert world.place() == "backoff"


def test_an_event_that_nobody_wants_moves_nothing() -> None:
    world = World(fit())
    world.rejected(by=["Fit"])
    world.queue.move_all(NODE_DELETE)
    assert world.place() == "unschedulable"


def test_an_event_for_another_plugin_moves_nothing() -> None:
    world = World(fit(), Rejecter("Other", [ClusterEvent(NODE, Action.DELETE)]))
    world.rejected(by=["Fit"])
    world.queue.move_all(NODE_DELETE)
    assert world.place() == "unschedulable"


@pytest.mark.parametrize("event", [UNSCHEDULABLE_TIMEOUT, FORCE_ACTIVATE])
def test_a_wildcard_moves_everything_but_other_pods(event: ClusterEvent) -> None:
    world = World(Rejecter("Deaf", []))
    chosen = world.rejected("chosen", by=["Deaf"])
    world.rejected("other", by=["Deaf"])
    world.queue.move_all(event, None, chosen.pod)
    assert (world.place("chosen"), world.place("other")) == ("backoff", "unschedulable")
    world.queue.move_all(event)
    assert world.place("other") == "backoff"


def test_a_plugin_that_registered_the_wildcard_hears_of_everything() -> None:
    world = World(Rejecter("All", [ClusterEvent("*", Action.ALL)]))
    world.rejected(by=["All"])
    world.queue.move_all(ClusterEvent("things.v1.example.com", Action.UPDATE))
    assert world.place() == "backoff"


@pytest.mark.parametrize(
    ("pre_check", "place"),
    [(lambda pod: pod.priority <= 5, "backoff"), (lambda pod: pod.priority <= 4, "unschedulable")],
)
def test_the_pre_check_narrows_the_move(pre_check: Callable[[Pod], bool], place: str) -> None:
    world = World(Rejecter("Fit", [ClusterEvent(POD, Action.DELETE)]))
    world.rejected(by=["Fit"], priority=5)
    world.queue.move_all(ASSIGNED_POD_DELETE, None, None, pre_check=pre_check)
    assert world.place() == place


def test_pods_elsewhere_stay_where_they_are() -> None:
    world = World(fit())
    world.rejected("error")
    world.rejected("waiting", by=["Fit"])
    world.queue.move_all(NODE_ADD)
    world.add("fresh")
    world.observer.entries.clear()
    world.queue.move_all(NODE_ADD)
    places = [world.place(name) for name in ("error", "waiting", "fresh")]
    assert places == ["backoff", "backoff", "active"]
    assert world.observer.entries == []


def test_each_pod_is_judged_by_its_own_profile() -> None:
    world = World(
        profiles=[
            make_queue_profile("one", fit()),
            make_queue_profile("two", Rejecter("Fit", [])),
        ]
    )
    world.rejected("a", by=["Fit"], scheduler="one")
    world.rejected("b", by=["Fit"], scheduler="two")
    assert world.observer.gauge == {("Fit", "one"): 1, ("Fit", "two"): 1}
    world.queue.move_all(NODE_ADD)
    assert (world.place("a"), world.place("b")) == ("backoff", "unschedulable")


def test_a_pod_rejected_by_several_plugins_is_moved_once() -> None:
    world = World(fit(), Rejecter("Other", [ClusterEvent(NODE, Action.ADD)]))
    world.rejected(by=["Fit", "Other"])
    world.observer.entries.clear()
    world.queue.move_all(NODE_ADD)
    assert world.observer.entries == [("backoff", "NodeAdd")]


def test_pods_of_uninterested_plugins_are_not_even_looked_at() -> None:
    """With thousands of waiting pods, every event would otherwise cost time for each of them."""
    world = World(fit(), Rejecter("Busy", [ClusterEvent(POD, Action.ALL)]))
    for number in range(50):
        world.rejected(f"pod-{number}", by=["Fit"])
    looked_at: list[str] = []

    def look(pod: Pod) -> bool:
        looked_at.append(pod.name)
        return True

    world.queue.move_all(ASSIGNED_POD_DELETE, pre_check=look)
    assert looked_at == []
    world.queue.move_all(NODE_ADD, pre_check=look)
    assert len(looked_at) == 50
