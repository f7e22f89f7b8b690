from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import PODS_TO_ACTIVATE, CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent
from moorage.framework.extension_points import Plugin, PreEnqueuePlugin
from moorage.framework.status import Status, Wait
from moorage.testing import make_node, make_pod
from tests import fake_time
from tests.framework.scripted import (
    Binds,
    Filters,
    Permits,
    PostBinds,
    PostFilters,
    PreBinds,
    PreFilters,
    PreScores,
    Reserves,
    Scores,
    plugin,
)
from tests.scheduler.worlds import World, after

NO = Status.unschedulable("no")
LATER = Status.pending("later")


def nothing_is_left_of(world: World, name: str = "pod") -> bool:
    uid = make_pod(name).uid
    return world.state.placement(uid) is None and len(world.services.waiting_pods) == 0


# A pod that gets a node


def test_a_pod_is_assumed_bound_and_announced() -> None:
    seen: list[Any] = []

    def look(cycle: CycleState, pod: Pod, node_name: str) -> None:
        seen.append((pod.spec.node_name, node_name, world.state.is_assumed(pod.uid)))

    world = World(plugin(Reserves, "R", look), plugin(Permits, "P", look))
    pod = world.add()
    world.schedule()
    assert seen == [("n0", "n0", True), ("n0", "n0", True)]
    assert pod.spec.node_name == ""
    assert world.node_of() == "n0"
    assert not world.state.is_assumed(pod.uid)
    assert world.state.pod(pod.uid) is world.client.pods[pod.key]
    assert world.place() == "nowhere"
    (event,) = world.recorder.events
    assert event[1:] == (None, "Normal", "Scheduled", "Binding", "Successfully assigned default/pod to n0")
    assert world.client.written == []


def test_the_points_run_in_order() -> None:
    calls: list[str] = []

    def note(point: str) -> Any:
        def answer(cycle: CycleState, pod: Pod, where: Any) -> Any:
            calls.append(point)
            return 1 if point == "score" else None

        return answer

    world = World(
        plugin(PostBinds, "PostBind", note("post_bind")),
        plugin(Binds, "Bind", note("bind")),
        plugin(PreBinds, "PreBind", note("pre_bind")),
        plugin(Permits, "Permit", note("permit")),
        plugin(Reserves, "Reserve", note("reserve")),
        plugin(Scores, "Score", note("score")),
        plugin(PreScores, "PreScore", note("pre_score")),
        plugin(Filters, "Filter", note("filter")),
        plugin(PreFilters, "PreFilter", lambda cycle, pod: calls.append("pre_filter")),
        nodes=2,
        in_tree=["PrioritySort"],
    )
    world.add()
    world.schedule()
    assert calls == [
        "pre_filter",
        *["filter"] * 2,
        "pre_score",
        *["score"] * 2,
        "reserve",
        "permit",
        "pre_bind",
        "bind",
        "post_bind",
    ]


def test_pods_are_tried_in_the_order_of_the_queue_and_see_those_before_them() -> None:
    world = World(
        in_tree=["PrioritySort", "NodeResourcesFit", "DefaultBinder"], nodes=[make_node("n0", cpu=2)]
    )
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        world.add(name, priority=priority, cpu=1)
    world.schedule()
    assert {name: world.node_of(name) for name in ("high", "middle", "low")} == {
        "high": "n0",
        "middle": "n0",
        "low": "",
    }
    assert world.condition("low") == (
        "False",
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
    )


def test_each_profile_serves_its_own_pods() -> None:
    world = World(schedulers=["one", "two"])
    for name in ("one", "two", "three"):
        world.add(name, scheduler=name)
    world.schedule()
    assert [world.node_of(name) for name in ("one", "two", "three")] == ["n0", "n0", ""]


# Pods that are not tried


def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    world = World()
    world.add(metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})
    world.schedule()
    assert (world.place(), world.node_of()) == ("nowhere", "")
    (event,) = world.recorder.events
    assert event[2:] == (
        "Warning",
        "FailedScheduling",
        "Scheduling",
        "skip schedule deleting pod: default/pod",
    )
    assert world.client.written == []


def test_a_pod_that_is_assumed_is_skipped() -> None:
    world = World()
    pod = world.add()
    world.state.assume(pod, "n0")
    world.schedule()
    assert (world.notes, world.node_of(), world.place()) == ([], "", "nowhere")


# Reserve and Permit


def error(point: str, answer: Status | Exception) -> str:
    said = "broken" if isinstance(answer, Status) else "ValueError: broken"
    return f'running {point} plugin "A": {said}'


@pytest.mark.parametrize(
    ("answer", "place", "rejected", "pending", "reason"),
    [
        (NO, "unschedulable", {"A"}, set(), "Unschedulable"),
        (Status.unresolvable("no"), "unschedulable", {"A"}, set(), "Unschedulable"),
        (Status.pending("no"), "unschedulable", {"A"}, {"A"}, "Unschedulable"),
        (Status.error("broken"), "backoff", set(), set(), "SchedulerError"),
        (ValueError("broken"), "backoff", set(), set(), "SchedulerError"),
    ],
)
@pytest.mark.parametrize("point", ["Reserve", "Permit"])
def test_a_pod_that_reserve_or_permit_refuses_goes_back(
    point: str, answer: Any, place: str, rejected: set[str], pending: set[str], reason: str
) -> None:
    calls: list[str] = []
    base = Reserves if point == "Reserve" else Permits
    refuses = plugin(base, "A", answer, calls=calls, events=lambda self: [])
    world = World(plugin(Reserves, "First", calls=calls), refuses, plugin(Reserves, "Last", calls=calls))
    world.add(status={"nominatedNodeName": "n0"})
    world.schedule()
    unreserved = ["Last unreserve", *(["A unreserve"] if point == "Reserve" else []), "First unreserve"]
    assert calls[-len(unreserved) :] == unreserved
    assert nothing_is_left_of(world)
    assert world.place() == place
    assert world.plugins_of() == (rejected, pending)
    message = "0/1 nodes are available: 1 no." if rejected else error(point, answer)
    assert world.condition() == ("False", reason, message)
    assert world.notes == [("FailedScheduling", message)]
    assert world.client.nominations == [""]


def test_a_refusal_with_several_reasons_counts_each() -> None:
    world = World(plugin(Reserves, "A", Status.unschedulable("b", "a", "b")))
    world.add()
    world.schedule()
    assert world.notes == [("FailedScheduling", "0/1 nodes are available: 1 a, 2 b.")]


def test_a_refused_pod_does_not_wake_itself_or_others() -> None:
    """What is taken back within a cycle was never there for anybody else."""
    wants_room = [ClusterEvent(POD, Action.DELETE)]
    refuses = plugin(Permits, "A", NO, events=lambda self: wants_room)
    rejects = plugin(
        Filters,
        "F",
        lambda cycle, pod, node: NO if pod.name == "other" else None,
        events=lambda self: wants_room,
    )
    world = World(refuses, rejects)
    world.add("other", priority=9)
    world.add("pod")
    world.schedule()
    assert (world.place("other"), world.place("pod")) == ("unschedulable", "unschedulable")


def test_a_pod_that_cannot_be_assumed_is_tried_again() -> None:
    world = World()
    world.add(uid="same")
    world.state.add_pod(make_pod("other", uid="same", node="n0"))
    world.schedule()
    assert world.place() == "backoff"
    assert world.condition() == (
        "False",
        "SchedulerError",
        "pod same(default/pod) is in the cache, so can't be assumed",
    )


# Waiting on permit


def test_a_pod_waits_until_it_is_allowed() -> None:
    world = World(plugin(Permits, "A", Wait(60)))
    pod = world.add()

    def allow() -> None:
        waiting = world.services.waiting_pods.with_uid(pod.uid)
        assert waiting is not None
        assert waiting.pod.spec.node_name == "n0"
        assert world.client.nominations == ["n0"]
        waiting.allow("A")

    world.schedule(after(5, allow))
    assert world.node_of() == "n0"
    assert world.notes == [("Scheduled", "Successfully assigned default/pod to n0")]
    assert nothing_is_left_of(world) is False
    assert len(world.services.waiting_pods) == 0


def test_a_pod_that_is_deleted_while_it_waits_is_given_up() -> None:
    calls: list[str] = []
    world = World(plugin(Permits, "A", Wait(60)), plugin(Reserves, "R", calls=calls))
    world.add()
    world.schedule(after(5, world.delete))
    assert calls == ["R reserve", "R unreserve"]
    assert nothing_is_left_of(world)
    assert world.place() == "nowhere"
    assert world.notes == [("FailedScheduling", "0/1 nodes are available: 1 removed.")]


# Pods to activate


def stashes(name: str) -> Any:
    """Puts a pod into the container of those to activate."""

    def answer(cycle: CycleState, pod: Pod, node_name: str) -> None:
        if pod.name != name:
            cycle.read(PODS_TO_ACTIVATE)[f"default/{name}"] = make_pod(name)

    return answer


def rejects(name: str) -> type[Plugin]:
    def answer(cycle: CycleState, pod: Pod, node: Any) -> Status | None:
        return NO if pod.name == name else None

    return plugin(Filters, "F", answer, events=lambda self: [])


@pytest.mark.parametrize("base", [Reserves, Permits, PreBinds, PostBinds])
def test_pods_are_activated_after_the_cycle_and_after_the_binding(base: type[Any]) -> None:
    world = World(plugin(base, "A", stashes("sleeper")), rejects("sleeper"))
    world.add("sleeper", priority=9)
    world.add("pod")
    world.schedule()
    assert world.node_of("pod") == "n0"
    assert world.place("sleeper") == "active"


def test_pods_are_not_activated_after_a_failed_cycle() -> None:
    def answer(cycle: CycleState, pod: Pod, node_name: str) -> Status:
        stashes("sleeper")(cycle, pod, node_name)
        return NO

    world = World(plugin(Permits, "A", answer), rejects("sleeper"))
    world.add("sleeper", priority=9)
    world.add("pod")
    world.schedule()
    assert world.place("sleeper") == "unschedulable"


def test_what_cannot_be_activated_hinders_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def answer(cycle: CycleState, pod: Pod, node_name: str) -> None:
        cycle.read(PODS_TO_ACTIVATE)["x"] = "no pod"

    world = World(plugin(Reserves, "A", answer))
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert "Pods cannot be activated" in caplog.messages


# Plugins that fail


class Boom(Exception):
    pass


def gate(self: Plugin, pod: Pod) -> None:
    raise Boom("gate")


BROKEN: list[type[Plugin]] = [
    plugin(base, "Broken", Boom("broken"))
    for base in (PreFilters, Filters, PreScores, Scores, Reserves, Permits, PreBinds, Binds, PostBinds)
]
BROKEN += [
    type("Broken", (PreEnqueuePlugin,), {"pre_enqueue": gate}),
    plugin(Binds, "Broken", Status.error(404)),  # type: ignore[arg-type]
    plugin(Reserves, "Broken", Status.error(None)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_plugin_that_raises_never_stops_the_scheduler(broken: type[Plugin]) -> None:
    async def main() -> None:
        binder = [] if issubclass(broken, Binds) else ["DefaultBinder"]
        world = World(broken, rejects("nobody"), nodes=2, in_tree=["PrioritySort", *binder])
        world.add("one")
        world.add("two")
        running = asyncio.create_task(world.scheduler.run())
        for _ in range(5):
            await asyncio.sleep(3)
            world.now += 3
        assert not running.done()
        world.scheduler.stop()
        await running
        for name in ("one", "two"):
            waits = nothing_is_left_of(world, name) and world.place(name) != "nowhere"
            assert waits or world.node_of(name)

    fake_time.run(main())


def test_even_a_failure_of_the_scheduler_itself_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from moorage.scheduler import scheduler as module

    def broken(*args: Any) -> None:
        raise Boom("broken")

    monkeypatch.setattr(module, "nothing_to_reserve", broken)
    world = World()
    world.add()
    world.schedule()
    assert nothing_is_left_of(world)
    assert world.place() == "backoff"
    assert world.condition() == ("False", "SchedulerError", "Boom: broken")
    assert caplog.messages == ["Scheduling the pod failed", "Error scheduling pod; retrying"]


# Running


def test_run_takes_pods_as_they_come_and_tries_failed_ones_again() -> None:
    async def main() -> None:
        world = World(nodes=0)
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(0.5)
        world.add("early")
        await asyncio.sleep(0.1)
        assert world.place("early") == "backoff"
        world.door.put(make_node("n0"))
        world.add("late")
        await asyncio.sleep(0.1)
        assert world.node_of("late") == "n0"
        world.now += 5
        await asyncio.sleep(2)
        assert world.node_of("early") == "n0"
        world.scheduler.stop()
        await running

    fake_time.run(main())


def test_run_finishes_the_binds_that_are_under_way() -> None:
    async def slow(cycle: CycleState, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(3)

    async def main() -> None:
        world = World(plugin(PreBinds, "A", slow))
        world.add()
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(1)
        world.scheduler.stop()
        await running
        assert world.node_of() == "n0"
        assert fake_time.now() < 5

    fake_time.run(main())


def test_run_does_not_wait_for_long_for_pods_that_wait_on_permit() -> None:
    async def main() -> None:
        calls: list[str] = []
        world = World(plugin(Permits, "A", Wait(900)), plugin(Reserves, "R", calls=calls))
        world.add()
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(1)
        world.scheduler.stop()
        await running
        assert fake_time.now() == pytest.approx(6)
        assert calls == ["R reserve", "R unreserve"]
        assert nothing_is_left_of(world)

    fake_time.run(main())


def test_close_closes_the_plugins_of_every_profile() -> None:
    closed: list[str] = []
    closing = plugin(Filters, "A", close=lambda self: closed.append(self.handle.profile_name))
    World(closing, schedulers=["one", "two"]).scheduler.close()
    assert closed == ["one", "two"]


def test_progress_is_told_of_every_pod() -> None:
    world = World()
    told: list[int] = []
    for number in range(3):
        world.add(f"p{number}")
    fake_time.run(world.scheduler.drain(told.append))
    assert told == [1, 2, 3]


def test_a_pod_nominated_in_memory_gives_that_up_when_it_is_assumed() -> None:
    world = World(nodes=2)
    pod = world.add()
    world.services.nominations.add(pod, "n1")
    world.schedule()
    assert len(world.services.nominations) == 0


def test_an_event_during_the_attempt_is_not_lost() -> None:
    """The node appears after PreFilter has looked: the pod must not wait for another event."""

    def answer(cycle: CycleState, pod: Pod, node: Any) -> Status:
        world.door.put(make_node("late"))
        return NO

    world = World(plugin(Filters, "A", answer, events=lambda self: [ClusterEvent(NODE, Action.ADD)]))
    world.add()
    world.schedule()
    assert world.place() == "backoff"


def test_post_filter_is_not_asked_after_reserve_or_permit() -> None:
    asked = plugin(PostFilters, "Z", NO)
    world = World(plugin(Reserves, "A", LATER), asked)
    world.add()
    world.schedule()
    assert asked.calls == []
