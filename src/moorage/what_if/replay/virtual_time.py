"""An event loop in which no time passes but what it is given."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

LONGEST_REAL_WAIT = 60.0
"""Seconds to wait for what really takes time, as the answer of an extender."""
_RESOLUTION = 1e-6
"""Timers as close as this are due; numbers as large as months in seconds are not exact to the nanosecond."""


class _Selector(selectors.DefaultSelector):
    """Asked by the loop when there is nothing left to do now."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self.really_waited = 0.0
        self.threads = 0
        self.settled: asyncio.Future[float | None] | None = None
        self.is_busy: Callable[[], bool] = lambda: False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if found or (timeout is not None and timeout <= _RESOLUTION):
            return found
        # The loop itself has one registration, by which other threads wake it.
        is_outside = self.threads > 0 or len(self.get_map()) > 1
        settled = self.settled
        if is_outside and (settled is None or self.is_busy()):
            return self._wait(timeout)
        if settled is not None:
            self.settled = None
            if not settled.done():
                settled.set_result(None if timeout is None else self.passed + timeout)
        elif timeout is not None:
            self.passed += timeout
        else:
            return self._wait(None)
        return []

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        found: list[tuple[selectors.SelectorKey, int]]
        found = super().select(LONGEST_REAL_WAIT if timeout is None else min(timeout, LONGEST_REAL_WAIT))
        waited = time.monotonic() - began
        if not found and timeout is None and waited >= LONGEST_REAL_WAIT:
            raise TimeoutError(f"an answer has been waited for {LONGEST_REAL_WAIT:g} seconds")
        # Time-outs of requests are about real time. The clock of the cluster does not move by it.
        self.really_waited += waited
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its time is moved by `advance` alone, when `settled` says that nothing is left to do before.

    What takes real time, sockets and threads, is waited for as long as `is_busy` says that something is under
    way; the virtual time stands still meanwhile.
    """

    def __init__(self, begin: float, is_busy: Callable[[], bool] = lambda: False) -> None:
        self._timing = _Selector()
        super().__init__(self._timing)
        self._begin = begin
        self._timing.is_busy = is_busy
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        return self._timing.passed + self._timing.really_waited

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        return self._begin + self._timing.passed

    def advance(self, to: float) -> None:
        """It is this time now, in seconds since 1970."""
        self._timing.passed = max(self._timing.passed, to - self._begin)

    async def settled(self) -> float | None:
        """Returns when nothing is left to do at this time; when the next timer is due, if there is one."""
        future: asyncio.Future[float | None] = self.create_future()
        self._timing.settled = future
        due = await future
        return None if due is None else self._begin + due

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._timing.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, future: asyncio.Future[Any]) -> None:
        self._timing.threads -= 1
