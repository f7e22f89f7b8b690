"""The rate limiter, in fake time."""

from __future__ import annotations

import asyncio

import pytest

from moorage.client.rate_limit import RateLimiter
from tests import fake_time


async def _moments(limiter: RateLimiter, count: int) -> list[tuple[int, float]]:
    done: list[tuple[int, float]] = []

    async def one(number: int) -> None:
        await limiter.acquire()
        done.append((number, round(fake_time.now(), 3)))

    await asyncio.gather(*(one(number) for number in range(count)))
    return done


def test_burst_then_qps_first_come_first_served() -> None:
    async def main() -> None:
        limiter = RateLimiter(10, 3, clock=fake_time.now)
        assert await _moments(limiter, 6) == [(0, 0), (1, 0), (2, 0), (3, 0.1), (4, 0.2), (5, 0.3)]
        await asyncio.sleep(100)
        assert [moment for _, moment in await _moments(limiter, 4)] == [100.3, 100.3, 100.3, 100.4]

    fake_time.run(main())


@pytest.mark.parametrize(("qps", "burst", "last"), [(0, 0, 1.0), (-1, 1, 0.0), (100, 50, 1.0)])
def test_zero_is_the_default_and_negative_no_limit(qps: float, burst: int, last: float) -> None:
    async def main() -> None:
        assert (await _moments(RateLimiter(qps, burst, clock=fake_time.now), 150))[-1] == (149, last)

    fake_time.run(main())


def test_who_gives_up_waiting_leaves_the_place_to_others() -> None:
    async def main() -> None:
        limiter = RateLimiter(1, 1, clock=fake_time.now)
        await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await limiter.acquire()
        assert fake_time.now() == 1

    fake_time.run(main())
