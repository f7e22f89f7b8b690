"""Work done later, in portions."""

from __future__ import annotations

import asyncio
from itertools import count

from moorage.cluster.life.nodes.pacing import CROWD, CROWD_PAUSE, GRAIN, SLICE, Paced
from tests.fake_time import now, run

DELAY = 0.5
MANY = 4 * CROWD


def paced(done: list[tuple[float, bool]]) -> Paced[int]:
    """Every item takes a whole portion."""
    ticks = count()
    return Paced(
        "testing",
        DELAY,
        lambda item, crowded: done.append((now(), crowded)),
        timer=lambda: next(ticks) * SLICE,
    )


def test_what_is_added_is_done_after_the_delay() -> None:
    async def scenario() -> None:
        done: list[tuple[float, bool]] = []
        work = paced(done)
        work.start()
        work.add(1)
        await asyncio.sleep(DELAY - 0.01)
        assert not done
        await asyncio.sleep(0.01 + GRAIN)
        assert [crowded for _, crowded in done] == [False]
        await work.stop()

    run(scenario())


def test_a_crowd_that_is_complete_is_done_at_once() -> None:
    async def scenario() -> None:
        done: list[tuple[float, bool]] = []
        work = paced(done)
        work.start()
        for number in range(MANY):
            work.add(number)
        await asyncio.sleep(DELAY + GRAIN + 2 * CROWD_PAUSE)
        assert len(done) == MANY
        await work.stop()

    run(scenario())


def test_a_crowd_that_still_grows_waits() -> None:
    async def scenario() -> None:
        done: list[tuple[float, bool]] = []
        work = paced(done)
        work.start()
        for number in range(MANY):
            work.add(number)
            await asyncio.sleep(2 * DELAY / MANY)
        assert len(done) < MANY / 8
        assert all(crowded for _, crowded in done)
        await asyncio.sleep(DELAY + 2 * CROWD_PAUSE)
        assert len(done) == MANY
        await work.stop()

    run(scenario())


def test_what_fails_does_not_stop_the_rest() -> None:
    async def scenario() -> None:
        done: list[int] = []

        def do(item: int, crowded: bool) -> None:
            if item == 1:
                raise ValueError("not this one")
            done.append(item)

        work = Paced("testing", DELAY, do)
        work.start()
        for number in range(3):
            work.add(number)
        await asyncio.sleep(DELAY + 2 * GRAIN)
        assert done == [0, 2]
        await work.stop()

    run(scenario())
