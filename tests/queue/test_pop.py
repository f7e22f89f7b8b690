from __future__ import annotations

import asyncio
import logging

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.pods import Pod, PodSpec
from moorage.framework.events import NODE, Action, ClusterEvent
from moorage.queue.change_events import NODE_ADD
from tests.queue.worlds import Rejecter, World

FITS = ("Fit", [ClusterEvent(NODE, Action.ADD)])


def test_nothing_to_pop() -> None:
    assert World().queue.pop() is None


def test_pop_counts_attempts_and_cycles() -> None:
    world = World(Rejecter(*FITS))
    world.add("a")
    world.add("b")
    first, second = world.pop(), world.pop()
    assert (first.attempts, second.attempts, world.queue.cycle_number) == (1, 1, 2)
    world.give_back(first)
    world.clock.now += 5
    world.queue.flush_backoff()
    assert world.pop() is first
    assert (first.attempts, world.queue.cycle_number) == (2, 3)


def test_pop_takes_the_plugins_off_the_gauge_and_off_the_record() -> None:
    world = World(Rejecter(*FITS))
    queued = world.rejected(by=["Fit"], pending=["Other"])
    assert world.observer.rejections == {"Fit": 1, "Other": 1}
    world.queue.activate([queued.pod])
    assert world.pop() is queued
    assert world.observer.rejections == {}
    assert queued.rejecting_plugins == set()


def test_first_attempt_time_is_set_once() -> None:
    world = World()
    pod = world.add()
    queued = world.queue.get(pod)
    assert queued is not None
    assert queued.first_attempt_time == 1000.0
    world.clock.now += 3
    world.give_back(world.pop())
    world.clock.now += 3
    world.queue.flush_backoff()
    assert queued.first_attempt_time == 1000.0
    assert queued.timestamp == 1003.0


def backing_off(world: World, name: str, priority: int = 0) -> None:
    """Puts a pod in the backoff queue that a plugin rejected."""
    queued = world.rejected(name, by=["Fit"], priority=priority)
    world.queue.move_all(NODE_ADD)
    assert world.place(name) == "backoff"
    assert queued.unschedulable_count == 1


def test_pop_from_backoff_when_nothing_is_active() -> None:
    world = World(Rejecter(*FITS))
    backing_off(world, "a")
    world.observer.entries.clear()
    assert world.pop().pod.name == "a"
    assert world.observer.entries == [("active", "PopFromBackoffQ")]
    assert world.place("a") == "nowhere"


def test_active_pods_go_before_pods_in_backoff() -> None:
    world = World(Rejecter(*FITS))
    backing_off(world, "waiting", priority=100)
    world.add("fresh", priority=-5)
    assert world.pop_all() == ["fresh", "waiting"]


def test_backoff_is_ordered_by_second_then_by_queue_order() -> None:
    world = World(Rejecter(*FITS), now=1000.9)
    world.add("late", priority=9)
    world.add("low", priority=1)
    world.add("high", priority=5)
    records = {queued.pod.name: queued for queued in (world.pop(), world.pop(), world.pop())}
    for name, at in (("low", 1000.1), ("high", 1000.8), ("late", 1001.1)):
        world.clock.now = at
        world.give_back(records[name], by=["Fit"])
    world.queue.move_all(NODE_ADD)
    assert world.pop_all() == ["high", "low", "late"]


def test_pods_that_met_an_error_are_never_popped_early() -> None:
    world = World()
    world.rejected("a")
    assert world.place("a") == "backoff"
    assert world.queue.pop() is None
    world.clock.now += 2
    assert world.queue.pop() is None
    world.queue.flush_backoff()
    assert world.pop().pod.name == "a"


def test_errors_back_off_by_expiry_only() -> None:
    world = World()
    world.add("low", priority=1)
    world.add("high", priority=9)
    high, low = world.pop(), world.pop()
    world.give_back(low)
    world.give_back(high)
    world.clock.now += 2
    world.observer.entries.clear()
    world.queue.flush_backoff()
    assert world.observer.entries == [("active", "BackoffComplete")] * 2
    assert world.pop_all() == ["high", "low"]


def test_a_pod_in_flight_is_not_popped_again(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.add("twice")
    world.pop()
    world.add("twice")
    world.add("next")
    with caplog.at_level(logging.ERROR):
        assert world.pop_all() == ["next"]
    assert "default/twice is in flight already" in caplog.text
    assert world.queue.cycle_number == 2


def test_nothing_is_popped_from_a_closed_queue() -> None:
    world = World()
    world.add()
    world.queue.close()
    assert world.queue.closed
    assert world.queue.pop() is None


def test_ready_returns_at_once_if_there_is_a_pod() -> None:
    world = World()
    world.add()
    asyncio.run(world.queue.ready())


def test_ready_waits_for_an_active_pod() -> None:
    async def scenario() -> None:
        world = World()
        waiter = asyncio.ensure_future(world.queue.ready())
        await asyncio.sleep(0)
        assert not waiter.done()
        world.add()
        await waiter
        assert world.queue.pop() is not None

    asyncio.run(scenario())


def test_ready_does_not_return_for_errors_in_backoff_but_for_rejections() -> None:
    async def scenario() -> None:
        world = World(Rejecter(*FITS))
        world.rejected("error")
        rejected = world.rejected("rejected", by=["Fit"])
        waiter = asyncio.ensure_future(world.queue.ready())
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiter.done()
        world.queue.move_all(NODE_ADD)
        await waiter
        assert world.queue.pop() is rejected

    asyncio.run(scenario())


def test_ready_goes_back_to_waiting_if_the_pod_was_taken() -> None:
    async def scenario() -> None:
        world = World()
        waiter = asyncio.ensure_future(world.queue.ready())
        await asyncio.sleep(0)
        world.add("a")
        assert world.queue.pop() is not None
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiter.done()
        world.queue.close()
        await waiter

    asyncio.run(scenario())


def test_closing_wakes_everybody_who_waits() -> None:
    async def scenario() -> None:
        world = World()
        waiters = [asyncio.ensure_future(world.queue.ready()) for _ in range(3)]
        await asyncio.sleep(0)
        world.queue.close()
        await asyncio.gather(*waiters)

    asyncio.run(scenario())


def test_a_hundred_thousand_pods_come_out_in_order() -> None:
    world = World()
    number = 100_000
    for index in range(number):
        metadata = ObjectMeta(name=f"pod-{index}", namespace="default", uid=str(index))
        world.queue.add(Pod(metadata=metadata, spec=PodSpec(priority=index % 10)))
    order = []
    while (queued := world.queue.pop()) is not None:
        order.append((-queued.pod.priority, int(queued.pod.uid)))
        world.queue.done(queued.pod.uid)
    assert len(order) == number
    assert order == sorted(order)
