"""What would become of a gang: its members are tried together on a state, which is as before at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.diagnosis import Failure
from moorage.framework.extension_points import ReservePlugin
from moorage.framework.gangs import Gang
from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status
from moorage.queue.gating import first_objection
from moorage.scheduler.binding_cycle import PodToBind
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.gangs.domains import Domain
from moorage.scheduler.gangs.failures import failures_of
from moorage.scheduler.gangs.preemption import GangPreemption, victims_of
from moorage.scheduler.gangs.trials import GangAttempt, GangTrials, Place, Trial
from moorage.scheduler.journal import NoJournal


class TriedGang(NamedTuple):
    """What came of a gang that was tried."""

    gang: Gang
    members: int
    """All that there are."""
    running: int
    """Those that have a node."""
    waiting: list[Pod]
    """Those that were tried, in this order."""
    nodes: dict[str, str]
    """By the key of a member that was tried: the node it got."""
    failed: list[tuple[Pod, Failure]]
    """Those that got none."""
    message: str
    """What the members would be told; empty if enough of them fit."""
    where: str = ""
    """The end of a sentence that says where they were tried; empty for all of the cluster."""
    room_on: tuple[str, ...] = ()
    """Where enough of them would be if others went."""
    victims: tuple[str, ...] = ()
    """Those others."""

    @property
    def fitting(self) -> int:
        return self.running + len(self.nodes)

    @property
    def fits(self) -> bool:
        return not self.message

    def node_of(self, pod: Pod) -> str | None:
        """The node that a member would have with the others; None if it would have none."""
        return self.nodes.get(pod.key) if self.fits else None


class GangTries:
    """Tries the gangs of a profile on its state, while nobody else schedules on it.

    Of the plugins that reserve, only those of Moorage are asked: what others keep may be anywhere.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._services = profile.services
        self._chooser = NodeChooser(find_all=True, preempts=False)
        self._trials = _Trials(self._services, self._place)
        self._preemption = GangPreemption(self._services, self._trials, self._place)

    def gang_of(self, pod: Pod) -> Gang | None:
        """The gang with which a pod has to be tried; None if it goes alone, or its gang has enough nodes."""
        gangs = self._profile.gangs
        gang = None if gangs is None else gangs.gang_of(pod)
        return None if gang is None or len(self.with_node(gang)) >= gang.minimum else gang

    def with_node(self, gang: Gang) -> list[Pod]:
        placement = self._services.state.placement
        members = self.members(gang)
        return [pod for pod in members if not pod.deleting and placement(pod.uid) is not None]

    def members(self, gang: Gang) -> list[Pod]:
        gangs = self._profile.gangs
        return [] if gangs is None else list(gangs.members_of(gang))

    def waiting(self, gang: Gang) -> list[Pod]:
        """The members that would be tried, in this order."""
        placement = self._services.state.placement
        found = [
            pod
            for pod in self.members(gang)
            if placement(pod.uid) is None
            and not pod.deleting
            and pod.spec.scheduler_name == self._profile.name
            and first_objection(self._profile, pod) is None
        ]
        return sorted(found, key=lambda pod: (-pod.priority, pod.key))

    def tried(self, gang: Gang, *, preempts: bool = False, in_haste: bool = False) -> TriedGang:
        """Tries a gang; if it is to preempt and does not fit, as if those were gone that may have to.

        In haste, no further member is tried when they cannot be enough any more.
        """
        self._trials.is_hasty = in_haste
        try:
            with self.placed(gang) as (attempt, trial):
                found = self.told(attempt, trial)
        finally:
            self._trials.is_hasty = False
        if found.fits or not preempts:
            return found
        with self._without_nominations(gang):
            room = self._preemption.room_for(attempt, trial)
        if room is None or room.failed is not None:
            return found
        gone = {pod.uid: pod.key for pod in (*room.going, *victims_of(room.evictions))}
        if not gone.keys().isdisjoint(pod.uid for pod in self.members(gang)):
            return found  # a gang that loses a member for another gains nothing
        nodes = tuple(sorted(set(room.nodes.values())))
        return found._replace(room_on=nodes, victims=tuple(sorted(gone.values())))

    @contextmanager
    def placed(self, gang: Gang) -> Iterator[tuple[GangAttempt, Trial]]:
        """With the members on their nodes that get some, enough of them or not."""
        gangs = self._profile.gangs
        assert gangs is not None
        members = [QueuedPod(pod, 0.0) for pod in self.waiting(gang)]
        attempt = GangAttempt(
            self._profile, gangs, gang, members, self.with_node(gang), self._chooser, time.perf_counter()
        )
        with self._without_nominations(gang):
            trial = self._trials.search(attempt)
            try:
                yield attempt, trial
            finally:
                self._trials.undo(trial, "it was only tried")

    @contextmanager
    def _without_nominations(self, gang: Gang) -> Iterator[None]:
        """As in a real attempt: what is kept for a member is kept for all."""
        nominations = self._services.nominations
        found = {pod.uid: nominations.node_of(pod.uid) for pod in self.members(gang)}
        for uid in found:
            nominations.remove(uid)
        try:
            yield
        finally:
            for pod in self.members(gang):
                if found.get(pod.uid):
                    nominations.add(pod, found[pod.uid])

    @contextmanager
    def lifted(self, trial: Trial) -> Iterator[None]:
        """Within `placed`: without the members on their nodes."""
        with self._before(trial, len(trial.placed)):
            yield

    @contextmanager
    def before(self, trial: Trial, pod: Pod) -> Iterator[None]:
        """Within `placed`: with those members on their nodes that were placed before this one."""
        place = next(
            (place for place, each in enumerate(trial.placed) if each.queued.pod.uid == pod.uid),
            len(trial.placed),
        )
        with self._before(trial, len(trial.placed) - place):
            yield

    @contextmanager
    def _before(self, trial: Trial, last: int) -> Iterator[None]:
        away = trial.placed[len(trial.placed) - last :]
        for placed in reversed(away):
            self._trials.undo_one(placed, "")
        try:
            yield
        finally:
            for placed in away:
                self._trials.keep(placed)

    def told(self, attempt: GangAttempt, trial: Trial) -> TriedGang:
        """What came of an attempt."""
        gang, running, where = attempt.gang, len(attempt.with_node), trial.where(attempt.gang)
        fitting = running + len(trial.placed)
        message = ""
        if trial.is_broken or fitting < gang.minimum:
            message = f"pod group {gang.key}: {fitting} of {gang.minimum} members fit{where}"
            failures = failures_of(attempt.gangs, gang, attempt.members, fitting, trial.failed, where)
            message = next((each.message for each in failures.values()), message)
        return TriedGang(
            gang,
            len(self.members(gang)),
            running,
            [queued.pod for queued in attempt.members],
            {placed.queued.pod.key: placed.node_name for placed in trial.placed},
            [(queued.pod, failure) for queued, failure in trial.failed],
            message,
            where,
        )

    def _place(self, profile: Profile, queued: QueuedPod, started: float) -> PodToBind | Failure:
        decision = self._chooser.decide(profile, queued.pod)
        if decision.failure is not None:
            return decision.failure
        node = decision.node_name
        placed = PodToBind(profile, queued, decision.cycle, queued.pod, node, None, decision, started)
        status = self._trials.keep(placed)
        return placed if status is None else diagnosis.chosen_node_failed(status)


class _Trials(GangTrials):
    """Keeps nodes for pods as the scheduler does, but asks no plugin of others to reserve."""

    def __init__(self, services: Services, place: Place) -> None:
        super().__init__(services, NoJournal(), place)
        self.is_hasty = False

    def _try(self, attempt: GangAttempt, domain: Domain | None, at_least: int = 0) -> Trial:
        return super()._try(attempt, domain, attempt.missing if self.is_hasty else at_least)

    def keep(self, placed: PodToBind) -> Status | None:
        """Why the pod cannot have its node after all; None if it has it."""
        placed.assumed = self._services.state.assume(placed.queued.pod, placed.node_name)
        for plugin in _reserving(placed.profile):
            status = plugin.reserve(placed.cycle, placed.assumed, placed.node_name)
            if status is not None and status.code is not Code.SUCCESS:
                self.undo_one(placed, "")
                return diagnosis.rejected_or_failed("Reserve", plugin.name, status)
        return None

    def undo_one(self, placed: PodToBind, why: str) -> None:
        for plugin in reversed(_reserving(placed.profile)):
            plugin.unreserve(placed.cycle, placed.assumed, placed.node_name)
        self._services.state.forget(placed.assumed)


def _reserving(profile: Profile) -> list[ReservePlugin]:
    return [plugin for plugin in profile.reserve if plugin in profile.ours]
