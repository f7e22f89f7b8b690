"""What readers along are told, and what those who are slow lose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage import CycleState, PermitPlugin, Pod, Wait
from moorage.insight.live import broadcast as module
from moorage.insight.live.broadcast import Broadcast, Reader
from moorage.insight.live.problems import Problem
from moorage.insight.live.questions import Questions
from tests.insight.live.worlds import World, run

Event = tuple[str, Any, str]


async def told(reader: Reader) -> list[Event]:
    """All events that wait: name, document and id."""
    pieces = await reader.take(0.01)
    assert pieces is not None
    events = []
    for block in pieces.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["event"], json.loads(fields["data"]), fields.get("id", "")))
    return events


def named(events: list[Event], name: str) -> list[Any]:
    return [document for each, document, _ in events if each == name]


def test_what_a_reader_is_told() -> None:
    world = World(nodes=20)
    world.pod("first", cpu="1")
    world.schedule()

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        reader = broadcast.join()
        [(name, summary, _)] = await told(reader)
        assert name == "summary" and summary["nodes"] == 20
        broadcast.tick()
        [whole] = named(await told(reader), "usage")
        assert whole["all"] and len(whole["requested"]["cpu"]) == 20
        world.pod("a", cpu="1")
        world.pod("big", cpu="100")
        await world.scheduler.drain()
        broadcast.tick()
        events = await told(reader)
        [attempts] = named(events, "attempts")
        assert [each["pod"]["name"] for each in attempts["attempts"]] == ["a", "big"]
        assert attempts["missed"] == 0
        [usage] = named(events, "usage")
        assert usage["requested"]["cpu"] == [1000]
        assert len(usage["rows"]) == 1
        assert [number for name, _, number in events if name == "attempts"] == ["3"]
        broadcast.tick()
        assert not named(await told(reader), "attempts")
        broadcast.close()
        assert await reader.take(1) is None
        assert not world.log.followers

    run(main)


class Holding(PermitPlugin):
    """Has pods wait until somebody allows them."""

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Wait:
        return Wait(60)


def test_outcomes_of_attempts_that_were_told_before() -> None:
    world = World(Holding)

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        reader = broadcast.join()
        world.pod("a")
        world.scheduler.try_next()
        broadcast.tick()
        events = await told(reader)
        assert named(events, "attempts")[0]["attempts"][0]["outcome"] == "assumed"
        assert not named(events, "outcomes")
        for waiting in world.scheduler.services.waiting_pods:
            waiting.allow(Holding.name)
        await world.scheduler.drain()
        broadcast.tick()
        [[outcome]] = named(await told(reader), "outcomes")
        assert (outcome["number"], outcome["outcome"]) == (1, "bound")
        assert outcome["after"]["seconds"] == 0
        broadcast.close()

    run(main)


def test_no_more_than_a_hundred_attempts_at_a_time() -> None:
    world = World()
    for number in range(150):
        world.pod(f"pod-{number:03}", cpu="1m")

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        reader = broadcast.join()
        await world.scheduler.drain()
        broadcast.tick()
        [attempts] = named(await told(reader), "attempts")
        assert (len(attempts["attempts"]), attempts["missed"]) == (100, 50)
        assert attempts["attempts"][-1]["number"] == 150
        broadcast.close()

    run(main)


def test_going_on_where_one_was() -> None:
    world = World()
    for number in range(30):
        world.pod(f"pod-{number:02}", cpu="1m")
    world.schedule()

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        events = await told(broadcast.join(20))
        [attempts] = named(events, "attempts")
        assert [each["number"] for each in attempts["attempts"]] == list(range(21, 31))
        assert not named(await told(broadcast.join(30)), "attempts")
        assert not named(await told(broadcast.join(10**9)), "attempts")
        broadcast.close()

    run(main)


def test_who_is_slow_loses_events_but_not_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 20_000)
    world = World()

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        slow, quick = broadcast.join(), broadcast.join()
        for number in range(300):
            world.pod(f"pod-{number}", cpu="1m")
            await world.scheduler.drain()
            broadcast.tick()
            assert (await told(quick)) is not None
            assert slow._size < 40_000
        before = named(await told(slow), "attempts")
        broadcast.tick()
        events = await told(slow)
        [after] = named(events, "attempts")
        seen = sum(len(each["attempts"]) for each in before)
        assert seen + after["missed"] == 300 and after["attempts"] == []
        assert named(events, "usage")[0]["all"]
        broadcast.close()

    run(main)


def test_another_scheduler_is_followed_when_it_takes_over() -> None:
    old, new = World(nodes=1), World(nodes=7)
    running: list[Questions | None] = [old.questions]

    async def main() -> None:
        broadcast = Broadcast(lambda: running[0])
        reader = broadcast.join()
        broadcast.tick()
        await told(reader)
        running[0] = None
        broadcast.tick()
        assert not await told(reader) and not old.log.followers
        running[0] = new.questions
        broadcast.tick()
        [usage] = named(await told(reader), "usage")
        assert len(usage["requested"]["cpu"]) == 7
        broadcast.leave(reader)
        assert not len(broadcast) and not new.log.followers

    run(main)


def test_how_many_may_read_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_READERS", 2)
    world = World()

    async def main() -> None:
        broadcast = Broadcast(lambda: world.questions)
        broadcast.join(), broadcast.join()
        with pytest.raises(Problem) as raised:
            broadcast.join()
        assert raised.value.code == 429
        broadcast.close()

    run(main)
