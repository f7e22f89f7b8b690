"""How fast this client may ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

DEFAULT_QPS = 50.0
DEFAULT_BURST = 100


class RateLimiter:
    """A token bucket: `burst` requests at once, `qps` a second after that, first come first served.

    A `qps` or `burst` of 0 means the default; a negative `qps` means no limit.
    """

    def __init__(
        self,
        qps: float = DEFAULT_QPS,
        burst: int = DEFAULT_BURST,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._qps = qps or DEFAULT_QPS
        self._burst = burst if burst > 0 else DEFAULT_BURST
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(self._burst)
        self._filled = clock()

    async def acquire(self) -> None:
        """Waits until one more request may be sent."""
        if wait := self.take():
            await self.wait(wait)

    def take(self) -> float:
        """Takes the next turn, and says in how many seconds it is; who takes it has to `wait` for so long."""
        if self._qps < 0:
            return 0.0
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now
        # A bucket below zero holds the promises made to those who wait: each has a moment of its own.
        self._tokens -= 1
        return 0.0 if self._tokens >= 0 else -self._tokens / self._qps

    async def wait(self, seconds: float) -> None:
        """Waits for a turn that was taken; who is cancelled meanwhile leaves it to others."""
        try:
            await self._sleep(seconds)
        except BaseException:
            self._tokens += 1
            raise
