"""Trying the pods of a PodGroup one after the other, in all of the cluster or in a part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from moorage.framework.diagnosis import Failure
from moorage.framework.eviction import Eviction, Evictions
from moorage.framework.handle import Handle, Services
from moorage.framework.placements import Placement
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.scheduler.binding_cycle import PodToBind
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.gangs.preemption import take_away, victims_of
from moorage.scheduler.gangs.trials import GangTrials, Place
from moorage.state import cluster


class Verdict(Enum):
    FITS = "fits"
    WAITS_FOR_ROOM = "waits for room"
    DOES_NOT_FIT = "does not fit"
    BROKEN = "broken"


@dataclass
class GroupAttempt:
    """A PodGroup that is being tried."""

    profile: Profile
    key: str
    """`namespace/name`"""
    members: list[QueuedPod]
    """Those that wait, in the order in which they are placed."""
    chooser: NodeChooser
    started: float


@dataclass
class MemberTrial:
    """What came of one member: it was placed, or failed, or is placed if others make room."""

    queued: QueuedPod
    placed: PodToBind | None = None
    failure: Failure | None = None

    @property
    def needs_room(self) -> bool:
        return self.placed is not None and self.failure is not None

    @property
    def waits_for(self) -> str:
        """What Permit plugins said when they made it wait."""
        waiting = None if self.placed is None else self.placed.waiting
        said = "one or more plugins asked to wait and no plugin rejected pod"
        return "" if waiting is None else ", ".join(filter(None, (waiting.message, said)))


@dataclass
class GroupTrial:
    """The members as far as they came. What is placed stays so until it is undone."""

    members: list[MemberTrial] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    """Who would have to go."""
    away: list[cluster.Placement] = field(default_factory=list)
    """Those of them that are gone for as long as the trial lasts."""
    is_permitted: bool = False
    """Whether Permit let some member go on at once: then all may that were placed."""
    is_undone: bool = False

    @property
    def broken(self) -> Failure | None:
        """What went wrong, as opposed to what does not fit."""
        last = self.members[-1].failure if self.members else None
        return None if last is None or last.is_rejection else last

    @property
    def verdict(self) -> Verdict:
        if self.broken is not None:
            return Verdict.BROKEN
        if not self.is_permitted:
            return Verdict.DOES_NOT_FIT
        needs_room = any(member.needs_room for member in self.members)
        return Verdict.WAITS_FOR_ROOM if needs_room else Verdict.FITS

    @property
    def placed(self) -> list[PodToBind]:
        return [member.placed for member in self.members if member.placed is not None]

    @property
    def nodes(self) -> dict[str, str]:
        """Where members were placed, by their uids."""
        return {placed.assumed.uid: placed.node_name for placed in self.placed}


class PodGroupTrials:
    def __init__(self, services: Services, trials: GangTrials, place: Place) -> None:
        self._services = services
        self._trials = trials
        self._place = place
        self._evictions = Handle(services).shared(Evictions)

    def run(
        self, attempt: GroupAttempt, placement: Placement | None = None, *, preempts: bool = True
    ) -> GroupTrial:
        """Tries all members within a placement; None is the whole cluster.

        One for which others would have to go counts as placed where they are: the next sees it there. Without
        `preempts` nobody has to.
        """
        within = None if placement is None else placement.nodes

        def place(queued: QueuedPod, trial: GroupTrial) -> MemberTrial:
            return self._place_with_room(attempt, queued, within, trial, preempts=preempts)

        return self._each(attempt, attempt.members, place)

    def again(self, attempt: GroupAttempt, nodes: Mapping[str, str]) -> GroupTrial:
        """Places those members again that have a node here, by their uids, and nowhere else."""

        def place(queued: QueuedPod, trial: GroupTrial) -> MemberTrial:
            with attempt.chooser.for_gang(frozenset((nodes[queued.pod.uid],))):
                return _member(queued, self._place(attempt.profile, queued, attempt.started))

        return self._each(attempt, [each for each in attempt.members if each.pod.uid in nodes], place)

    def _each(
        self,
        attempt: GroupAttempt,
        members: Sequence[QueuedPod],
        place: Callable[[QueuedPod, GroupTrial], MemberTrial],
    ) -> GroupTrial:
        trial = GroupTrial()
        try:
            for queued in members:
                member = place(queued, trial)
                trial.members.append(member)
                if trial.broken is not None:
                    break
                if member.placed is not None and member.placed.waiting is None:
                    trial.is_permitted = True
        except BaseException:
            self.undo(trial, "an error ended the attempt")
            raise
        return trial

    def _place_with_room(
        self,
        attempt: GroupAttempt,
        queued: QueuedPod,
        within: frozenset[str] | None,
        trial: GroupTrial,
        *,
        preempts: bool,
    ) -> MemberTrial:
        profile, chooser, started = attempt.profile, attempt.chooser, attempt.started
        with (
            self._evictions.noted() as noted,
            chooser.for_gang(within, preempts=preempts, counts_others=False),
        ):
            found = self._place(profile, queued, started)
        if not isinstance(found, Failure) or not found.is_rejection or not found.nominated_node:
            return _member(queued, found)
        trial.away += take_away(self._services, victims_of(noted))
        trial.evictions += noted
        with chooser.for_gang(frozenset((found.nominated_node,))):
            placed = self._place(profile, queued, started)
        if isinstance(placed, Failure):
            return MemberTrial(queued, failure=replace(found, nominated_node=""))
        return MemberTrial(queued, placed, found)

    def undo(self, trial: GroupTrial, why: str) -> None:
        """Takes all members from their nodes, the last first, unless that is done; who was gone is back."""
        if trial.is_undone:
            return
        trial.is_undone = True
        for placed in reversed(trial.placed):
            self._trials.undo_one(placed, why)
        for placement in reversed(trial.away):
            self._services.state.put_back(placement)

    def make_room(self, trial: GroupTrial) -> None:
        """Has those go that have to."""
        for eviction in trial.evictions:
            self._evictions.start(eviction.handle, eviction.victims)


def _member(queued: QueuedPod, found: PodToBind | Failure) -> MemberTrial:
    return MemberTrial(queued, failure=found) if isinstance(found, Failure) else MemberTrial(queued, found)
