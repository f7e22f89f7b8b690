"""Failures after a node was chosen, and what each of them means for the pod."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import POD, Action, ClusterEvent
from moorage.framework.extension_points import Plugin
from moorage.framework.status import Status, Wait
from moorage.testing import make_node, make_pod
from tests import fake_time
from tests.framework.scripted import Binds, Filters, Permits, PostBinds, PreBinds, Reserves, Script, plugin
from tests.scheduler.worlds import World, after

NO = Status.unschedulable("no")
PENDING = Status.pending("no")
ERROR = Status.error("broken")
FIT = "0/1 nodes are available: 1 no."


def act_on_waiting(world: World, method: str) -> Any:
    def act() -> None:
        for waiting in world.services.waiting_pods:
            getattr(waiting, method)("A", "no")

    return act


TIMEOUT = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."


@pytest.mark.parametrize(
    ("fails", "waiting", "place", "rejected", "reason", "message"),
    [
        # Waiting on permit
        (
            plugin(Permits, "A", Wait(10), events=lambda self: []),
            "",
            "unschedulable",
            {"A"},
            "Unschedulable",
            TIMEOUT,
        ),
        (
            plugin(Permits, "A", Wait(10), events=lambda self: []),
            "reject",
            "unschedulable",
            {"A"},
            "Unschedulable",
            FIT,
        ),
        (
            plugin(Permits, "A", Wait(10)),
            "preempt",
            "backoff",
            set(),
            "SchedulerError",
            "waiting on permit for pod: no",
        ),
        # Errors
        (
            plugin(PreBinds, "A", flight=Script(ERROR)),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'running PreBindPreFlight "A": broken',
        ),
        (
            plugin(PreBinds, "A", flight=Script(NO)),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'PreBindPreFlight A returned "Unschedulable", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
        ),
        (
            plugin(PreBinds, "A", ERROR),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'running PreBind plugin "A": broken',
        ),
        (
            plugin(PreBinds, "A", ValueError("x")),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'running PreBind plugin "A": ValueError: x',
        ),
        (
            plugin(Binds, "A", ERROR),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'running Bind plugin "A": broken',
        ),
        (
            plugin(Binds, "A", OSError("x")),
            "",
            "backoff",
            set(),
            "SchedulerError",
            'running Bind plugin "A": OSError: x',
        ),
        # Rejections that come too late to wait for events
        (plugin(PreBinds, "A", NO), "", "backoff", set(), "Unschedulable", "no"),
        (plugin(PreBinds, "A", PENDING), "", "backoff", set(), "Unschedulable", "no"),
        (plugin(Binds, "A", NO), "", "backoff", set(), "Unschedulable", "no"),
        # Nobody binds
        (plugin(Binds, "A", Status.skip()), "", "backoff", set(), None, ""),
    ],
)
def test_where_a_pod_goes_whose_binding_fails(
    fails: type[Plugin], waiting: str, place: str, rejected: set[str], reason: str | None, message: str
) -> None:
    calls: list[str] = []
    binds = [] if issubclass(fails, Binds) else ["DefaultBinder"]
    world = World(
        plugin(Reserves, "First", calls=calls),
        plugin(Reserves, "Last", calls=calls),
        fails,
        in_tree=["PrioritySort", *binds],
    )
    pod = world.add()
    world.schedule(*([after(3, act_on_waiting(world, waiting))] if waiting else []))
    assert calls == ["First reserve", "Last reserve", "Last unreserve", "First unreserve"]
    assert world.state.placement(pod.uid) is None
    assert len(world.services.waiting_pods) == 0
    assert world.place() == place
    assert world.plugins_of() == (rejected, set())
    assert world.condition() == (None if reason is None else ("False", reason, message))
    assert world.notes == ([] if reason is None else [("FailedScheduling", message)])
    assert world.client.pods[pod.key].status.nominated_node_name == ""


def test_a_pod_that_fails_before_its_wait_waits_no_longer() -> None:
    world = World(plugin(Permits, "A", Wait(10)), plugin(PreBinds, "B", flight=Script(ERROR)))
    pod = world.add()
    world.schedule()
    assert world.services.waiting_pods.with_uid(pod.uid) is None
    assert world.place() == "backoff"
    assert world.notes == [("FailedScheduling", 'running PreBindPreFlight "B": broken')]


def test_the_error_backoff_is_not_cut_short() -> None:
    world = World(plugin(Binds, "A", NO), in_tree=["PrioritySort"])
    world.add()
    world.schedule()
    assert world.place() == "backoff"
    assert world.queue.pop() is None


# The nomination before binding


@pytest.mark.parametrize(
    ("plugins", "known", "written"),
    [
        ([], "", []),
        ([plugin(PreBinds, "A", flight=Script(Status.skip()))], "", []),
        ([plugin(PreBinds, "A")], "", ["n0"]),
        ([plugin(PreBinds, "A")], "n0", []),
        ([plugin(PreBinds, "A")], "elsewhere", ["n0"]),
        ([plugin(Permits, "A", Wait(10))], "", ["n0"]),
    ],
)
def test_the_node_is_announced_if_binding_may_take_a_while(
    plugins: list[type[Plugin]], known: str, written: list[str]
) -> None:
    world = World(*plugins)
    world.add(status={"nominatedNodeName": known})
    world.schedule(after(1, world.allow, "A"))
    assert world.node_of() == "n0"
    assert world.client.nominations == written


def test_a_nomination_that_cannot_be_written_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    world = World(plugin(PreBinds, "A"))
    world.client.refuses = OSError("down")
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert caplog.messages == ["Error updating the nomination"]


# In flight


def test_a_pod_leaves_the_flight_when_its_wait_is_over() -> None:
    flights: list[int] = []

    def note(cycle: CycleState, pod: Pod, node_name: str) -> None:
        flights.append(len(world.queue._in_flight))

    world = World(
        plugin(Permits, "A", Wait(10)),
        plugin(PreBinds, "B", note, flight=Script(note)),
        plugin(PostBinds, "C", note),
    )
    world.add()
    world.schedule(after(1, world.allow, "A"))
    assert flights == [1, 0, 0]


# Others hear that there is room again


WANTS_ROOM = [ClusterEvent(POD, Action.DELETE)]


def crowded(*fails: type[Plugin]) -> World:
    """A world where `other` waits for room, and `pod` fails to be bound after 5 seconds."""
    no_room = plugin(
        Filters,
        "F",
        lambda cycle, pod, node: NO if pod.name == "other" else None,
        events=lambda self: WANTS_ROOM,
    )
    world = World(no_room, *fails)
    world.add("other", priority=9)
    world.add("pod")
    return world


async def breaks(cycle: CycleState, pod: Pod, node_name: str) -> Status:
    await asyncio.sleep(5)
    return ERROR


@pytest.mark.parametrize(
    ("fails", "place"),
    [
        (plugin(PreBinds, "A", breaks), "backoff"),
        (plugin(Permits, "A", Wait(5), events=lambda self: WANTS_ROOM), "unschedulable"),
    ],
)
def test_a_pod_given_back_makes_room_for_others_but_does_not_wake_itself(
    fails: type[Plugin], place: str
) -> None:
    world = crowded(fails)
    world.client.refuses = OSError("no status is written, so that no pod is woken by that")
    world.schedule()
    assert world.place("other") == "backoff"
    assert world.place("pod") == place


def test_an_event_while_a_pod_waits_counts_when_it_is_rejected() -> None:
    world = World(plugin(Permits, "A", Wait(5), events=lambda self: WANTS_ROOM))
    world.door.put(gone := make_pod("gone", node="n0"))
    world.add()
    world.schedule(after(1, world.door.remove, gone))
    assert world.plugins_of() == ({"A"}, set())
    assert world.place() == "backoff"


# The pod changes meanwhile


def test_a_bind_whose_answer_was_lost_is_not_repeated() -> None:
    """The API server bound the pod, the plugin says it failed: the watch knows better."""

    async def lost(cycle: CycleState, pod: Pod, node_name: str) -> None:
        world.client.bind(pod, node_name)
        raise TimeoutError("no answer")

    world = World(plugin(Binds, "A", lost), in_tree=["PrioritySort"])
    pod = world.add()
    world.schedule()
    assert world.place() == "nowhere"
    assert world.node_of() == "n0"
    assert world.state.pod(pod.uid) is not None
    assert world.notes == [("FailedScheduling", 'running Bind plugin "A": TimeoutError: no answer')]


@pytest.mark.parametrize("marked", [False, True])
def test_a_pod_that_goes_while_it_is_bound_is_forgotten_at_once(marked: bool) -> None:
    gone: list[bool] = []

    async def slow(cycle: CycleState, pod: Pod, node_name: str) -> None:
        if marked:
            new = make_pod(metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})
            world.client.pods[pod.key] = new
            world.door.put(new)
        else:
            world.delete()
        await asyncio.sleep(1)
        gone.append(world.state.placement(pod.uid) is None)
        raise LookupError('pods "pod" not found')

    world = World(plugin(Binds, "A", slow), in_tree=["PrioritySort"])
    world.add()
    world.schedule()
    assert gone == [True]
    assert world.place() == ("backoff" if marked else "nowhere")


def test_an_unexpected_failure_gives_the_pod_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from moorage.scheduler import binding_cycle as module

    async def broken(*args: Any) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(module, "bind", broken)
    world = World()
    pod = world.add()
    world.schedule()
    assert world.state.placement(pod.uid) is None
    assert world.place() == "backoff"
    assert world.condition() == ("False", "SchedulerError", "ValueError: broken")
    assert caplog.messages == ["Binding the pod failed", "Error scheduling pod; retrying"]


def test_a_pod_that_waits_on_permit_makes_room_for_a_more_important_one() -> None:
    """It is bound to nothing yet, so nothing is deleted: it goes back to the queue."""
    holds = plugin(Permits, "Holds", lambda cycle, pod, node: Wait(60) if pod.name == "held" else None)
    in_tree = ("PrioritySort", "NodeResourcesFit", "DefaultPreemption", "DefaultBinder")
    world = World(holds, nodes=[make_node("n0", cpu="4")], in_tree=in_tree)
    world.add("held", cpu="3", priority=1)

    async def main() -> None:
        held = asyncio.create_task(world.scheduler.drain())
        await asyncio.sleep(1)
        assert len(world.services.waiting_pods) == 1
        world.add("important", cpu="3", priority=2)
        await world.scheduler.drain()
        await held
        assert world.scheduler.try_next(), "it is backing off, and there is nobody else to try"
        await world.scheduler.drain()

    fake_time.run(main())
    assert world.client.pods["default/important"].spec.node_name == "n0"
    assert not world.client.pods["default/held"].spec.node_name
    [note] = [note for reason, note in world.notes if reason == "Preempted"]
    assert note.endswith("on node n0 (in kube-scheduler memory).")
