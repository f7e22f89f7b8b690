"""How a cycle, which does not await, waits for an answer while the event loop goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from moorage.framework.door import Door

if TYPE_CHECKING:
    from greenlet import greenlet

T = TypeVar("T")


class _Wait(NamedTuple):
    began: float
    seconds: float


class Suspension:
    """Runs cycles that may be suspended, one at a time.

    Until a cycle has ended nothing changes under it: the door holds back what comes in, and whoever else
    would change what cycles read waits for `between_cycles`.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self._running = door.listers.running
        self._cycle: greenlet | None = None
        self._work: asyncio.Future[Any] | None = None  # what the cycle waits for
        self._next_in_line: list[asyncio.Future[None]] = []
        self._waits: list[_Wait] = []
        self._stopped = False

    async def run(self, cycle: Callable[[], T]) -> T | None:
        """What `cycle` returns; in it, `wait_for` may be called. None if it was given up by `stop`."""
        from greenlet import greenlet

        running = self._cycle = greenlet(cycle)
        running.gr_context = copy_context()
        self._waits.clear()
        self._door.hold()
        try:
            asked = running.switch()
            while not running.dead:
                asked = await self._step(running, asked)
            return None if self._stopped else cast("T", asked)
        finally:
            if not running.dead:
                running.throw()  # ends it without another word: nothing takes this for a failure of the pod
            self._cycle = None
            self._door.release()
            self._wake()

    async def _step(self, running: greenlet, asked: Coroutine[Any, Any, Any]) -> Any:
        """Waits for what the cycle asked for and lets it go on; returns what it asks for or returns next."""
        began = time.perf_counter()
        self._work = asyncio.ensure_future(asked)
        if self._stopped:
            self._work.cancel()
        try:
            await asyncio.wait((self._work,))
        finally:
            work, self._work = self._work, None
            self._waits.append(_Wait(began, time.perf_counter() - began))
            if not work.done():
                work.cancel()
        if self._stopped:
            return running.throw()
        try:
            answer = work.result()
        except asyncio.CancelledError:
            # Not this task but something in there: the pod's attempt fails, the scheduler goes on.
            return running.throw(RuntimeError("what it waited for was cancelled"))
        except Exception as error:
            return running.throw(error)
        return running.switch(answer)

    def wait_for(self, work: Coroutine[Any, Any, T], afterwards: Callable[[], Awaitable[None]]) -> T:
        """The result of `work`. Outside of `run` everything stands still until it is there.

        There it gets an event loop of its own, at the end of which stands `afterwards`.
        """
        if self._cycle is not None:
            from greenlet import getcurrent

            if getcurrent() is self._cycle:
                call, self._running.call = self._running.call, None
                began = time.perf_counter()
                try:
                    return cast("T", self._cycle.parent.switch(work))
                finally:
                    if call is not None:  # what others take is not the plugin's
                        call = (*call[:2], call[2] + time.perf_counter() - began)
                    self._running.call = call
        began = time.perf_counter()
        with ThreadPoolExecutor(1) as thread:
            # In this thread there may be an event loop already, whose turn it is not.
            try:
                return thread.submit(asyncio.run, _one_after_the_other(work, afterwards)).result()
            finally:
                self._waits.append(_Wait(began, time.perf_counter() - began))

    async def between_cycles(self) -> None:
        """Returns when no cycle is suspended; what is done before the next await happens between cycles."""
        while self._cycle is not None:
            turn = asyncio.get_running_loop().create_future()
            self._next_in_line.append(turn)
            await turn

    def waited_since(self, began: float) -> float:
        """How many seconds since `began`, by the performance counter, went by with waiting."""
        return sum(wait.seconds for wait in self._waits if wait.began >= began)

    def stop(self) -> None:
        """Gives up the cycle that is suspended, if one is, and all that would be."""
        self._stopped = True
        if self._work is not None:
            self._work.cancel()

    def _wake(self) -> None:
        turns, self._next_in_line = self._next_in_line, []
        for turn in turns:
            if not turn.done():
                turn.set_result(None)


async def _one_after_the_other(work: Coroutine[Any, Any, T], afterwards: Callable[[], Awaitable[None]]) -> T:
    try:
        return await work
    finally:
        await afterwards()
