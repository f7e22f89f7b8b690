"""Event loops: which kind there is, and one in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def loop_factory() -> LoopFactory | None:
    """Makes the fastest event loop that this system has; None stands for Python's own."""
    try:
        from moorage.client.event_loop import EventLoop
    except ImportError:  # there is no uvloop for this system
        return None
    return EventLoop


class LoopThread:
    """An event loop in a thread of its own, from `start` to `stop`.

        server = LoopThread("api-server")
        server.start()
        server.run(cluster.start(...))  # waits for it
        server.stop()

    The thread does not keep the process alive.
    """

    def __init__(self, name: str) -> None:
        self.loop: asyncio.AbstractEventLoop
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def ident(self) -> int:
        """The thread's, as `threading.get_ident` has it."""
        assert self._thread.ident is not None
        return self._thread.ident

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts it there; may be called in any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Its result, waited for by another thread; raises TimeoutError after so many seconds."""
        started = self.submit(work)
        try:
            return started.result(seconds)
        except BaseException:
            started.cancel()
            raise

    async def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result, waited for by another event loop."""
        return await asyncio.wrap_future(self.submit(work))

    async def called(self, function: Callable[[], T]) -> T:
        """As `awaited`, for a function."""

        async def call() -> T:
            return function()

        return await self.awaited(call())

    def stop(self) -> None:
        """Cancels what still runs there, and waits until the thread has ended."""
        self.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._ready.set()
        await self._stopping.wait()
