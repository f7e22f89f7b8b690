"""What surrounds every call of a plugin: exceptions become Error statuses, answers get the plugin's name."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import Plugin
from moorage.framework.slow_calls import SLOW_SECONDS, notice
from moorage.framework.status import Status

if TYPE_CHECKING:
    from moorage.framework.profile import Profile

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


def failure(error: Exception) -> Status:
    """An exception from a plugin as a status. The traceback goes to the log at debug level."""
    log.debug("a plugin raised", exc_info=error)
    if not str(error):
        return Status.error(type(error).__name__)
    return Status.error(cause=error)


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
    try:
        answer = call(*arguments, **keywords)
    finally:
        if (seconds := time.perf_counter() - started) > SLOW_SECONDS:
            notice(profile, plugin, point, seconds)
    if cycle.is_timed:
        code = answer.code.label if isinstance(answer, Status) else "Success"
        profile.observer.plugin_executed(plugin.name, point, code, seconds)
    return answer
