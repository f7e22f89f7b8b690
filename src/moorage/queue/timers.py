"""The two clocks of the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

FLUSH_UNSCHEDULABLE_EVERY = 30.0


async def run_every_second(flush: Callable[[], None], clock: Callable[[], float]) -> None:
    """Calls `flush` when a new second begins: backoff ends at whole seconds."""
    while True:
        await asyncio.sleep(1.0 - clock() % 1.0)
        flush()


async def run_every(seconds: float, flush: Callable[[], None]) -> None:
    """Calls `flush` now and then regularly."""
    while True:
        flush()
        await asyncio.sleep(seconds)
