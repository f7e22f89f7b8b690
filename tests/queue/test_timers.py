from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest

from moorage.framework.events import NODE, Action, ClusterEvent
from moorage.queue.change_events import NODE_ADD
from tests.queue.worlds import Clock, Rejecter, World

FIT = ("Fit", [ClusterEvent(NODE, Action.ADD)])


class JumpingSelector(selectors.SelectSelector):
    """Lets the clock jump over the time that a loop would have slept."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout:
            self.clock.now += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        super().__init__(JumpingSelector(clock))
        self.clock = clock

    def time(self) -> float:
        return self.clock.now


def run(clock: Clock, scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: JumpingLoop(clock)) as runner:
        runner.run(scenario)


# What the timers do


def test_flush_backoff_moves_the_pods_whose_backoff_is_over() -> None:
    world = World(Rejecter(*FIT))
    world.rejected("rejected", by=["Fit"])
    world.queue.move_all(NODE_ADD)
    queued = world.pop()
    world.give_back(queued, by=["Fit"])
    world.queue.move_all(NODE_ADD)
    world.add("error", priority=1)
    world.give_back(world.pop())
    world.observer.entries.clear()
    for now, places in (
        (1001.9, ("backoff", "backoff")),
        (1002.0, ("backoff", "active")),
        (1002.9, ("backoff", "active")),
        (1003.0, ("active", "active")),
    ):
        world.clock.now = now
        world.queue.flush_backoff()
        assert (world.place("rejected"), world.place("error")) == places
    assert world.observer.entries == [("active", "BackoffComplete")] * 2


@pytest.mark.parametrize(("waited", "place"), [(300.0, "unschedulable"), (300.001, "active")])
def test_flush_unschedulable_after_five_minutes(waited: float, place: str) -> None:
    world = World(Rejecter("Deaf", []))
    queued = world.rejected(by=["Deaf"])
    world.clock.now += waited
    world.queue.flush_unschedulable()
    assert world.place() == place
    assert queued.flushed is (place == "active")
    if place == "active":
        assert world.observer.entries[-1] == ("active", "UnschedulableTimeout")
        assert queued.flush_time == world.clock.now


def test_flush_unschedulable_respects_backoff() -> None:
    world = World(Rejecter("Deaf", []), max_in_unschedulable=2, initial_backoff=30, max_backoff=30)
    world.rejected(by=["Deaf"])
    world.clock.now += 3
    world.queue.flush_unschedulable()
    assert world.place() == "backoff"


def test_a_flush_without_overdue_pods_tells_nobody_in_flight() -> None:
    world = World(Rejecter("Deaf", []))
    world.rejected("waiting", by=["Deaf"])
    world.add("flying")
    world.pop()
    world.queue.flush_unschedulable()
    assert world.queue._in_flight.event_count == 0
    world.clock.now += 301
    world.queue.flush_unschedulable()
    assert world.queue._in_flight.event_count == 1


# When they do it


def test_backoff_is_flushed_at_whole_seconds() -> None:
    world = World(now=1000.25)
    flushes: list[float] = []
    world.queue.flush_backoff = lambda: flushes.append(world.clock.now)  # type: ignore[method-assign]

    async def scenario() -> None:
        timers = asyncio.ensure_future(world.queue.run_timers())
        await asyncio.sleep(3.5)
        timers.cancel()

    run(world.clock, scenario())
    assert flushes == [1001.0, 1002.0, 1003.0]


def test_unschedulable_pods_are_flushed_at_once_and_every_thirty_seconds() -> None:
    world = World(now=1000.25)
    flushes: list[float] = []
    world.queue.flush_unschedulable = lambda: flushes.append(world.clock.now)  # type: ignore[method-assign]

    async def scenario() -> None:
        timers = asyncio.ensure_future(world.queue.run_timers())
        await asyncio.sleep(65)
        timers.cancel()

    run(world.clock, scenario())
    assert flushes == [1000.25, 1030.25, 1060.25]


def test_a_pod_that_met_an_error_wakes_the_loop_when_its_backoff_ends() -> None:
    world = World(now=1000.75)
    world.rejected()

    async def scenario() -> None:
        timers = asyncio.ensure_future(world.queue.run_timers())
        await world.queue.ready()
        assert world.clock.now == 1002.0
        assert world.queue.pop() is not None
        timers.cancel()

    run(world.clock, scenario())
