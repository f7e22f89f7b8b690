from __future__ import annotations

import asyncio
import logging

import pytest

from moorage.cluster.life.controllers.controller import Queue
from moorage.cluster.life.controllers.objects import Key
from tests import fake_time

A, B = ("ns", "a"), ("ns", "b")


def test_keys_are_worked_on_once_and_in_order() -> None:
    async def main() -> None:
        seen: list[Key] = []

        async def reconcile(key: Key) -> None:
            seen.append(key)

        queue = Queue("test", reconcile)
        queue.add(A)
        queue.add(B)
        queue.add(A)
        queue.start()
        await asyncio.sleep(1)
        assert seen == [A, B]
        queue.add(A)
        await asyncio.sleep(1)
        assert seen == [A, B, A]
        await queue.stop()

    fake_time.run(main())


def test_a_key_added_while_it_is_worked_on_is_worked_on_again() -> None:
    async def main() -> None:
        seen: list[float] = []

        async def reconcile(key: Key) -> None:
            seen.append(fake_time.now())
            if len(seen) == 1:
                queue.add(key)

        queue = Queue("test", reconcile)
        queue.start()
        queue.add(A)
        await asyncio.sleep(1)
        assert len(seen) == 2
        await queue.stop()

    fake_time.run(main())


def test_failures_are_logged_and_tried_again_later_and_later(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        times: list[float] = []

        async def reconcile(key: Key) -> None:
            if key == B:
                return
            times.append(fake_time.now())
            if len(times) < 5:
                raise ValueError("no")

        queue = Queue("test", reconcile)
        queue.start()
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(100)
        assert times == pytest.approx([0, 0.05, 0.15, 0.35, 0.75])
        await queue.stop()

    with caplog.at_level(logging.WARNING):
        fake_time.run(main())
    assert "The test controller failed at ns/a, trying again in 0.05 s" in caplog.text


def test_of_two_times_the_earlier_one_holds() -> None:
    async def main() -> None:
        times: list[float] = []

        async def reconcile(key: Key) -> float | None:
            times.append(fake_time.now())
            return 7.0 if len(times) == 1 else None

        queue = Queue("test", reconcile)
        queue.start()
        queue.add_after(A, 5)
        queue.add_after(A, 2)
        queue.add_after(A, 3)
        await asyncio.sleep(20)
        assert times == pytest.approx([2, 9])
        await queue.stop()

    fake_time.run(main())


def test_a_slow_key_rests() -> None:
    async def main() -> None:
        times: list[float] = []

        async def reconcile(key: Key) -> None:
            times.append(fake_time.now())
            await asyncio.sleep(0.01)

        queue = Queue("test", reconcile)
        queue.start()
        for _ in range(100):
            queue.add(A)
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert 5 <= len(times) <= 12
        await queue.stop()

    fake_time.run(main())
