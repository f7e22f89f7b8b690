"""What surrounds every call of a plugin: exceptions become Error statuses, answers get the plugin's name."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import Plugin
from moorage.framework.slow_calls import SLOW_SECONDS, notice
from moorage.framework.status import Nomination, Status, Wait

if TYPE_CHECKING:
    from moorage.framework.profile import Profile

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

FAILURES = (Exception, SystemExit, asyncio.CancelledError)
"""What a plugin that does not wait may raise without taking the scheduler along."""


def failure(error: BaseException) -> Status:
    """An exception from a plugin as a status. The traceback goes to the log at debug level."""
    log.debug("a plugin raised", exc_info=error)
    text, kind = str(error), type(error).__name__
    if isinstance(error, SystemExit):
        text = f"{kind}: {text}"  # by itself it is a number, mostly
    status = Status.error(text or kind)
    status.cause = error
    return status


def named(status: Status, plugin: Plugin) -> Status:
    return status.by(plugin.name)


def timed(
    profile: Profile,
    cycle: CycleState,
    plugin: Plugin,
    point: str,
    call: Callable[P, T],
    /,
    *arguments: P.args,
    **keywords: P.kwargs,
) -> T:
    """The answer of one call. How long it took is observed in some attempts; slow ones are always named."""
    started = time.perf_counter()
    label = "Error"
    try:
        answer = call(*arguments, **keywords)
        if cycle.is_timed:
            label = code_label(answer)
        return answer
    finally:
        if (seconds := time.perf_counter() - started) > SLOW_SECONDS:
            notice(profile, plugin, point, seconds)
        if cycle.is_timed:
            profile.observer.plugin_executed(plugin.name, point, label, seconds)


def code_label(answer: object) -> str:
    """How a call ended, as metrics spell it."""
    if isinstance(answer, Nomination):
        answer = answer.status
    if isinstance(answer, Status):
        return answer.code.label
    return "Wait" if isinstance(answer, Wait) else "Success"
