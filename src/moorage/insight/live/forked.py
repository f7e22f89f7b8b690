"""Questions that take long or change the state, asked in a copy of the process.

The scheduler's loop owns all state, and nothing changes between two of its steps. A fork in such a moment
gives a copy in which a question may change whatever it likes, for the price of copying page tables: the
memory itself is shared, and only what either side writes to afterwards is there twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import NoReturn

from moorage.insight.live.problems import Problem

DEFAULT_SECONDS = 20.0
MOST_AT_ONCE = 2
MOST_WAITING = 8
MOST_BYTES = 2**28
"""Of an answer; a child that writes more is ended."""

_PIECE = 2**20
_NICENESS = 10

log = logging.getLogger(__name__)


async def _at_once() -> None:
    """For a state that is whole whenever it is looked at."""


class Forks:
    """Asks questions in copies of the process: at most two at once, and a few more that wait.

    `between_cycles` returns when the state is whole; a copy is made before anything else has its turn.
    """

    def __init__(
        self,
        between_cycles: Callable[[], Awaitable[None]] = _at_once,
        *,
        at_once: int = MOST_AT_ONCE,
        waiting: int = MOST_WAITING,
    ) -> None:
        self._between_cycles = between_cycles
        self._turns = asyncio.Semaphore(at_once)
        self._most, self._open = at_once + waiting, 0

    async def ask(self, question: Callable[[], bytes], seconds: float = DEFAULT_SECONDS) -> bytes:
        """What `question` returns in a copy of this moment's state; raises Problem if there is no answer."""
        if not hasattr(os, "fork"):
            raise Problem(
                501, "NotImplemented", "this system cannot copy a process, which this question needs"
            )
        if self._open >= self._most:
            raise Problem(429, "TooManyRequests", "too many questions of this kind are open; ask again later")
        self._open += 1
        try:
            async with self._turns:
                await self._between_cycles()
                return await forked(question, seconds)
        finally:
            self._open -= 1


async def forked(question: Callable[[], bytes], seconds: float = DEFAULT_SECONDS) -> bytes:
    """What `question` returns in a copy of the process, which is ended after so many seconds.

    The caller's state is as it is at the call; what follows in this process is not waited for.
    """
    readable, writable = os.pipe()
    # What Python warns of (locks that other threads hold stay locked) is heeded by the child, which touches
    # nothing that other threads have: neither logs nor sockets nor event loops. It only computes.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _answer(question, writable, seconds)
    os.close(writable)
    try:
        return await _read(readable, seconds)
    finally:
        os.close(readable)
        _end(pid)


async def _read(readable: int, seconds: float) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(readable, False)
    answered: asyncio.Future[None] = loop.create_future()
    pieces: list[bytes] = []

    def read() -> None:
        try:
            piece = os.read(readable, _PIECE)
        except BlockingIOError:
            return
        pieces.append(piece)
        if not answered.done() and (not piece or sum(map(len, pieces)) > MOST_BYTES):
            answered.set_result(None)

    loop.add_reader(readable, read)
    try:
        async with asyncio.timeout(seconds):
            await answered
    except TimeoutError:
        raise Problem(504, "Timeout", f"no answer within {seconds:g} seconds; ask about less") from None
    finally:
        loop.remove_reader(readable)
    if not pieces or pieces[-1]:
        raise Problem(500, "InternalError", "the answer is too large")
    answer = b"".join(pieces)
    if not answer:
        raise Problem(500, "InternalError", "the copy of the process ended without an answer")
    return answer


def _end(pid: int) -> None:
    """Ends a child, if it has not ended, and has it forgotten as soon as it has."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _reap(pid, asyncio.get_running_loop(), 0.001)


def _reap(pid: int, loop: asyncio.AbstractEventLoop, again: float) -> None:
    try:
        ended, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
    if not ended:
        loop.call_later(again, _reap, pid, loop, min(2 * again, 0.1))


# In the copy


def _answer(question: Callable[[], bytes], writable: int, seconds: float) -> NoReturn:
    """Answers and ends the process, whatever happens."""
    try:
        _be_alone(writable, seconds)
        answer = memoryview(question())
        while answer:
            answer = answer[os.write(writable, answer) :]
    finally:
        os._exit(0)


def _be_alone(writable: int, seconds: float) -> None:
    """Cuts all ties to what the process does and is known by."""
    gc.disable()
    faulthandler.disable()
    # A signal is to end it, and is not to be told to the process that it was copied from.
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds) + 2)  # also if nobody is left to end it
    logging.disable(logging.CRITICAL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
    # Connections that the process closes are to be closed.
    os.closerange(3, writable)
    os.closerange(writable + 1, os.sysconf("SC_OPEN_MAX"))
    os.nice(_NICENESS)
