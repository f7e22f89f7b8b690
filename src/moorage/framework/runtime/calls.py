"""The frame around every call of a plugin: it is timed, its answer checked, what it raises an Error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, TypeVarTuple

from moorage.framework.diagnosis import raised
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.slow_calls import SLOW_SECONDS, Steps, notice, watched
from moorage.framework.status import Nomination, Status, Wait

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

FAILURES = (Exception, SystemExit, asyncio.CancelledError)
"""What a plugin that does not wait may raise without taking the scheduler along."""

_CANCELLED = "what it waited for was cancelled"


class Question(NamedTuple, Generic[T]):
    """What is asked at an extension point: its name in messages and metrics, and which answers pass."""

    point: str
    check: Callable[[object], T]


def ask(
    question: Question[T],
    profile: Profile,
    plugin: Plugin,
    is_timed: bool,
    method: Callable[[*Arguments], object],
    *arguments: *Arguments,
) -> T | Status:
    """The answer of a plugin, or an Error if it raises or its answer does not pass.

    How long it took is observed where that is wanted (`is_timed`); slow calls are always named.
    """
    answer: T | Status
    started = time.perf_counter()
    try:
        answer = question.check(method(*arguments))
    except FAILURES as error:
        answer = raised(error)
        profile.services.plugin_raised(plugin.name, question.point, error)
    if (seconds := time.perf_counter() - started) > SLOW_SECONDS:
        # What an extender takes is not the plugin's fault.
        busy = seconds - profile.services.suspension.waited_since(started)
        if busy > SLOW_SECONDS:
            notice(profile, plugin, question.point, busy)
    if is_timed:
        profile.observer.plugin_executed(plugin.name, question.point, _code_label(answer), seconds)
    return answer


async def ask_and_wait(
    question: Question[T],
    profile: Profile,
    plugin: Plugin,
    is_timed: bool,
    method: Callable[[*Arguments], object],
    *arguments: *Arguments,
) -> T | Status:
    """As `ask`, for a method that may be `async def`: waiting is fine, blocking is what is named."""
    started = time.perf_counter()
    label = "Error"
    try:
        answer = watched(profile, plugin, question.point, method, *arguments)
        if isinstance(answer, Awaitable):
            answer = await Steps(answer, profile, plugin, question.point)
        checked = question.check(answer)
        if is_timed:
            label = _code_label(checked)
        return checked
    except (Exception, SystemExit) as error:
        profile.services.plugin_raised(plugin.name, question.point, error)
        return raised(error)
    except asyncio.CancelledError:
        if _this_task_is_cancelled():
            raise
        return raised(RuntimeError(_CANCELLED))
    finally:
        if is_timed:
            seconds = time.perf_counter() - started
            profile.observer.plugin_executed(plugin.name, question.point, label, seconds)


async def settled(answer: T | Awaitable[T]) -> T:
    """The answer of a method that may be `def` or `async def`."""
    if not isinstance(answer, Awaitable):
        return answer
    try:
        return await answer
    except asyncio.CancelledError as error:
        if _this_task_is_cancelled():
            raise
        raise RuntimeError(_CANCELLED) from error


def _this_task_is_cancelled() -> bool:
    """Or else something was that a plugin waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _code_label(answer: object) -> str:
    """How a call ended, as metrics spell it."""
    if isinstance(answer, Nomination):
        answer = answer.status
    if isinstance(answer, Status):
        return answer.code.label
    return "Wait" if isinstance(answer, Wait) else "Success"
