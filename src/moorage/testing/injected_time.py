"""An event loop for tests, in which time passes when there is a reason for it."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any

LONGEST_REAL_WAIT = 30.0
"""Seconds to wait for what really takes time, as an answer over a socket."""
LONGEST_JUMP = 15 * 60.0
"""Seconds that pass for what is under way, at most; what is not over by then waits for something else."""


class _Selector(selectors.DefaultSelector):
    """Asked by the loop when there is nothing to do: then it is time to stop, to wait or to jump."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.until = 0.0
        self.threads = 0
        self.is_busy: Callable[[], bool] = lambda: False
        self.stop: Callable[[], None] = lambda: None
        self._really_waited = 0.0
        self._jumped = 0.0

    def begin(self, until: float) -> None:
        self.until = until
        self._really_waited = self._jumped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if self.is_busy():
            # The loop itself has one registration, by which other threads wake it.
            if self.threads or len(self.get_map()) > 1:
                return self._wait(timeout)
            if timeout is not None and self._jumped < LONGEST_JUMP:
                self.now += timeout
                self._jumped += timeout
                return []
        left = self.until - self.now
        if left <= 0:
            self.stop()
        else:
            self.now += left if timeout is None else min(left, timeout)
        return []

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        left = LONGEST_REAL_WAIT - self._really_waited
        if left <= 0:
            raise TimeoutError(f"a plugin has been waiting for an answer for {LONGEST_REAL_WAIT:g} seconds")
        began = time.monotonic()
        found: list[tuple[selectors.SelectorKey, int]]
        found = super().select(left if timeout is None else min(left, timeout))
        waited = time.monotonic() - began
        self._really_waited += waited
        self.now += waited
        return found


class InjectedTimeLoop(asyncio.SelectorEventLoop):
    """Runs until nothing is left to do, and keeps what waits for the next time.

    `is_busy` says whether something is under way. Then timers, such as those of `asyncio.sleep`, end without
    a wait, and what takes real time, sockets and threads, is waited for. Apart from that the time stands
    still unless `run_for` moves it.
    """

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._timing = _Selector()
        super().__init__(self._timing)
        self._timing.is_busy = is_busy
        self._timing.stop = self.stop

    def time(self) -> float:
        return self._timing.now

    def run_for(self, seconds: float = 0.0) -> None:
        self._timing.begin(self._timing.now + seconds)
        self.run_forever()

    def finish(self, last: Coroutine[Any, Any, None]) -> None:
        """Runs what is to be done last, in real time, and closes the loop."""
        self._timing.is_busy = lambda: True
        self._timing.threads += 1
        self._timing.begin(self._timing.now)
        self.run_until_complete(last)
        self.run_until_complete(self.shutdown_asyncgens())
        self.run_until_complete(self.shutdown_default_executor())
        self.close()

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._timing.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, future: asyncio.Future[Any]) -> None:
        self._timing.threads -= 1
