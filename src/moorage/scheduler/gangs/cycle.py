"""One scheduling cycle of a gang: members are placed one after the other, and stay so only if enough fit.

As in the cycle of a single pod nothing awaits: between the first member and the last nothing else happens,
and nobody sees a gang that is placed in part.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.diagnosis import Failure
from moorage.framework.gangs import Gang, GangPlugin, home_of
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.plugin_errors import IN_TREE, described
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.binding_cycle import BindingCycle, activate_pods
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.failures import FailureHandler
from moorage.scheduler.gangs.failures import failures_of, waiting_for_room
from moorage.scheduler.gangs.preemption import GangPreemption
from moorage.scheduler.gangs.trials import GangAttempt, GangTrials, Place, Trial, in_order
from moorage.scheduler.journal import Journal

log = Logger(__name__)


class GangCycle:
    """Places gangs; who goes alone is none of its business."""

    def __init__(
        self,
        services: Services,
        queue: SchedulingQueue,
        failures: FailureHandler,
        journal: Journal,
        binding: BindingCycle,
        place: Place,
        alone: Callable[[QueuedPod], None],
    ) -> None:
        """`alone` tries a pod that needs no other."""
        self._services = services
        self._queue = queue
        self._failures = failures
        self._binding = binding
        self._alone = alone
        self._trials = GangTrials(services, journal, place)
        self._preemption = GangPreemption(services, self._trials, place)

    def gang_to_try(self, profile: Profile, pod: Pod) -> Gang | None:
        """The gang with which a pod has to be tried; None if it goes alone, or its gang has enough nodes."""
        gangs = profile.gangs
        gang = None if gangs is None else gangs.gang_of(pod)
        if gangs is None or gang is None or len(self._with_node(gangs, gang)) >= gang.minimum:
            return None
        return gang

    def rather_on(self, profile: Profile, pod: Pod) -> frozenset[str] | None:
        """The nodes that are near the others of a gang that would rather stay together; otherwise None.

        Where a gang must stay together, its plugin sees to that.
        """
        gangs = profile.gangs
        gang = None if gangs is None else gangs.gang_of(pod)
        if gangs is None or gang is None or gang.is_topology_required:
            return None
        near = home_of(self._services.state, gang, self._with_node(gangs, gang))
        return None if near is None else frozenset(near)

    def attempt(self, profile: Profile, first: QueuedPod, gang: Gang, chooser: NodeChooser) -> None:
        """Tries a gang of which a member was taken from the queue; the others are taken, too."""
        gangs = profile.gangs
        assert gangs is not None
        attempt = GangAttempt(profile, gangs, gang, [first], [], chooser, time.perf_counter())
        trial = Trial([], [])
        try:
            self._gather(attempt)
            attempt.with_node = self._with_node(gangs, gang)
            trial = self._trials.search(attempt)
            is_placed = len(trial.placed) >= attempt.missing and not trial.is_broken
            failures = {} if is_placed else self._failed(attempt, trial)
        except Exception as error:
            log.error(described(error, IN_TREE), "Scheduling the pod group failed", pod=first.pod)
            self._trials.undo(trial, "an error ended the attempt")
            is_placed = False
            failure = diagnosis.attempt_failed(diagnosis.unexpected(error))
            failures = {queued.pod.uid: failure for queued in attempt.members}
        if is_placed:
            self._bind(trial)
        self._tell(attempt, is_placed=is_placed)
        for queued in () if is_placed else attempt.members:
            self._failures.handle_when_free(profile, queued, failures[queued.pod.uid], attempt.started)

    def _with_node(self, gangs: GangPlugin, gang: Gang) -> list[Pod]:
        """Its members that have a node and are not about to leave it."""
        placement = self._services.state.placement
        members = gangs.members_of(gang)
        return [pod for pod in members if not pod.deleting and placement(pod.uid) is not None]

    def _gather(self, attempt: GangAttempt) -> None:
        """Takes the other members that wait from the queue."""
        taken = {queued.pod.uid for queued in attempt.members}
        for pod in attempt.gangs.members_of(attempt.gang):
            is_other = pod.uid not in taken and pod.spec.scheduler_name == attempt.profile.name
            if is_other and not pod.deleting and (queued := self._queue.take(pod)) is not None:
                attempt.members.append(queued)
        attempt.members = in_order(attempt.members)

    def _failed(self, attempt: GangAttempt, trial: Trial) -> dict[str, Failure]:
        """Takes back what was placed, and makes room if that helps; what each member is told."""
        gang, fitting = attempt.gang, len(attempt.with_node) + len(trial.placed)
        self._trials.undo(trial, f"{fitting} of {gang.minimum} members of the pod group fit")
        trial.placed.clear()
        failed = trial.failed
        if self._preemption.is_under_way(attempt):
            return waiting_for_room(attempt.gangs, attempt.members, failed, attempt.promised)
        room = self._preemption.room_for(attempt, trial)
        if room is not None and room.failed is None:
            self._preemption.start(attempt, room)
            return waiting_for_room(attempt.gangs, attempt.members, failed, room.nodes)
        if room is not None and room.failed is not None:
            # What they are told has what was said about making room, too.
            failed = [room.failed, *(each for each in failed if each[0] is not room.failed[0])]
        return failures_of(attempt.gangs, gang, attempt.members, fitting, failed, trial.where(gang))

    def _bind(self, trial: Trial) -> None:
        for placed in trial.placed:
            activate_pods(self._queue, placed.cycle)
            self._binding.start(placed)
        for queued, _ in trial.failed:
            # Nothing depends on them any more, so others may have to make room for them.
            self._alone(queued)

    def _tell(self, attempt: GangAttempt, *, is_placed: bool) -> None:
        try:
            attempt.gangs.gang_tried(attempt.gang, is_placed=is_placed)
        except Exception as error:
            said = described(error, IN_TREE)
            log.error(said, "A plugin cannot be told of its pod group", group=attempt.gang.key)
