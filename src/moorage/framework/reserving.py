"""Reserve, Unreserve and Permit: the last steps of a scheduling cycle."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pods import Pod
from moorage.framework.calls import FAILURES, failure, named, timed
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import WrongAnswer, check_nothing, checked_status
from moorage.framework.status import Code, Status, Wait
from moorage.framework.waiting_pods import WaitingPod

if TYPE_CHECKING:
    from moorage.framework.profile import Profile

log = logging.getLogger(__name__)

LONGEST_WAIT = 15 * 60.0


def reserve(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Runs the Reserve plugins up to the first that fails; the caller then unreserves."""
    for plugin in profile.reserve:
        try:
            status = checked_status(
                timed(profile, cycle, plugin, "Reserve", plugin.reserve, cycle, pod, node_name), "reserve"
            )
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is not Code.SUCCESS:
            if status.rejected:
                return named(status, plugin)
            text = f'running Reserve plugin "{plugin.name}": {status.message}'
            return Status(Code.ERROR, text, plugin=plugin.name)
    return None


def unreserve(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> None:
    """Runs Unreserve of every Reserve plugin, last first, whether or not its Reserve was reached."""
    for plugin in reversed(profile.reserve):
        try:
            answer: object = timed(
                profile, cycle, plugin, "Unreserve", plugin.unreserve, cycle, pod, node_name
            )
            check_nothing(answer, "unreserve")
        except FAILURES as error:
            profile.observer.plugin_failed(plugin.name, profile.name)
            log.error(
                "plugin %s failed to unreserve pod %s: %s", plugin.name, pod.key, failure(error).message
            )


class Permitted(NamedTuple):
    """`status` is None if the pod may go on, at once or after waiting."""

    status: Status | None
    waiting: WaitingPod | None = None


def permit(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Permitted:
    """Asks every Permit plugin; if any makes the pod wait, it is registered as waiting."""
    timeouts: dict[str, float] = {}
    for plugin in profile.permit:
        status: Status | None
        try:
            answer = timed(profile, cycle, plugin, "Permit", plugin.permit, cycle, pod, node_name)
            if isinstance(answer, Wait):
                timeouts[plugin.name] = _checked_timeout(answer)
                continue
            status = checked_status(answer, "permit", "None, a Wait or a Status")
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is not Code.SUCCESS:
            if status.rejected:
                return Permitted(named(status, plugin))
            text = f'running Permit plugin "{plugin.name}": {status.message}'
            return Permitted(Status(Code.ERROR, text, plugin=plugin.name))
    if not timeouts:
        return Permitted(None)
    waiting = WaitingPod(pod, timeouts)
    profile.services.waiting_pods.add(waiting)
    return Permitted(None, waiting)


def _checked_timeout(wait: Wait) -> float:
    timeout = wait.timeout
    if not isinstance(timeout, (int, float)) or timeout != timeout:
        raise WrongAnswer(f"permit returned Wait({timeout!r}), use a number of seconds")
    return min(float(timeout), LONGEST_WAIT)


async def wait_on_permit(profile: Profile, waiting: WaitingPod) -> Status | None:
    """Waits until all plugins allowed the pod or one rejected it."""
    try:
        status = await waiting.ended()
    finally:
        profile.services.waiting_pods.remove(waiting.pod.uid)
    if status is None or status.rejected:
        return status
    return Status(Code.ERROR, f"waiting on permit for pod: {status.message}", plugin=status.plugin)
