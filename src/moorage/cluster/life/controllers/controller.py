"""Controllers: they hear of changes, and work on keys, again on those that failed or are due."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.outside import Unanswered
from moorage.cluster.base.store import Change
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.objects import Key
from moorage.cluster.objects.writes import InternalWriter

FIRST_DELAY = 0.05  # before a failed key is tried again; doubles with every failure
LONGEST_DELAY = 60.0
SLICE = 0.002  # seconds of work before others get their turn
SLOW = 0.001
REST = 10  # a slow key rests this many times as long as it took
LONGEST_REST = 0.5
FEW = 32  # items between which no break is taken

T = TypeVar("T")
log = logging.getLogger(__name__)


async def cancel(task: asyncio.Task[None] | None) -> None:
    """Ends a task, if there is one, and waits for that."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Breaks:
    """Lets other tasks run whenever a slice of work is done."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def take(self) -> None:
        if time.perf_counter() - self._began >= SLICE:
            await asyncio.sleep(0)
            self._began = time.perf_counter()

    async def between(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items one by one, with breaks."""
        for number, item in enumerate(items):
            if number % FEW == 0:
                await self.take()
            yield item


class Queue:
    """Keys that wait to be worked on, each at most once, in the order in which they came.

    `reconcile` brings about what should be for a key, and may say after how many seconds to look again. A key
    that is added while it is worked on is worked on again. One that takes long is left alone for a while
    afterwards, so that a storm of changes to the pods of a large owner is answered once, not every time.
    """

    def __init__(self, name: str, reconcile: Callable[[Key], Awaitable[float | None]]) -> None:
        self._name = name
        self._reconcile = reconcile
        self._ready: deque[Key] = deque()
        self._waiting: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._resting: dict[Key, bool] = {}
        self._failures: dict[Key, int] = {}
        self._asking: dict[Key, asyncio.Task[None]] = {}
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"controller {self._name}")

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        task, self._task = self._task, None
        for asking in (task, *self._asking.values()):
            await cancel(asking)

    def add(self, key: Key) -> None:
        if key in self._waiting or key in self._asking:
            return
        if key in self._resting:
            self._resting[key] = True
            return
        self._waiting.add(key)
        self._ready.append(key)
        self._work.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Adds a key later; of two times the earlier one holds."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._due, key)

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)

    async def _run(self) -> None:
        breaks = Breaks()
        while True:
            if not self._ready:
                self._work.clear()
                await self._work.wait()
            key = self._ready.popleft()
            if key in self._waiting:  # and was not sent to rest meanwhile
                self._waiting.discard(key)
                await self._do(key)
                await breaks.take()

    async def _do(self, key: Key) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            again = await self._reconcile(key)
        except Unanswered as unanswered:
            self._waiting.discard(key)
            self._asking[key] = loop.create_task(self._ask(key, unanswered))
            return
        except Exception as error:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(FIRST_DELAY * 2 ** min(failures - 1, 20), LONGEST_DELAY)
            log.warning(
                "The %s controller failed at %s, trying again in %g s: %s",
                self._name,
                "/".join(filter(None, key)),
                delay,
                error,
                exc_info=not isinstance(error, Refusal),
            )
            self.add_after(key, delay)
            return
        self._failures.pop(key, None)
        if again is not None:
            self.add_after(key, again)
        took = loop.time() - began
        if took > SLOW:
            self._resting[key] = key in self._waiting
            self._waiting.discard(key)
            loop.call_later(min(took * REST, LONGEST_REST), self._rested, key)

    async def _ask(self, key: Key, unanswered: Unanswered) -> None:
        """Others wait for nobody who is asked about one key."""
        await unanswered.ask()
        del self._asking[key]
        self.add(key)

    def _rested(self, key: Key) -> None:
        if self._resting.pop(key, False) and self._task is not None:
            self.add(key)


class Controller:
    """Works from `start` to `stop`, on what is there already too."""

    name: str

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        self._writer = writer
        self._store = writer.store
        self._clock = clock
        self._recorder = Recorder(writer, f"{self.name}-controller", clock)
        self._queue = Queue(self.name, self._reconcile)
        self._heard = ExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Needs a running event loop."""
        self._begin()
        self._queue.start()

    async def stop(self) -> None:
        self._heard.close()
        for task in self._tasks:
            await cancel(task)
        await self._queue.stop()

    def _begin(self) -> None:
        """Starts to listen, and finds the first work."""
        raise NotImplementedError

    async def _reconcile(self, key: Key) -> float | None:
        """Brings about what should be for a key; may say after how many seconds to look again."""
        raise NotImplementedError

    def _listen(self, resource: str, hear: Callable[[Change], object]) -> None:
        self._heard.callback(self._store.listen(resource, hear))

    def _add(self, change: Change) -> None:
        self._queue.add(change.new.key)

    def _run_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something as long as the controller works."""
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    def _add_all(self, resource: str) -> None:
        for stored in self._store.iterate(resource):
            self._queue.add(stored.key)
