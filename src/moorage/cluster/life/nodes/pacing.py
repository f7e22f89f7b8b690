"""Work that is done a moment after it is asked for, in small portions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from moorage.cluster.life.controllers.controller import cancel

SLICE = 0.002  # seconds of work in one go
GRAIN = 0.02  # seconds in which what becomes due is done together
CROWD = 50  # more than these waiting at the same time are a crowd
CROWD_PAUSE = 0.1  # between two portions while a crowd still grows: whoever makes it grow goes first

T = TypeVar("T")
log = logging.getLogger(__name__)


class Paced(Generic[T]):
    """Does `do(item, crowded)` for each item, `delay` seconds after it was added, in order."""

    def __init__(
        self,
        name: str,
        delay: float,
        do: Callable[[T, bool], None],
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._name = name
        self._delay = delay
        self._do = do
        self._timer = timer
        self._grows = False
        self._items: deque[tuple[float, T]] = deque()
        self._added = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        await cancel(self._task)

    def add(self, item: T) -> None:
        self._items.append((asyncio.get_running_loop().time() + self._delay, item))
        self._grows = True
        self._added.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._items:
                self._added.clear()
                await self._added.wait()
            wait = self._items[0][0] - loop.time()
            if wait > 0:
                await asyncio.sleep(max(wait, GRAIN))
            crowded = len(self._items) > CROWD
            self._do_some(loop.time(), crowded)
            pause = CROWD_PAUSE if crowded and self._grows else 0
            self._grows = False
            await asyncio.sleep(pause)

    def _do_some(self, now: float, crowded: bool) -> None:
        began = self._timer()
        while self._items and self._items[0][0] <= now:
            item = self._items.popleft()[1]
            try:
                self._do(item, crowded)
            except Exception:
                log.warning("%s failed at %s", self._name, item, exc_info=True)
            if self._timer() - began >= SLICE:
                return
