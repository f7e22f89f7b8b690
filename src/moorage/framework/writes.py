"""Writes of plugins: work that methods start which must not wait, done beside the scheduling of pods."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.framework.plugin_errors import author_of, described
from moorage.framework.runtime.calls import settled
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.framework.runtime.slow_calls import Steps, watched

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin
    from moorage.framework.handle import Handle, Services

log = logging.getLogger(__name__)

MOST_AT_ONCE = 64
MOST_WAITING = 10_000
"""Both of one plugin in one profile."""
_LEASE_PAUSE = 0.25

SUCCESS, ERROR, CANCELLED = "success", "error", "cancelled"


class Write(NamedTuple):
    """Work of a plugin: an `async def` and what it is called with."""

    handle: Handle
    work: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    holds: str = ""
    """The uid of a pod that is not tried again before this is done; for work that is started in the loop."""

    def __str__(self) -> str:
        return getattr(self.work, "__qualname__", repr(self.work))


class TooManyWrites(RuntimeError):
    """A plugin starts writes faster than they are done."""


class _Lane:
    """The writes of one plugin: those that are done now, and those that wait for one of them to end."""

    def __init__(self) -> None:
        self.waiting: deque[Write] = deque()
        self.tasks: set[asyncio.Task[None]] = set()


class _Held:
    """A pod that is not tried again yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.writes = 0
        self.free: asyncio.Future[None] = loop.create_future()


class Writes:
    """All writes of a scheduler's plugins.

    They begin in the order in which they are started, a number of each plugin at a time, once the scheduler
    runs, which it does not before it leads. What they raise is logged with the plugin's name and counted.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: dict[str, _Held] = {}

    def start(self, write: Write) -> None:
        """Has it done as soon as possible; may be called from any thread."""
        handle = write.handle
        lane = self._lanes.setdefault((handle.profile_name, handle.plugin_name), _Lane())
        loop = self._loop
        if len(lane.waiting) >= MOST_WAITING and loop is None:
            # Where nothing is done for long, as in a process that does not lead, the oldest matters least.
            self._count(lane.waiting.popleft(), CANCELLED)
        elif len(lane.waiting) >= MOST_WAITING:
            raise TooManyWrites(
                f"{MOST_WAITING} writes of plugin {handle.plugin_name} wait to be done already"
            )
        is_in_loop = loop is not None and asyncio._get_running_loop() is loop
        if write.holds and not is_in_loop:
            write = write._replace(holds="")
        lane.waiting.append(write)
        if loop is None:
            return
        if is_in_loop:
            if write.holds:
                self._held.setdefault(write.holds, _Held(loop)).writes += 1
            self._begin_some(lane)
        else:
            loop.call_soon_threadsafe(self._begin_some, lane)

    def held(self, uid: str) -> asyncio.Future[None] | None:
        """Done when all is that holds a pod; None if nothing does."""
        held = self._held.get(uid)
        return None if held is None else held.free

    def open(self) -> None:
        """Begins what was started before, and from now on what is started; in the loop that runs."""
        self._loop = asyncio.get_running_loop()
        for lane in self._lanes.values():
            self._begin_some(lane)

    async def close(self, seconds: float) -> None:
        """Begins nothing more, waits so long for what has begun, and cancels the rest."""
        self._loop = None
        for lane in self._lanes.values():
            while lane.waiting:
                write = lane.waiting.popleft()
                self._count(write, CANCELLED)
                self._let_go(write)
        tasks = [task for lane in self._lanes.values() for task in lane.tasks]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _begin_some(self, lane: _Lane) -> None:
        while self._loop is not None and lane.waiting and len(lane.tasks) < MOST_AT_ONCE:
            write = lane.waiting.popleft()
            task = self._loop.create_task(self._do(write))
            lane.tasks.add(task)
            task.add_done_callback(partial(self._end, lane, write))

    def _end(self, lane: _Lane, write: Write, task: asyncio.Task[None]) -> None:
        lane.tasks.discard(task)
        self._let_go(write)
        self._begin_some(lane)

    def _let_go(self, write: Write) -> None:
        if not write.holds:
            return
        held = self._held[write.holds]
        held.writes -= 1
        if not held.writes:
            del self._held[write.holds]
            if not held.free.done():
                held.free.set_result(None)

    async def _do(self, write: Write) -> None:
        try:
            while not self._services.may_bind():
                await asyncio.sleep(_LEASE_PAUSE)
            await settled(_watched(write))
        except (Exception, SystemExit, DidNotReturn) as error:
            handle = write.handle
            author = author_of(None if (plugin := _plugin_of(handle)) is None else type(plugin))
            self._services.plugin_errors.note(error, handle.plugin_name, author, f"write {write}")
            log.error(
                "write %s of plugin %s failed: %s",
                write,
                handle.plugin_name,
                described(error, author),
                extra={"plugin": handle.plugin_name, "profile": handle.profile_name},
            )
            self._services.observer.plugin_failed(handle.plugin_name, handle.profile_name)
            self._count(write, ERROR)
        except asyncio.CancelledError:
            self._count(write, CANCELLED)
            raise
        else:
            self._count(write, SUCCESS)

    def _count(self, write: Write, result: str) -> None:
        self._services.observer.plugin_wrote(write.handle.plugin_name, write.handle.profile_name, result)


def _watched(write: Write) -> Awaitable[Any]:
    """The work, whose steps are looked at: waiting is fine, blocking is not."""
    work = partial(write.work, *write.args, **write.kwargs)
    profile, plugin = write.handle.profile, _plugin_of(write.handle)
    if profile is None or plugin is None:
        return work()
    answer = watched(profile, plugin, "Write", work)
    return Steps(answer, profile, plugin, "Write") if isinstance(answer, Awaitable) else answer


def _plugin_of(handle: Handle) -> Plugin | None:
    return None if handle.profile is None else handle.profile.plugins.get(handle.plugin_name)
