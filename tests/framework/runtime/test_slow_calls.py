"""Plugins that hold everything up are named and counted; plugins that wait are not."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import PreEnqueuePlugin, QueueSortPlugin, ReservePlugin
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.observer import NoObserver
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime import slow_calls
from moorage.framework.runtime.binding import bind, post_bind, pre_bind, pre_bind_pre_flight
from moorage.framework.runtime.filtering import filter_nodes, pre_filter
from moorage.framework.runtime.post_filtering import post_filter
from moorage.framework.runtime.reserving import permit, reserve, unreserve
from moorage.framework.runtime.scoring import pre_score, score
from moorage.framework.status import Status
from moorage.queue.gating import first_objection
from moorage.queue.ordering import QueueOrder
from moorage.testing import make_pod
from tests.framework.scripted import (
    Binds,
    FastFilters,
    FastScores,
    Filters,
    Permits,
    PostBinds,
    PostFilters,
    PreBinds,
    PreFilters,
    PreScores,
    Reserves,
    Scores,
    Scripted,
    World,
    plugin,
)

POD = make_pod("p")


class Clock:
    """Stands in for the computer's: only a plugin that computes or sleeps makes it go."""

    def __init__(self) -> None:
        self.now = 0.0

    def block(self, seconds: float, answer: Any = None) -> Callable[..., Any]:
        """What a plugin does that blocks and then answers so."""

        def answered(*asked: Any) -> Any:
            self.now += seconds
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return answered


class Slow(NoObserver):
    """Notes who was slow where."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []

    def plugin_slow(self, plugin: str, point: str, profile: str) -> None:
        self.calls.append((plugin, point, profile))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(slow_calls, "_warned", {})
    return made


class PreEnqueues(Scripted, PreEnqueuePlugin):
    def pre_enqueue(self, pod: Any) -> Any:
        return self.script(pod)


class Sorts(Scripted, QueueSortPlugin):
    def sort_key(self, queued: QueuedPod) -> Any:
        return self.script(queued)


class Unreserves(Scripted, ReservePlugin):
    def reserve(self, cycle: CycleState, pod: Any, node_name: str) -> None:
        return None

    def unreserve(self, cycle: CycleState, pod: Any, node_name: str) -> None:
        self.script(cycle, pod, node_name)


class PreFlights(PreBinds):
    """Its script is for `pre_bind_pre_flight`."""

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Any, node_name: str) -> Any:
        return self.script(cycle, pod, node_name)


Step = Callable[[World, CycleState], Any]

AT_ONCE: dict[str, tuple[type[Scripted], Step]] = {
    "PreEnqueue": (PreEnqueues, lambda world, cycle: first_objection(world.profile, POD)),
    "QueueSort": (Sorts, lambda world, cycle: QueueOrder(world.profile).of(QueuedPod(POD, 0.0))),
    "PreFilter": (
        PreFilters,
        lambda world, cycle: pre_filter(world.profile, world.profile.plans.general, cycle, POD),
    ),
    "Filter": (
        Filters,
        lambda world, cycle: filter_nodes(
            world.profile,
            world.profile.plans.general,
            cycle,
            POD,
            world.nodes,
            NodeStatuses(world.state.table),
        ),
    ),
    "PostFilter": (
        PostFilters,
        lambda world, cycle: post_filter(world.profile, cycle, POD, NodeStatuses(world.state.table)),
    ),
    "PreScore": (
        PreScores,
        lambda world, cycle: pre_score(world.profile, world.profile.plans.general, cycle, POD, world.nodes),
    ),
    "Score": (
        Scores,
        lambda world, cycle: score(world.profile, world.profile.plans.general, cycle, POD, world.nodes),
    ),
    "Reserve": (Reserves, lambda world, cycle: reserve(world.profile, cycle, POD, "n0")),
    "Unreserve": (Unreserves, lambda world, cycle: unreserve(world.profile, cycle, POD, "n0")),
    "Permit": (Permits, lambda world, cycle: permit(world.profile, cycle, POD, "n0")),
}
BINDING: dict[str, tuple[type[Scripted], Callable[..., Awaitable[Any]]]] = {
    "PreBindPreFlight": (PreFlights, pre_bind_pre_flight),
    "PreBind": (PreBinds, pre_bind),
    "Bind": (Binds, bind),
    "PostBind": (PostBinds, post_bind),
}


def watched_world(*plugins: type[Scripted]) -> tuple[World, Slow]:
    world, slow = World(*plugins, nodes=1), Slow()
    world.profile.observer = slow
    return world, slow


def run_binding(point: str, answer: Any) -> list[tuple[str, str, str]]:
    base, step = BINDING[point]
    world, slow = watched_world(plugin(base, "A", answer))
    asyncio.run(_awaited(step(world.profile, CycleState(), POD, "n0")))
    return slow.calls


async def _awaited(answer: Awaitable[Any]) -> None:
    await answer


@pytest.mark.parametrize("answer", [None, ValueError("broken")], ids=["answers", "raises"])
@pytest.mark.parametrize("point", AT_ONCE)
def test_a_plugin_that_blocks_is_counted(
    point: str, answer: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    base, step = AT_ONCE[point]
    world, slow = watched_world(plugin(base, "A", clock.block(1, answer)))
    with caplog.at_level(logging.WARNING, logger=slow_calls.__name__):
        step(world, CycleState())
    assert slow.calls == [("A", point, "default-scheduler")]
    [record] = [each for each in caplog.records if each.name == slow_calls.__name__]
    assert record.getMessage().startswith("Slow plugin")
    fields = record.__dict__
    assert (fields["plugin"], fields["extensionPoint"], fields["profile"]) == (
        "A",
        point,
        "default-scheduler",
    )
    assert fields["seconds"] == 1


@pytest.mark.parametrize("answer", [None, ValueError("broken")], ids=["answers", "raises"])
@pytest.mark.parametrize("point", BINDING)
def test_a_plugin_that_blocks_while_binding_is_counted(point: str, answer: Any, clock: Clock) -> None:
    assert run_binding(point, clock.block(1, answer)) == [("A", point, "default-scheduler")]


@pytest.mark.parametrize("answer", [None, ValueError("broken")], ids=["answers", "raises"])
@pytest.mark.parametrize("point", BINDING)
def test_an_async_plugin_that_blocks_in_between_is_counted(point: str, answer: Any, clock: Clock) -> None:
    async def blocks(*asked: Any) -> Any:
        await asyncio.sleep(0)
        return clock.block(1, answer)()

    assert run_binding(point, blocks) == [("A", point, "default-scheduler")]


@pytest.mark.parametrize("point", BINDING)
def test_an_async_plugin_may_wait_as_long_as_it_likes(point: str, clock: Clock) -> None:
    async def waits(*asked: Any) -> None:
        for _ in range(3):
            clock.now += 0.1
            done = asyncio.get_running_loop().create_future()

            def later(done: asyncio.Future[None] = done) -> None:
                clock.now += 60  # others were at work
                done.set_result(None)

            asyncio.get_running_loop().call_soon(later)
            await done

    assert run_binding(point, waits) == []


@pytest.mark.parametrize("base", [FastFilters, FastScores])
def test_the_fast_form_is_looked_at_as_well(base: type[Scripted], clock: Clock) -> None:
    world, slow = watched_world(plugin(base, "A", clock.block(1)))
    point = "Filter" if base is FastFilters else "Score"
    AT_ONCE[point][1](world, CycleState())
    assert slow.calls == [("A", point, "default-scheduler")]


def test_normalizing_belongs_to_scoring(clock: Clock) -> None:
    made = plugin(Scores, "A", 1, normalize_scores=lambda self, cycle, pod, scores: clock.block(1, scores)())
    world, slow = watched_world(made)
    score(world.profile, world.profile.plans.general, CycleState(), POD, world.nodes)
    assert slow.calls == [("A", "Score", "default-scheduler")]


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2])
def test_quick_calls_are_not_counted(seconds: float, clock: Clock) -> None:
    world, slow = watched_world(plugin(Reserves, "A", clock.block(seconds)))
    reserve(world.profile, CycleState(), POD, "n0")
    assert slow.calls == []


def test_only_the_plugin_that_blocks_is_named(clock: Clock) -> None:
    world, slow = watched_world(plugin(Reserves, "A"), plugin(Reserves, "B", clock.block(1)))
    reserve(world.profile, CycleState(), POD, "n0")
    assert slow.calls == [("B", "Reserve", "default-scheduler")]


def test_every_slow_call_is_counted_and_one_a_minute_is_logged(
    clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: minutes.now)
    world, slow = watched_world(plugin(Reserves, "A", clock.block(1)), plugin(Permits, "B", clock.block(1)))

    def warned() -> int:
        return sum(each.name == slow_calls.__name__ for each in caplog.records)

    for _ in range(3):
        reserve(world.profile, CycleState(), POD, "n0")
    assert (len(slow.calls), warned()) == (3, 1)
    permit(world.profile, CycleState(), POD, "n0")
    assert warned() == 2
    minutes.now += slow_calls.SILENCE_SECONDS
    reserve(world.profile, CycleState(), POD, "n0")
    assert (len(slow.calls), warned()) == (5, 3)


# What is awaited behaves as it would without being looked at


def awaited(awaitable: Awaitable[Any]) -> Any:
    world, _ = watched_world(plugin(PreBinds, "A"))

    async def main() -> Any:
        return await slow_calls.Steps(awaitable, world.profile, world.profile.pre_bind[0], "PreBind")

    return asyncio.run(main())


def test_the_answer_arrives() -> None:
    async def answer() -> Status:
        await asyncio.sleep(0)
        return Status.skip()

    assert awaited(answer()) == Status.skip()


def test_what_is_waited_for_can_fail() -> None:
    async def answer() -> str:
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(done.set_exception, ValueError("broken"))
        try:
            await done
        except ValueError as error:
            return str(error)
        return ""

    assert awaited(answer()) == "broken"


@pytest.mark.parametrize("catches", [True, False])
def test_it_can_be_cancelled(catches: bool) -> None:
    cleaned: list[str] = []

    async def plugin_work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cleaned.append("up")
            if not catches:
                raise
        return "went on"

    async def main() -> Any:
        world, _ = watched_world(plugin(PreBinds, "A"))
        steps = slow_calls.Steps(plugin_work(), world.profile, world.profile.pre_bind[0], "PreBind")

        async def waiting() -> Any:
            return await steps

        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        task.cancel()
        return (await asyncio.gather(task, return_exceptions=True))[0]

    result = asyncio.run(main())
    assert cleaned == ["up"]
    assert result == "went on" if catches else isinstance(result, asyncio.CancelledError)


def test_a_future_of_the_plugins_own_can_be_awaited() -> None:
    async def main() -> Any:
        world, _ = watched_world(plugin(PreBinds, "A"))
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(done.set_result, 7)
        return await slow_calls.Steps(done, world.profile, world.profile.pre_bind[0], "PreBind")

    assert asyncio.run(main()) == 7
