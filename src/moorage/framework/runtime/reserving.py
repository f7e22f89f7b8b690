"""Reserve, Unreserve and Permit: the last steps of a scheduling cycle."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.answers import nothing_of, status_of, wait_or_status
from moorage.framework.runtime.calls import Question, ask, ask_often
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.framework.status import Code, Status, Wait

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

log = logging.getLogger(__name__)

LONGEST_WAIT = 15 * 60.0

_RESERVE = Question("Reserve", status_of("reserve"))
_UNRESERVE = Question("Unreserve", nothing_of("unreserve"))
_PERMIT = Question("Permit", wait_or_status)


def asks_everyone(profile: Profile, cycle: CycleState, pod: Pod) -> bool:
    """Whether plugins that settle claims are asked about a pod, though they may have nothing to do for it."""
    return cycle.is_timed or pod.has_claims or cycle.has_claims or not profile.services.shortcuts


def nothing_to_reserve(profile: Profile, cycle: CycleState, pod: Pod) -> bool:
    """Whether no Reserve or Permit plugin has anything to do for a pod."""
    return not (profile.reserve_without_claims or profile.permit or asks_everyone(profile, cycle, pod))


def reserve(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Runs the Reserve plugins up to the first that fails; the caller then unreserves.

    Those that have nothing to do for a pod are asked only where each plugin is timed.
    """
    everyone = asks_everyone(profile, cycle, pod)
    for plugin in profile.reserve if everyone else profile.reserve_without_claims:
        status = ask_often(_RESERVE, profile, plugin, cycle.is_timed, plugin.reserve, cycle, pod, node_name)
        if status is not None and status.code is not Code.SUCCESS:
            return diagnosis.rejected_or_failed("Reserve", plugin.name, status)
    return None


def unreserve(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> None:
    """Runs Unreserve of every Reserve plugin, last first, whether or not its Reserve was reached."""
    started = time.perf_counter()
    for plugin in reversed(profile.reserve):
        failed = ask(_UNRESERVE, profile, plugin, cycle.is_timed, plugin.unreserve, cycle, pod, node_name)
        if failed is not None:
            profile.observer.plugin_failed(plugin.name, profile.name)
            said = diagnosis.for_log(profile, failed.by(plugin.name))
            log.error("plugin %s failed to unreserve pod %s: %s", plugin.name, pod.key, said)
    profile.observer.extension_point(profile.name, "Unreserve", "Success", time.perf_counter() - started)


class Permitted(NamedTuple):
    """`status` is None if the pod may go on, at once or after waiting."""

    status: Status | None
    waiting: WaitingPod | None = None


def permit(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Permitted:
    """Asks every Permit plugin; if any makes the pod wait, it is registered as waiting."""
    timeouts: dict[str, float] = {}
    message = ""
    for plugin in profile.permit:
        answer = ask(_PERMIT, profile, plugin, cycle.is_timed, plugin.permit, cycle, pod, node_name)
        if isinstance(answer, Wait):
            timeouts[plugin.name] = min(float(answer.timeout), LONGEST_WAIT)
            message = answer.message
        elif answer is not None and answer.code is not Code.SUCCESS:
            return Permitted(diagnosis.rejected_or_failed("Permit", plugin.name, answer))
    if not timeouts:
        return Permitted(None)
    waiting = WaitingPod(pod, timeouts, message)
    profile.services.waiting_pods.add(waiting)
    return Permitted(None, waiting)


async def wait_on_permit(profile: Profile, waiting: WaitingPod) -> Status | None:
    """Waits until all plugins allowed the pod or one rejected it."""
    try:
        status = await waiting.ended()
    finally:
        profile.services.waiting_pods.remove(waiting.pod.uid)
    return status if status is None or status.rejected else diagnosis.wait_failed(status)
