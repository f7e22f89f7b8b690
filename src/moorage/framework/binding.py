"""PreBindPreFlight, PreBind, Bind and PostBind: what happens once a node is chosen."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from moorage.api.pods import Pod
from moorage.framework.calls import code_label, failure, named
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import Plugin, PreBindPlugin, check_nothing, checked_status
from moorage.framework.slow_calls import Steps, watched
from moorage.framework.status import Code, Status

if TYPE_CHECKING:
    from moorage.framework.profile import Profile

log = logging.getLogger(__name__)

T = TypeVar("T")


async def settled(answer: T | Awaitable[T]) -> T:
    """The answer of a method that may be `def` or `async def`."""
    if not isinstance(answer, Awaitable):
        return answer
    try:
        return await answer
    except asyncio.CancelledError as error:
        _check_own(error)
        raise


def _check_own(error: asyncio.CancelledError) -> None:
    """Raises another error if not this task was cancelled but something that a plugin waited for."""
    task = asyncio.current_task()
    if task is not None and not task.cancelling():
        raise RuntimeError("what it waited for was cancelled") from error


async def _asked(
    profile: Profile,
    plugin: Plugin,
    point: str,
    method: Callable[[CycleState, Pod, str], object],
    cycle: CycleState,
    pod: Pod,
    node_name: str,
) -> object:
    """The answer of a plugin, which is named if it blocks. How long it took is observed in some attempts."""
    started = time.perf_counter()
    label = "Error"
    try:
        answer = watched(profile, plugin, point, method, cycle, pod, node_name)
        if isinstance(answer, Awaitable):
            answer = await Steps(answer, profile, plugin, point)
        if cycle.is_timed:
            label = code_label(answer)
        return answer
    except asyncio.CancelledError as error:
        _check_own(error)
        raise
    finally:
        if cycle.is_timed:
            seconds = time.perf_counter() - started
            profile.observer.plugin_executed(plugin.name, point, label, seconds)


async def pre_bind_pre_flight(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """None if some PreBind plugin will have work, Skip if none has, Error if one fails."""
    has_work = False
    for plugin in profile.pre_bind:
        try:
            method = plugin.pre_bind_pre_flight
            answer = await _asked(profile, plugin, "PreBindPreFlight", method, cycle, pod, node_name)
            status = checked_status(answer, "pre_bind_pre_flight")
        except (Exception, SystemExit) as error:
            status = failure(error)
        if status is None or status.code is Code.SUCCESS:
            has_work = True
        elif status.code is Code.SKIP:
            cycle.skip_pre_bind.add(plugin.name)
        elif status.code is Code.ERROR:
            text = f'running PreBindPreFlight "{plugin.name}": {status.message}'
            return Status(Code.ERROR, text, plugin=plugin.name)
        else:
            text = (
                f'PreBindPreFlight {plugin.name} returned "{status.code.label}", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status"
            )
            return Status(Code.ERROR, text, plugin=plugin.name)
    return None if has_work else Status.skip()


async def pre_bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Runs the PreBind plugins; neighbours that allow it run side by side."""
    for group in pre_bind_groups(profile.pre_bind, cycle.skip_pre_bind):
        status = await _run_group(profile, group, cycle, pod, node_name)
        if status is not None:
            return status
    return None


def pre_bind_groups(plugins: list[PreBindPlugin], skipped: set[str]) -> list[list[PreBindPlugin]]:
    """Consecutive plugins that allow it form one group; one that does not stands alone, even if skipped."""
    groups: list[list[PreBindPlugin]] = []
    together = False
    for plugin in plugins:
        if not (plugin.allows_parallel and together):
            groups.append([])
        together = plugin.allows_parallel
        if plugin.name not in skipped:
            groups[-1].append(plugin)
    return [group for group in groups if group]


async def _run_group(
    profile: Profile, group: list[PreBindPlugin], cycle: CycleState, pod: Pod, node_name: str
) -> Status | None:
    if len(group) == 1:
        return await _pre_bind_one(profile, group[0], cycle, pod, node_name)
    tasks = [asyncio.ensure_future(_pre_bind_one(profile, plugin, cycle, pod, node_name)) for plugin in group]
    try:
        for finished in asyncio.as_completed(tasks):
            status = await finished
            if status is not None:
                return status
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return None


async def _pre_bind_one(
    profile: Profile, plugin: PreBindPlugin, cycle: CycleState, pod: Pod, node_name: str
) -> Status | None:
    try:
        answer = await _asked(profile, plugin, "PreBind", plugin.pre_bind, cycle, pod, node_name)
        status = checked_status(answer, "pre_bind")
    except (Exception, SystemExit) as error:
        status = failure(error)
    if status is None or status.code is Code.SUCCESS:
        return None
    if status.rejected:
        return named(status, plugin)
    text = f'running PreBind plugin "{plugin.name}": {status.message}'
    return Status(Code.ERROR, text, plugin=plugin.name)


async def bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """The first Bind plugin that does not skip binds; Skip if all of them do."""
    for plugin in profile.bind:
        try:
            answer = await _asked(profile, plugin, "Bind", plugin.bind, cycle, pod, node_name)
            status = checked_status(answer, "bind")
        except (Exception, SystemExit) as error:
            status = failure(error)
        if status is None or status.code is Code.SUCCESS:
            return None
        if status.code is Code.SKIP:
            continue
        if status.rejected:
            return named(status, plugin)
        text = f'running Bind plugin "{plugin.name}": {status.message}'
        return Status(Code.ERROR, text, plugin=plugin.name)
    return Status.skip()


async def post_bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> None:
    for plugin in profile.post_bind:
        try:
            answer = await _asked(profile, plugin, "PostBind", plugin.post_bind, cycle, pod, node_name)
            check_nothing(answer, "post_bind")
        except (Exception, SystemExit) as error:
            profile.observer.plugin_failed(plugin.name, profile.name)
            log.error(
                "plugin %s failed after pod %s was bound: %s", plugin.name, pod.key, failure(error).message
            )
