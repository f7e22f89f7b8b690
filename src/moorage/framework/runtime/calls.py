"""The frame around every call of a plugin: it is timed, its answer checked, what it raises an Error."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, TypeVarTuple

from moorage.framework.diagnosis import call_failed
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.framework.runtime.slow_calls import SLOW_SECONDS, Steps, notice, watched
from moorage.framework.status import Nomination, Status, Wait

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

log = logging.getLogger(__name__)

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

FAILURES = (Exception, SystemExit, asyncio.CancelledError, DidNotReturn)
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
    running = profile.running
    outer = running.call
    trials = profile.trials
    open_before = len(trials)
    started = time.perf_counter()
    running.call = plugin.name, question.point, started
    try:
        answer = question.check(method(*arguments))
    except FAILURES as error:
        answer = call_failed(error, profile, plugin, question.point, arguments)
    finally:
        running.call = outer
    if len(trials) > open_before:
        # It did not end a what-if, or was interrupted while one ended.
        profile.state.undo_trials(open_before)
        log.error(
            "plugin %s left a what-if open at %s: use it in a `with` block", plugin.name, question.point
        )
    if (seconds := time.perf_counter() - started) > SLOW_SECONDS and running.interrupted < started:
        # What an extender takes is not the plugin's fault.
        busy = seconds - profile.services.suspension.waited_since(started)
        if busy > SLOW_SECONDS:
            notice(profile, plugin, question.point, busy)
    took, which = profile.services.took, (question.point, plugin.name)
    took[which] = took.get(which, 0.0) + seconds
    if is_timed:
        profile.observer.plugin_executed(plugin.name, question.point, _code_label(answer), seconds)
    return answer


def ask_often(
    question: Question[T],
    profile: Profile,
    plugin: Plugin,
    is_timed: bool,
    method: Callable[[*Arguments], T | Status],
    *arguments: *Arguments,
) -> T | Status:
    """As `ask`, for the points of every search: plugins of Moorage's own are looked at where they are timed.

    Their answers have the right type, and they neither hang nor leave anything open.
    """
    if is_timed or plugin not in profile.ours:
        return ask(question, profile, plugin, is_timed, method, *arguments)
    try:
        return method(*arguments)
    except FAILURES as error:
        return call_failed(error, profile, plugin, question.point, arguments)


async def ask_and_wait(
    question: Question[T],
    profile: Profile,
    plugin: Plugin,
    is_timed: bool,
    method: Callable[[*Arguments], object],
    *arguments: *Arguments,
) -> T | Status:
    """As `ask`, for a method that may be `async def`: waiting is fine, blocking is what is named."""
    answer = ask_or_wait(question, profile, plugin, is_timed, method, *arguments)
    return await answer if isinstance(answer, Unanswered) else answer


def ask_or_wait(
    question: Question[T],
    profile: Profile,
    plugin: Plugin,
    is_timed: bool,
    method: Callable[[*Arguments], object],
    *arguments: *Arguments,
) -> T | Status | Unanswered[T]:
    """As `ask_and_wait`, but what need not be waited for is answered at once."""
    started = time.perf_counter()
    checked: T | Status
    try:
        answer = watched(profile, plugin, question.point, method, *arguments)
        if answer is not None and isinstance(answer, Awaitable):
            return Unanswered(answer, started, question, profile, plugin, is_timed, arguments)
        checked = question.check(answer)
    except asyncio.CancelledError as error:
        checked = call_failed(_cancelled(error), profile, plugin, question.point, arguments)
    except FAILURES as error:
        checked = call_failed(error, profile, plugin, question.point, arguments)
    if is_timed:
        seconds = time.perf_counter() - started
        profile.observer.plugin_executed(plugin.name, question.point, _code_label(checked), seconds)
    return checked


class Unanswered(Generic[T]):
    """What a method that is `async def` will answer, when it is awaited; if it is not, `close` it."""

    __slots__ = ("_about", "_answer", "_arguments", "_is_timed", "_started")

    def __init__(
        self,
        answer: Awaitable[object],
        started: float,
        question: Question[T],
        profile: Profile,
        plugin: Plugin,
        is_timed: bool,
        arguments: tuple[object, ...],
    ) -> None:
        self._answer = answer
        self._started = started
        self._about = question, profile, plugin
        self._is_timed = is_timed
        self._arguments = arguments

    def __await__(self) -> Generator[Any, Any, T | Status]:
        question, profile, plugin = self._about
        label = "Error"
        try:
            steps = Steps(self._answer, profile, plugin, question.point)
            checked = question.check((yield from steps.__await__()))
            if self._is_timed:
                label = _code_label(checked)
            return checked
        except (Exception, SystemExit, DidNotReturn) as error:
            return call_failed(error, profile, plugin, question.point, self._arguments)
        except asyncio.CancelledError as error:
            if _this_task_is_cancelled():
                raise
            return call_failed(_cancelled(error), profile, plugin, question.point, self._arguments)
        finally:
            if self._is_timed:
                seconds = time.perf_counter() - self._started
                profile.observer.plugin_executed(plugin.name, question.point, label, seconds)

    def close(self) -> None:
        """Nobody will wait for it."""
        if isinstance(self._answer, Coroutine):
            self._answer.close()


def _cancelled(error: asyncio.CancelledError) -> asyncio.CancelledError:
    return asyncio.CancelledError(_CANCELLED).with_traceback(error.__traceback__)


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
