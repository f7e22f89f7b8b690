"""One scheduling cycle of a PodGroup: all its pods that wait are tried together.

As in the cycle of a single pod nothing awaits: nobody sees a group that is placed in part.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from moorage.config.feature_gates import WORKLOAD_AWARE_PREEMPTION
from moorage.framework import diagnosis
from moorage.framework.diagnosis import Failure
from moorage.framework.handle import Handle, Services
from moorage.framework.logger import Logger
from moorage.framework.plugin_errors import IN_TREE, described
from moorage.framework.pod_groups import PodGroups
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.binding_cycle import BindingCycle, activate_pods
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.failures import FailureHandler
from moorage.scheduler.gangs.trials import GangTrials, Place, in_order
from moorage.scheduler.journal import Journal
from moorage.scheduler.pod_groups.placements import UNSCHEDULABLE, PodGroupPlacements, Search
from moorage.scheduler.pod_groups.preemption import PodGroupPreemption
from moorage.scheduler.pod_groups.status import PodGroupStatusWriter
from moorage.scheduler.pod_groups.trials import GroupAttempt, GroupTrial, MemberTrial, PodGroupTrials, Verdict

log = Logger(__name__)

_WAITS_FOR_ROOM = f"{UNSCHEDULABLE}, pod group is waiting for preemption to complete"


class PodGroupCycle:
    """Places pods that name a PodGroup; Permit decides whether those that fit are enough."""

    def __init__(
        self,
        services: Services,
        profiles: Mapping[str, Profile],
        queue: SchedulingQueue,
        failures: FailureHandler,
        journal: Journal,
        binding: BindingCycle,
        place: Place,
    ) -> None:
        handle = Handle(services, plugin_name="PodGroups")
        self._services = services
        self._profiles = profiles
        self._queue = queue
        self._failures = failures
        self._binding = binding
        self._groups = handle.shared(PodGroups)
        self._trials = PodGroupTrials(services, GangTrials(services, journal, place), place)
        self._placements = PodGroupPlacements(self._trials)
        self._status = PodGroupStatusWriter(handle, self._groups)
        is_for_groups = services.gates.enabled(WORKLOAD_AWARE_PREEMPTION)
        self._preemption = PodGroupPreemption(services, self._groups, self._trials) if is_for_groups else None

    def attempt(self, profile: Profile, first: QueuedPod, key: str, chooser: NodeChooser) -> None:
        """Tries a group of which a pod was taken from the queue; the others are taken, too."""
        members = self._gather(first, key)
        attempt = GroupAttempt(profile, key, members, chooser, time.perf_counter())
        if problem := _different_schedulers(members):
            for queued in members:
                failure = diagnosis.attempt_failed(Status.error(problem))
                self._give_back(attempt, queued, failure)
            return
        with self._groups.trying([queued.pod for queued in members]):
            try:
                search = self._placements.search(attempt)
            except Exception as error:
                log.error(described(error, IN_TREE), "Scheduling the pod group failed", group=key)
                search = Search(GroupTrial(), diagnosis.unexpected(error))
            self._act(attempt, search)

    def _gather(self, first: QueuedPod, key: str) -> list[QueuedPod]:
        """Takes the other members that wait from the queue; those that may not enter it yet stay."""
        members = [first]
        for pod in list(self._groups.members(key)):
            is_other = pod.uid != first.pod.uid and not pod.spec.node_name and not pod.deleting
            if is_other and (queued := self._queue.take(pod)) is not None:
                members.append(queued)
        return in_order(members)

    def _act(self, attempt: GroupAttempt, search: Search) -> None:
        """Does what follows from the attempt: for each member, and for the group."""
        trial, status = search.trial, search.status
        verdict = trial.verdict if status is None or trial.members else None
        if verdict is Verdict.FITS:
            self._bind(attempt, trial)
            self._status.write(attempt.key, "True", "Scheduled", "")
            return
        self._trials.undo(trial, "not all that the pod group needs fits")
        status = status or _status_of(trial)
        if verdict is Verdict.WAITS_FOR_ROOM:
            self._trials.make_room(trial)
        elif self._preemption is not None and status.rejected:
            said = self._preemption.make_room(attempt, status)
            if said is None:
                verdict = Verdict.WAITS_FOR_ROOM
            elif said.rejected:
                status = Status.unschedulable(f"{status.message}, {said.message}")
            else:
                status = said
        tried = {member.queued.pod.uid: member for member in trial.members}
        for queued in attempt.members:
            failure = _failure(status, verdict, tried.get(queued.pod.uid))
            self._give_back(attempt, queued, failure)
        reason = "Unschedulable" if status.rejected else "SchedulerError"
        self._status.write(attempt.key, "False", reason, status.message)

    def _bind(self, attempt: GroupAttempt, trial: GroupTrial) -> None:
        for placed in trial.placed:
            if placed.waiting is not None and placed.waiting.is_allowed:
                # It waited for members that have been placed since.
                self._services.waiting_pods.remove(placed.assumed.uid)
                placed.waiting = None
            activate_pods(self._queue, placed.cycle)
            self._binding.start(placed)
        for member in trial.members:
            if member.placed is None and member.failure is not None:
                self._give_back(attempt, member.queued, member.failure)

    def _give_back(self, attempt: GroupAttempt, queued: QueuedPod, failure: Failure) -> None:
        profile = self._profiles.get(queued.pod.spec.scheduler_name, attempt.profile)
        queued.is_of_group = True
        self._failures.handle_when_free(profile, queued, failure, attempt.started)


def _different_schedulers(members: list[QueuedPod]) -> str:
    first = members[0].pod.spec.scheduler_name
    other = next((name for each in members if (name := each.pod.spec.scheduler_name) != first), "")
    if not other:
        return ""
    rule = "all pods in a single pod group should have the same .spec.schedulerName set"
    return f'{rule}, got: "{other}" and "{first}"'


def _status_of(trial: GroupTrial) -> Status:
    """What a trial that did not place the group says of it."""
    broken = trial.broken
    if broken is not None:
        text = f"failed to schedule other pod from a pod group: {broken.message}"
        return Status(Code.ERROR, text, plugin=broken.status.plugin)
    return Status.unschedulable(_WAITS_FOR_ROOM if trial.verdict is Verdict.WAITS_FOR_ROOM else UNSCHEDULABLE)


def _failure(status: Status, verdict: Verdict | None, member: MemberTrial | None) -> Failure:
    """What a member is told, where the group was not placed."""
    own = None if member is None else member.failure
    if not status.rejected:
        return own if own is not None and not own.is_rejection else diagnosis.attempt_failed(status)
    if member is None:
        return _rejection(status.message)
    if own is not None and (member.placed is None or verdict is Verdict.WAITS_FOR_ROOM):
        return own
    assert member.placed is not None
    if verdict is Verdict.WAITS_FOR_ROOM:
        return _rejection(status.message, member.placed.node_name)
    return _rejection(", ".join(filter(None, (UNSCHEDULABLE, member.waits_for))))


def _rejection(message: str, nominated: str = "") -> Failure:
    return Failure(Status.unschedulable(message), message, nominated_node=nominated)
