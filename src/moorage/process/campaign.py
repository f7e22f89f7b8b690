"""Work that any process may do, but one at a time only, and that outlives the loss of its lease."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from moorage.framework.logger import Logger
from moorage.process.leader_election import LeaderElector

log = Logger(__name__)

OnLost: TypeAlias = Callable[[], None]
BETWEEN_ELECTIONS = 5.0


class Campaign:
    """Works whenever this process holds a lease, and tries for it again after it was lost.

    `new_elector` makes an elector that calls what it is given when the lease is lost.
    """

    def __init__(self, new_elector: Callable[[OnLost], LeaderElector]) -> None:
        self._new_elector = new_elector
        self._elector: LeaderElector | None = None

    def may_act(self) -> bool:
        """Whether a write that is begun now is over before another process can be holding the lease."""
        elector = self._elector
        return elector is not None and elector.may_act()

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Never returns. Cancelled, it lets the work end and releases the lease."""
        while True:
            lost = asyncio.Event()
            elector = self._elector = self._new_elector(
                partial(_set_from_thread, asyncio.get_running_loop(), lost)
            )
            elector.start()
            try:
                await elector.wait_until_leading()
                await _until(work(), lost)
            except Exception as error:
                log.error(error, "The controllers failed; they begin anew")
            finally:
                await elector.stop()
            await asyncio.sleep(BETWEEN_ELECTIONS)


async def _until(work: Coroutine[Any, Any, None], event: asyncio.Event) -> None:
    """Works until the event; raises what the work does."""
    tasks = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if not tasks[0].cancelled():
        tasks[0].result()


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
        loop.call_soon_threadsafe(event.set)
