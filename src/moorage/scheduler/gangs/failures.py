"""What the members of a gang are told when not enough of them fit: one reason for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moorage.framework import diagnosis
from moorage.framework.diagnosis import Failure
from moorage.framework.gangs import Gang, GangPlugin
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.status import Code, Status

Failed = Sequence[tuple[QueuedPod, Failure]]
"""Members that got no node, each with its own reason, in the order in which they were tried."""


def failures_of(
    gangs: GangPlugin, gang: Gang, members: Sequence[QueuedPod], fitting: int, failed: Failed, where: str = ""
) -> dict[str, Failure]:
    """By uid: why each member waits. `fitting` counts those that have a node, too."""
    own = {queued.pod.uid: failure for queued, failure in failed}
    broken = next((failure for _, failure in failed if not failure.is_rejection), None)
    if broken is not None:
        text = f"failed to schedule other pod from a pod group: {broken.message}"
        other = diagnosis.attempt_failed(Status(Code.ERROR, text, plugin=broken.status.plugin))
        return {queued.pod.uid: own.get(queued.pod.uid, other) for queued in members}
    if failed and not where and all(failure.unschedulable_plugins == {gangs.name} for _, failure in failed):
        # What is wrong is the gang itself, and the plugin has told each member so.
        shared = failed[0][1]
        return {queued.pod.uid: own.get(queued.pod.uid, shared) for queued in members}
    shared = _shared(gangs, gang, members, fitting, failed, where)
    return {queued.pod.uid: shared for queued in members}


def waiting_for_room(
    gangs: GangPlugin, members: Sequence[QueuedPod], failed: Failed, nodes: Mapping[str, str]
) -> dict[str, Failure]:
    """By uid: where each member is to be once others have gone; one that is not needed has no place yet."""
    message = "pod group is waiting for preemption to complete"
    return {
        queued.pod.uid: _rejection(gangs, message, failed, nodes.get(queued.pod.uid)) for queued in members
    }


def _shared(
    gangs: GangPlugin, gang: Gang, members: Sequence[QueuedPod], fitting: int, failed: Failed, where: str
) -> Failure:
    message = f"pod group {gang.key}: {fitting} of {gang.minimum} members fit{where}"
    if failed:
        first, why = failed[0]
        message += f"; {first.pod.key} does not: {why.message}"
    elif absent := _why_not_tried(gangs, gang, members):
        message += f"; {absent}"
    return _rejection(gangs, message, failed, "")


def _why_not_tried(gangs: GangPlugin, gang: Gang, members: Sequence[QueuedPod]) -> str:
    """Why the others were too few though all that were tried fit: what is with the first that was not."""
    tried, state = {queued.pod.uid for queued in members}, gangs.handle.state
    absent = (
        pod
        for pod in gangs.members_of(gang)
        if pod.uid not in tried and not pod.deleting and state.placement(pod.uid) is None
    )
    pod = min(absent, key=lambda each: each.key, default=None)
    if pod is None:
        return ""
    scheduler = members[0].pod.spec.scheduler_name if members else pod.spec.scheduler_name
    if pod.spec.scheduler_name != scheduler:
        return f"{pod.key} is for the scheduler {pod.spec.scheduler_name!r}, not {scheduler!r}"
    return f"{pod.key} may not be tried yet"


def _rejection(gangs: GangPlugin, message: str, failed: Failed, nominated: str | None) -> Failure:
    return Failure(
        Status(Code.UNSCHEDULABLE, message),
        message,
        unschedulable_plugins={gangs.name}.union(*(why.unschedulable_plugins for _, why in failed)),
        pending_plugins=set[str]().union(*(why.pending_plugins for _, why in failed)),
        nominated_node=nominated,
    )
