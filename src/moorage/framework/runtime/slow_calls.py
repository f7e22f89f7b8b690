"""Naming the plugins that hold everything up: while one of them computes or sleeps, nothing else happens."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from moorage.framework.extension_points import Plugin

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

log = logging.getLogger(__name__)

SLOW_SECONDS = 0.5
SILENCE_SECONDS = 60.0  # between two warnings about the same plugin at the same point

_warned: dict[tuple[str, str, str], float] = {}


def watched(
    profile: Profile, plugin: Plugin, point: str, call: Callable[[*Arguments], T], *arguments: *Arguments
) -> T:
    """The answer of a call, whose time is looked at."""
    running = profile.running
    outer = running.call
    started = time.perf_counter()
    running.call = plugin.name, point, started
    try:
        return call(*arguments)
    finally:
        running.call = outer
        if (seconds := time.perf_counter() - started) > SLOW_SECONDS and running.interrupted < started:
            notice(profile, plugin, point, seconds)


def notice(profile: Profile, plugin: Plugin, point: str, seconds: float) -> None:
    """Counts a slow call and warns of it, but not again and again."""
    profile.observer.plugin_slow(plugin.name, point, profile.name)
    now, key = time.monotonic(), (profile.name, plugin.name, point)
    if now - _warned.get(key, -SILENCE_SECONDS) < SILENCE_SECONDS:
        return
    _warned[key] = now
    log.warning(
        "Slow plugin: nothing else is scheduled while it runs; use the fast form, or async for what waits",
        extra={"plugin": plugin.name, "extensionPoint": point, "profile": profile.name, "seconds": seconds},
    )


class Steps(Awaitable[T]):
    """An awaitable of a plugin, each of whose steps is looked at: waiting is fine, blocking is not."""

    def __init__(self, awaitable: Awaitable[T], profile: Profile, plugin: Plugin, point: str) -> None:
        self._awaitable = awaitable
        self._about = profile, plugin, point

    def __await__(self) -> Generator[Any, Any, T]:
        profile, plugin, point = self._about
        running = profile.running
        steps: Any = self._awaitable.__await__()
        sent: Any = None
        error: BaseException | None = None
        try:
            while True:
                outer = running.call
                started = time.perf_counter()
                running.call = plugin.name, point, started
                try:
                    if error is not None:
                        waiting_for = steps.throw(error)
                    elif sent is None:
                        waiting_for = next(steps)
                    else:
                        waiting_for = steps.send(sent)
                except StopIteration as done:
                    result: T = done.value
                    return result
                finally:
                    running.call = outer
                    seconds = time.perf_counter() - started
                    if seconds > SLOW_SECONDS and running.interrupted < started:
                        notice(profile, plugin, point, seconds)
                error = None
                try:
                    sent = yield waiting_for
                except GeneratorExit:
                    raise
                except BaseException as thrown:
                    error = thrown
        finally:
            error = None  # it knows this frame
            close = getattr(steps, "close", None)
            if close is not None:
                close()
