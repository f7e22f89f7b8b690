"""Calls from one event loop into another, in another thread: many at a time, as each crossing is dear."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_TOGETHER_SECONDS = 0.002
"""For so long calls are collected: two threads that take turns for each of them would do little else."""
_FULL = 2**24
"""Bytes of a stream that wait for a reader; more are not read before it takes them."""


class Crossing:
    """The way to whatever lives in one event loop, its home; open from `open` on.

    Within that loop itself nothing is crossed: calls are made at once.
    """

    def __init__(self) -> None:
        self._home: asyncio.AbstractEventLoop | None = None
        self._calls: deque[tuple[Callable[..., Any], tuple[Any, ...], asyncio.Future[Any]]] = deque()
        self._is_awake = False

    def open(self) -> None:
        """To be called at home."""
        self._home = asyncio.get_running_loop()

    async def call(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """What the function returns or raises at home."""
        here = asyncio.get_running_loop()
        if here is self._home or self._home is None:
            return function(*arguments)
        answer: asyncio.Future[T] = here.create_future()
        self._calls.append((function, arguments, answer))
        if not self._is_awake:
            self._is_awake = True
            here.call_later(_TOGETHER_SECONDS, self._home.call_soon_threadsafe, self._work)
        return await answer

    async def run(
        self, function: Callable[[*Arguments], Coroutine[Any, Any, T]], *arguments: *Arguments
    ) -> T:
        """What a coroutine returns or raises at home."""
        if asyncio.get_running_loop() is self._home or self._home is None:
            return await function(*arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(*arguments), self._home))

    def stream(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The pieces of a stream that flows at home; several may come as one."""
        if asyncio.get_running_loop() is self._home or self._home is None:
            return chunks
        return _Pipe(self._home, chunks).pieces()

    def _work(self) -> None:
        # Whoever adds a call from now on wakes this again, if it is not found below.
        self._is_awake = False
        answered: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, bool]]] = {}
        for _ in range(len(self._calls)):
            function, arguments, answer = self._calls.popleft()
            try:
                result, is_error = function(*arguments), False
            except Exception as error:
                result, is_error = error, True
            answered.setdefault(answer.get_loop(), []).append((answer, result, is_error))
        for loop, answers in answered.items():
            _call(loop, _deliver, answers)


def _deliver(answers: list[tuple[asyncio.Future[Any], Any, bool]]) -> None:
    for answer, result, is_error in answers:
        if answer.done():
            continue  # nobody waits for it any more
        if is_error:
            answer.set_exception(result)
        else:
            answer.set_result(result)


class _Pipe:
    """Carries a stream from the loop where it flows to the one where it is read."""

    def __init__(self, home: asyncio.AbstractEventLoop, chunks: AsyncGenerator[bytes, None]) -> None:
        self._home, self._chunks = home, chunks
        self._there = asyncio.get_running_loop()
        self._filled = asyncio.Event()
        self._taken: asyncio.Event | None = None  # at home
        self._pieces: deque[bytes] = deque()
        self._is_told = False
        self._put = self._took = 0  # each is changed on one side only
        self._error: BaseException | None = None
        self._ended = False
        self._task: asyncio.Task[None] | None = None

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        self._home.call_soon_threadsafe(self._start)
        try:
            while True:
                await self._filled.wait()
                self._filled.clear()
                self._is_told = False
                ended = self._ended
                taken = [self._pieces.popleft() for _ in range(len(self._pieces))]
                if taken:
                    self._took += sum(map(len, taken))
                    if self._taken is not None and self._put - self._took < _FULL:
                        _call(self._home, self._taken.set)
                    yield b"".join(taken)
                if ended:
                    if self._error is not None:
                        raise self._error
                    return
        finally:
            _call(self._home, self._stop)

    # At home

    def _start(self) -> None:
        self._task = self._home.create_task(self._pump())

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _pump(self) -> None:
        try:
            async for chunk in self._chunks:
                self._pieces.append(chunk)
                self._put += len(chunk)
                if not self._is_told:
                    self._is_told = True
                    _call(self._there, self._filled.set)
                if self._put - self._took >= _FULL:
                    self._taken = asyncio.Event()
                    if self._put - self._took >= _FULL:  # it may have been taken meanwhile
                        await self._taken.wait()
                    self._taken = None
        except Exception as error:
            self._error = error
        finally:
            self._ended = True
            _call(self._there, self._filled.set)
            await self._chunks.aclose()


def _call(
    loop: asyncio.AbstractEventLoop, function: Callable[[*Arguments], object], *arguments: *Arguments
) -> None:
    """Has a loop call a function, unless it has ended."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, *arguments)
