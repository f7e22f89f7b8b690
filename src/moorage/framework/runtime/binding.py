"""PreBindPreFlight, PreBind, Bind and PostBind: what happens once a node is chosen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import BindPlugin, PreBindPlugin
from moorage.framework.runtime.answers import nothing_of, status_of
from moorage.framework.runtime.calls import Question, Unanswered, ask, ask_and_wait, ask_or_wait
from moorage.framework.runtime.reserving import asks_everyone
from moorage.framework.status import Code, Status

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

log = logging.getLogger(__name__)

_PRE_BIND_PRE_FLIGHT = Question("PreBindPreFlight", status_of("pre_bind_pre_flight"))
_PRE_BIND = Question("PreBind", status_of("pre_bind"))
_BIND = Question("Bind", status_of("bind"))
_POST_BIND = Question("PostBind", nothing_of("post_bind"))


def nothing_to_pre_bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> bool:
    """Whether it is known without waiting for an answer that no PreBind plugin will have work."""
    has_claims = pod.has_claims or cycle.has_claims
    # Who is timed is asked once, in the usual way.
    if profile.pre_bind_without_claims or (has_claims and cycle.is_timed):
        return False
    if asks_everyone(profile, cycle, pod):
        for plugin in profile.pre_bind:
            method, is_timed = plugin.pre_bind_pre_flight, cycle.is_timed
            status = ask(_PRE_BIND_PRE_FLIGHT, profile, plugin, is_timed, method, cycle, pod, node_name)
            if has_claims and (status is None or status.code is not Code.SKIP):
                return False
    return True


async def pre_bind_pre_flight(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """None if some PreBind plugin will have work, Skip if none has, Error if one fails."""
    has_work = False
    everyone = asks_everyone(profile, cycle, pod)
    for plugin in profile.pre_bind:
        if not everyone and plugin.settles_claims_only:
            cycle.skip_pre_bind.add(plugin.name)
            continue
        status = await ask_and_wait(
            _PRE_BIND_PRE_FLIGHT,
            profile,
            plugin,
            cycle.is_timed,
            plugin.pre_bind_pre_flight,
            cycle,
            pod,
            node_name,
        )
        if status is None or status.code is Code.SUCCESS:
            has_work = True
        elif status.code is Code.SKIP:
            cycle.skip_pre_bind.add(plugin.name)
        else:
            return diagnosis.pre_flight_failed(plugin.name, status)
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
    except asyncio.CancelledError:
        stopped = await _stopped(tasks)
        if stopped is None:
            raise
        return stopped
    finally:
        await _stopped(tasks)
    return None


async def _stopped(tasks: Sequence[asyncio.Future[Status | None]]) -> Status | None:
    """Ends what still runs; returns what the first of them says about that."""
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    return next((result for result in results if isinstance(result, Status)), None)


async def _pre_bind_one(
    profile: Profile, plugin: PreBindPlugin, cycle: CycleState, pod: Pod, node_name: str
) -> Status | None:
    try:
        status = await ask_and_wait(
            _PRE_BIND, profile, plugin, cycle.is_timed, plugin.pre_bind, cycle, pod, node_name
        )
    except asyncio.CancelledError:
        cause = profile.services.pods_in_pre_bind.cause(pod.uid)
        if not cause:
            raise
        status = Status.error(cause)
    if status is None or status.code is Code.SUCCESS:
        return None
    return diagnosis.rejected_or_failed("PreBind", plugin.name, status)


def bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | Binding | None:
    """The first binds that does not skip: the extender for it, if there is one, then the Bind plugins.

    Skip if all of them do. Where that takes a while, what is returned can be awaited.
    """
    if profile.services.extenders:
        return Binding(None, -1, profile, cycle, pod, node_name)
    for place, plugin in enumerate(profile.bind):
        answer = ask_or_wait(_BIND, profile, plugin, cycle.is_timed, plugin.bind, cycle, pod, node_name)
        if answer is None:
            return None
        if not isinstance(answer, Status):
            return Binding(answer, place, profile, cycle, pod, node_name)
        if answer.code is not Code.SKIP:
            return _told_of_bind(plugin, answer)
    return Status.skip()


class Binding:
    """A bind that takes a while: its answer when it is awaited; if it is not, `close` it."""

    __slots__ = ("_about", "_answer", "_place")

    def __init__(
        self,
        answer: Unanswered[Status | None] | None,
        place: int,
        profile: Profile,
        cycle: CycleState,
        pod: Pod,
        node_name: str,
    ) -> None:
        """`answer` is that of the plugin in this place; without one, the extender is asked first."""
        self._answer = answer
        self._place = place
        self._about = profile, cycle, pod, node_name

    def __await__(self) -> Generator[Any, Any, Status | None]:
        profile, cycle, pod, node_name = self._about
        if self._answer is not None:
            status = yield from self._answer.__await__()
            if status is None or status.code is not Code.SKIP:
                return _told_of_bind(profile.bind[self._place], status)
        else:
            status = yield from profile.services.extenders.bind(pod, node_name).__await__()
            if status is None or status.code is not Code.SKIP:
                return status
        for plugin in profile.bind[self._place + 1 :]:
            status = yield from ask_and_wait(
                _BIND, profile, plugin, cycle.is_timed, plugin.bind, cycle, pod, node_name
            ).__await__()
            if status is None or status.code is not Code.SKIP:
                return _told_of_bind(plugin, status)
        return Status.skip()

    def close(self) -> None:
        """Nobody will wait for it."""
        if self._answer is not None:
            self._answer.close()


def _told_of_bind(plugin: BindPlugin, status: Status | None) -> Status | None:
    if status is None or status.code is Code.SUCCESS:
        return None
    return diagnosis.rejected_or_failed("Bind", plugin.name, status)


async def post_bind(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> None:
    for plugin in profile.post_bind:
        failed = await ask_and_wait(
            _POST_BIND, profile, plugin, cycle.is_timed, plugin.post_bind, cycle, pod, node_name
        )
        if failed is not None:
            profile.observer.plugin_failed(plugin.name, profile.name)
            said = diagnosis.for_log(profile, failed.by(plugin.name))
            log.error("plugin %s failed after pod %s was bound: %s", plugin.name, pod.key, said)
