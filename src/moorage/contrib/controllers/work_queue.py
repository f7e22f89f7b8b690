"""Keys that are to be looked at, each once however often it was named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from moorage.client.errors import ApiError, Conflict, NotFound, Withheld
from moorage.framework.logger import Logger

log = Logger(__name__)

SETTLING_SECONDS = 0.2
"""So long a key waits: what belongs together has come by then, and is looked at once."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0


class WorkQueue:
    """Calls `look` with one key at a time while `run` runs.

    A key that could not be dealt with is looked at again when it is named, or after a pause, which grows from
    1 to 30 seconds. `what` is what the keys stand for, in messages.
    """

    def __init__(self, what: str, look: Callable[[str], Awaitable[None]]) -> None:
        self._what = what
        self._look = look
        self._runs = False
        self._waiting: dict[str, None] = {}
        self._is_named = asyncio.Event()
        self._pauses: dict[str, float] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._told: object = None
        """What the log has about why nothing can be written."""

    def add(self, key: str) -> None:
        """Has a key looked at, if anybody looks."""
        if self._runs:
            self._waiting[key] = None
            self._is_named.set()

    def add_after(self, key: str, seconds: float) -> None:
        """Has a key looked at when so much time has passed, unless that is to happen at some time anyway."""
        if self._runs and key not in self._later:
            self._later[key] = asyncio.get_running_loop().call_later(seconds, self._add_again, key)

    async def run(self, keys: Iterable[str]) -> None:
        """Begins with these keys and never returns; it ends by cancellation."""
        self._runs = True
        self._waiting = dict.fromkeys(keys)
        self._is_named.set()
        try:
            while True:
                await self._is_named.wait()
                await asyncio.sleep(SETTLING_SECONDS)
                self._is_named.clear()
                due, self._waiting = self._waiting, {}
                for key in due:
                    await self._try(key)
        finally:
            self._runs = False
            for timer in self._later.values():
                timer.cancel()
            self._later.clear()
            self._pauses.clear()

    async def _try(self, key: str) -> None:
        try:
            await self._look(key)
        except NotFound:
            pass  # what was to be written about is gone
        except Exception as error:
            self._try_later(key, error)
            return
        self._pauses.pop(key, None)
        self._told = None

    def _try_later(self, key: str, error: Exception) -> None:
        pause = self._pauses[key] = min(2 * self._pauses.get(key, FIRST_PAUSE / 2), LONGEST_PAUSE)
        if key in self._later:
            self._later[key].cancel()
        self._later[key] = asyncio.get_running_loop().call_later(pause, self._add_again, key)
        if isinstance(error, Conflict | Withheld):
            return  # the watch will bring what another has written, or this process is not to write
        why = type(error), error.code if isinstance(error, ApiError) else None
        if why != self._told:  # thousands may fail alike
            self._told = why
            log.error(error, f"The status of {self._what} cannot be written; it is tried again", key=key)

    def _add_again(self, key: str) -> None:
        del self._later[key]
        self.add(key)
