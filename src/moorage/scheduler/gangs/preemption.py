"""Making room for a gang: pods have to go only if all the members that it needs fit then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from moorage.framework.diagnosis import Failure
from moorage.framework.eviction import Eviction, Evictions
from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod
from moorage.scheduler.binding_cycle import PodToBind
from moorage.scheduler.gangs.trials import GangAttempt, GangTrials, Place, Trial
from moorage.state.cluster import Placement


@dataclass
class Room:
    """Where the members of a gang would be, and who has to go for it."""

    nodes: dict[str, str] = field(default_factory=dict)
    """By the uid of a member."""
    evictions: list[Eviction] = field(default_factory=list)
    failed: tuple[QueuedPod, Failure] | None = None
    """A member for which there is no room, even if others went; then nobody goes."""


class GangPreemption:
    """Tries members as if those pods were gone that PostFilter plugins name for the members before.

    Whatever these plugins look at, they are asked about one pod at a time, as ever. Pods are told to go when
    the last member is through; until then all that is taken away is put back before anybody sees it.
    """

    def __init__(self, services: Services, trials: GangTrials, place: Place) -> None:
        self._services = services
        self._trials = trials
        self._place = place

    def room_for(self, attempt: GangAttempt, trial: Trial) -> Room | None:
        """What came of it, where `trial` came to nothing; None if nobody may be asked to go.

        For members that are not there, nobody has to.
        """
        may_preempt = attempt.profile.post_filter and all(
            queued.pod.spec.preemption_policy != "Never" for queued in attempt.members
        )
        if not may_preempt or trial.is_broken or len(attempt.members) < attempt.missing:
            return None
        room = Room()
        placed: list[PodToBind] = []
        away: list[Placement] = []
        try:
            for queued in attempt.members:
                if len(placed) == attempt.missing:
                    break
                found = self._place_with_room(attempt, trial, queued, room, away)
                if isinstance(found, Failure):
                    room.failed = queued, found
                    break
                placed.append(found)
                room.nodes[queued.pod.uid] = found.node_name
        finally:
            too_few = "too few members of the pod group fit, whoever went"
            for each in reversed(placed):
                self._trials.undo_one(each, too_few if room.failed else "others have to go first")
            for placement in reversed(away):
                self._services.state.put_back(placement)
        return room

    def _place_with_room(
        self, attempt: GangAttempt, trial: Trial, queued: QueuedPod, room: Room, away: list[Placement]
    ) -> PodToBind | Failure:
        evictions = attempt.gangs.handle.shared(Evictions)
        with evictions.noted() as noted, attempt.chooser.for_gang(trial.within, preempts=True):
            found = self._place(attempt.profile, queued, attempt.started)
        if not isinstance(found, Failure) or not found.is_rejection or not found.nominated_node:
            return found
        away += take_away(self._services, noted)
        room.evictions += noted
        with attempt.chooser.for_gang(frozenset((found.nominated_node,))):
            return self._place(attempt.profile, queued, attempt.started)

    def start(self, attempt: GangAttempt, room: Room) -> None:
        """Has those go that have to."""
        evictions = attempt.gangs.handle.shared(Evictions)
        for eviction in room.evictions:
            evictions.start(eviction.handle, eviction.victims)


def take_away(services: Services, noted: Sequence[Eviction]) -> list[Placement]:
    """Takes those from their nodes that are to go; put them back in the reverse order."""
    uids = dict.fromkeys(victim.pod.uid for eviction in noted for victim in eviction.victims)
    found = (services.state.take_away(uid) for uid in uids)
    return [placement for placement in found if placement is not None]
