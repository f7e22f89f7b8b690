"""More events than can be written: none is lost in a burst, and what has to be is counted and told."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import pytest

from moorage.process import event_recorder
from tests.process.event_world import MINUTE, World, in_world, pod


def test_events_that_wait_for_another_try_hold_up_no_others() -> None:
    async def script(world: World) -> None:
        world.server.answers += [ConnectionResetError()] * 50
        for number in range(60):
            world.fail_scheduling(pod(f"p{number}"))
        await world.settle()
        assert len(world.server.events) == 10
        assert world.server.most_at_once <= event_recorder.REQUESTS_AT_ONCE
        await world.settle(30)
        assert len(world.server.events) == 60

    in_world(script)


def test_none_of_a_large_burst_is_lost() -> None:
    async def script(world: World) -> None:
        for number in range(20_000):
            world.schedule(f"p{number}")
            if not number % 2000:
                await world.settle(0)
        await world.settle()
        notes = Counter(event["regarding"]["name"] for event in world.server.events.values())
        assert notes == {f"p{number}": 1 for number in range(20_000)}
        assert not world.dropped

    in_world(script)


def test_events_stand_back_while_pods_are_bound_but_not_for_long() -> None:
    async def script(world: World) -> None:
        world.is_busy, world.server.seconds = True, 0.1
        for number in range(200):
            world.schedule(f"p{number}")
        await world.settle(9)
        assert world.server.most_at_once == event_recorder.REQUESTS_WHILE_BUSY
        assert 80 <= len(world.server.events) <= 90
        await world.settle(3)
        assert len(world.server.events) == 200

    in_world(script)


def test_events_go_on_as_soon_as_pods_are_bound() -> None:
    async def script(world: World) -> None:
        world.is_busy, world.server.seconds = True, 0.1
        for number in range(100):
            world.schedule(f"p{number}")
        await world.settle(1)
        world.is_busy = False
        await world.settle(1)
        assert len(world.server.events) == 100

    in_world(script)


def test_a_client_that_never_waits_leaves_others_their_turn() -> None:
    async def script(world: World) -> None:
        await world.settle()
        for number in range(1000):
            world.schedule(f"p{number}")
        turns = 0
        while len(world.server.events) < 1000:
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 1000 / event_recorder.REQUESTS_AT_ONCE

    in_world(script)


def test_a_burst_longer_than_what_may_wait_is_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_recorder, "MOST_WAITING", 100)

    async def script(world: World) -> None:
        for number in range(110):
            world.fail_scheduling(pod(f"p{number}"))
        assert world.dropped == {event_recorder.TOO_MANY: 10}
        await world.settle()
        assert len(world.server.events) == 100
        assert caplog.text.count("Events are dropped") == 1
        for number in range(101):
            world.fail_scheduling(pod(f"q{number}"))
        await world.settle()
        assert len(world.server.events) == 200
        assert world.dropped == {event_recorder.TOO_MANY: 11}
        assert caplog.text.count("Events are dropped") == 2

    in_world(script)


def test_a_series_is_counted_even_where_nothing_more_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "MOST_WAITING", 2)

    async def script(world: World) -> None:
        for _ in range(5):
            world.fail_scheduling(pod("p"))
            world.fail_scheduling(pod("q"))
        await world.settle()
        assert [event["series"]["count"] for event in world.server.events.values()] == [5, 5]
        assert not world.dropped

    in_world(script)


def test_an_api_server_that_is_away_for_a_while_loses_nothing() -> None:
    async def script(world: World) -> None:
        world.server.always = ConnectionRefusedError()
        for number in range(500):
            world.schedule(f"p{number}")
        await world.settle(100)
        world.server.always = None
        await world.settle(20)
        assert len(world.server.events) == 500
        assert world.server.most_at_once <= event_recorder.REQUESTS_AT_ONCE
        assert not world.dropped

    in_world(script)


def test_an_api_server_that_stays_away_costs_events_and_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_recorder, "MOST_WAITING", 500)

    async def script(world: World) -> None:
        world.server.always = ConnectionRefusedError("nobody listens")
        for batch in range(4):
            for number in range(200):
                world.schedule(f"p{batch}-{number}")
            await world.settle(15)
        assert world.dropped == {event_recorder.TOO_MANY: 300}
        await world.settle(10 * MINUTE)
        assert world.dropped == {event_recorder.TOO_MANY: 300, event_recorder.UNREACHABLE: 500}
        assert caplog.text.count("Events are dropped") == 2
        assert caplog.text.count("nobody listens") == 1
        world.server.always = None
        world.schedule("after")
        await world.settle()
        assert world.only["regarding"]["name"] == "after"
        assert sum(world.dropped.values()) == 800
        world.server.always = ConnectionRefusedError("gone again")
        world.schedule("lost")
        await world.settle(5 * MINUTE)
        assert caplog.text.count("gone again") == 1

    in_world(script)


def test_what_happens_once_leaves_nothing_behind() -> None:
    async def script(world: World) -> None:
        for number in range(50):
            world.schedule(f"p{number}")
        world.fail_scheduling()
        await world.settle()
        assert [key.reason for key in world.broadcaster._series] == ["FailedScheduling"]
        assert len(world.server.events) == 51

    in_world(script)


def test_a_waiting_event_does_not_keep_its_pod() -> None:
    async def script(world: World) -> None:
        world.server.blocked = asyncio.Event()
        target = pod()
        references = sys.getrefcount(target)
        for _ in range(event_recorder.REQUESTS_AT_ONCE + 5):
            world.recorder.event(target, target, "Normal", "Scheduled", "Binding", "x" * 5000)
        await world.settle()
        assert sys.getrefcount(target) == references
        world.server.blocked.set()
        await world.settle()

    in_world(script)


def test_the_number_of_series_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "MOST_SERIES", 2)

    async def script(world: World) -> None:
        for _ in range(3):
            world.fail_scheduling()
            await world.settle()
        for name in ("q", "r"):
            world.fail_scheduling(pod(name))
            await world.settle()
        assert len(world.broadcaster._series) == 2
        first = next(iter(world.server.events.values()))
        assert first["series"]["count"] == 3  # what it had counted is not lost

    in_world(script)
