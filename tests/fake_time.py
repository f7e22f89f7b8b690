"""An event loop whose clock jumps to the next timer whenever there is nothing to do."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and no timer will end it")
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not found:
            self.now += max(timeout, 0.0)
        return found


class FakeTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end in fake time."""
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        return runner.run(main)


def now() -> float:
    """Seconds since the running loop began."""
    return asyncio.get_running_loop().time()
