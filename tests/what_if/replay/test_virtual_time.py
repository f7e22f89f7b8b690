"""A loop whose time is given to it."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage.what_if.replay.virtual_time import VirtualTimeLoop


def run(main: Any, loop: VirtualTimeLoop) -> Any:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main)


def test_it_settles_when_nothing_is_left_to_do_and_tells_the_next_timer() -> None:
    loop, done = VirtualTimeLoop(1000.0), list[object]()

    async def work() -> None:
        for number in range(3):
            await asyncio.sleep(0)
            done.append(number)
        await asyncio.sleep(25)
        done.append("slept")

    async def main() -> None:
        task = asyncio.create_task(work())
        assert await loop.settled() == 1025.0
        assert done == [0, 1, 2] and loop.now == 1000.0
        loop.advance(1024.9)
        await loop.settled()
        assert "slept" not in done
        loop.advance(1025.0)
        assert await loop.settled() is None
        assert done[-1] == "slept" and task.done()

    run(main(), loop)


def test_timers_fire_on_time_after_years() -> None:
    begin = 1_750_000_000.25
    loop = VirtualTimeLoop(begin)
    year = 365 * 24 * 3600

    async def main() -> None:
        fired: list[float] = []
        for number in range(1, 6):
            loop.call_later(0.1, lambda: fired.append(loop.now))
            due = await loop.settled()
            assert due is not None
            loop.advance(due)
            await loop.settled()
            assert len(fired) == number
            loop.advance(loop.now + year)

    run(main(), loop)


def test_what_really_takes_time_is_waited_for_while_the_clock_stands_still() -> None:
    loop = VirtualTimeLoop(0.0, lambda: True)

    async def main() -> str:
        answer = loop.run_in_executor(None, lambda: "answer")
        loop.call_later(1000, lambda: None)
        await loop.settled()
        assert answer.done() and loop.now == 0.0
        return str(answer.result())

    assert run(main(), loop) == "answer"


def test_time_never_goes_back() -> None:
    loop = VirtualTimeLoop(100.0)
    loop.advance(150.0)
    loop.advance(120.0)
    assert loop.now == 150.0
    loop.close()
