"""Making room for a gang: pods have to go only if all the members that it needs fit then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from moorage.api.pods import Pod
from moorage.framework.diagnosis import Failure
from moorage.framework.eviction import Eviction, Evictions
from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod
from moorage.plugins.preemption.default_preemption import is_being_preempted
from moorage.scheduler.binding_cycle import PodToBind
from moorage.scheduler.gangs.trials import GangAttempt, GangTrials, Place, Trial
from moorage.state.cluster import Placement


@dataclass
class Room:
    """Where the members of a gang would be, and who has to go for it."""

    nodes: dict[str, str] = field(default_factory=dict)
    """By the uid of a member."""
    evictions: list[Eviction] = field(default_factory=list)
    going: list[Pod] = field(default_factory=list)
    """Who has been told to go already."""
    failed: tuple[QueuedPod, Failure] | None = None
    """The first member for which there is no room, even if others went; then nobody goes."""


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
        room = self._room_that_comes(attempt)
        if room is not None:
            return room
        room = self._room_within(attempt, trial.within)
        if room.failed is None or trial.domain is None:
            return room
        for domain in self._trials.other_domains(attempt, trial.domain):
            elsewhere = self._room_within(attempt, domain.names)
            if elsewhere.failed is None:
                return elsewhere
        return room

    def is_under_way(self, attempt: GangAttempt) -> bool:
        """Whether pods are just being told to go for some member."""
        members = attempt.gangs.members_of(attempt.gang)
        return any(map(attempt.gangs.handle.shared(Evictions).is_under_way, members))

    def _room_that_comes(self, attempt: GangAttempt) -> Room | None:
        """Where the members are to be, if the gang fits as soon as those are gone that go for it already."""
        nodes = frozenset(attempt.promised.values())
        found = map(self._services.state.node, sorted(nodes))
        going = [pod for node in found if node is not None for pod in node.pods if is_being_preempted(pod)]
        if not going:
            return None
        room = Room(going=going)
        away: list[Placement] = []
        placed: list[PodToBind] = []
        try:
            away += take_away(self._services, going)
            for queued in attempt.members:
                if len(placed) == attempt.missing:
                    break
                promised = attempt.promised.get(queued.pod.uid)
                with attempt.chooser.for_gang(nodes if promised is None else frozenset((promised,))):
                    found_node = self._place(attempt.profile, queued, attempt.started)
                if not isinstance(found_node, Failure):
                    placed.append(found_node)
                    room.nodes[queued.pod.uid] = found_node.node_name
        finally:
            self._put_back(placed, away, "others have to go first")
        return room if len(placed) == attempt.missing else None

    def _put_back(self, placed: list[PodToBind], away: list[Placement], why: str) -> None:
        for each in reversed(placed):
            self._trials.undo_one(each, why)
        for placement in reversed(away):
            self._services.state.put_back(placement)

    def _room_within(self, attempt: GangAttempt, within: frozenset[str] | None) -> Room:
        room = Room()
        placed: list[PodToBind] = []
        away: list[Placement] = []
        failed: list[tuple[QueuedPod, Failure]] = []
        try:
            for queued in attempt.members:
                if len(placed) == attempt.missing:
                    break
                found = self._place_with_room(attempt, within, queued, room, away)
                if not isinstance(found, Failure):
                    placed.append(found)
                    room.nodes[queued.pod.uid] = found.node_name
                    continue
                failed.append((queued, found))
                if not found.is_rejection or len(attempt.members) - len(failed) < attempt.missing:
                    room.failed = failed[0]
                    break
        finally:
            too_few = "too few members of the pod group fit, whoever went"
            self._put_back(placed, away, too_few if room.failed else "others have to go first")
        return room

    def _place_with_room(
        self,
        attempt: GangAttempt,
        within: frozenset[str] | None,
        queued: QueuedPod,
        room: Room,
        away: list[Placement],
    ) -> PodToBind | Failure:
        evictions = attempt.gangs.handle.shared(Evictions)
        with evictions.noted() as noted, attempt.chooser.for_gang(within, preempts=True):
            found = self._place(attempt.profile, queued, attempt.started)
        if not isinstance(found, Failure) or not found.is_rejection or not found.nominated_node:
            return found
        away += take_away(self._services, victims_of(noted))
        room.evictions += noted
        with attempt.chooser.for_gang(frozenset((found.nominated_node,))):
            return self._place(attempt.profile, queued, attempt.started)

    def start(self, attempt: GangAttempt, room: Room) -> None:
        """Has those go that have to."""
        evictions = attempt.gangs.handle.shared(Evictions)
        for eviction in room.evictions:
            evictions.start(eviction.handle, eviction.victims)


def victims_of(noted: Iterable[Eviction]) -> list[Pod]:
    """All that are to go."""
    return [victim.pod for eviction in noted for victim in eviction.victims]


def take_away(services: Services, pods: Iterable[Pod]) -> list[Placement]:
    """Takes pods from their nodes; put them back in the reverse order."""
    found = (services.state.take_away(uid) for uid in dict.fromkeys(pod.uid for pod in pods))
    return [placement for placement in found if placement is not None]
