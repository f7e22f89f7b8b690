"""Placing the members of a gang one after the other, and taking them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.diagnosis import Failure
from moorage.framework.gangs import Gang, GangPlugin
from moorage.framework.handle import Services
from moorage.framework.placements import PlacedGroup, Placement
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.placing import judge
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.reserving import unreserve
from moorage.framework.status import Status
from moorage.scheduler.binding_cycle import PodToBind
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.gangs.domains import Domain, domains_for, domains_if_others_go
from moorage.scheduler.journal import Journal

Place = Callable[[Profile, QueuedPod, float], PodToBind | Failure]
"""Keeps a node for a pod, or says why there is none."""

_NOWHERE = Domain("", frozenset())


@dataclass
class GangAttempt:
    """A gang that is being tried."""

    profile: Profile
    gangs: GangPlugin
    gang: Gang
    members: list[QueuedPod]
    """Those that wait, in the order in which they are placed."""
    with_node: list[Pod]
    """Those that have a node, or will have when their binds are done."""
    chooser: NodeChooser
    started: float
    promised: dict[str, str] = field(default_factory=dict)
    """By the uid of a member: the node on which room was being made for it before this attempt."""

    @property
    def missing(self) -> int:
        """So many more have to be placed."""
        return self.gang.minimum - len(self.with_node)


class Trial(NamedTuple):
    """The members as far as they came, in all of the cluster or in one domain."""

    placed: list[PodToBind]
    failed: list[tuple[QueuedPod, Failure]]
    domain: Domain | None = None

    @property
    def is_broken(self) -> bool:
        """Whether something went wrong, as opposed to something that does not fit."""
        return any(not failure.is_rejection for _, failure in self.failed)

    @property
    def within(self) -> frozenset[str] | None:
        return None if self.domain is None else self.domain.names

    def where(self, gang: Gang) -> str:
        """The end of a sentence that says so; empty for all of the cluster."""
        if self.domain is None:
            return ""
        if self.domain is _NOWHERE:
            return f" on nodes with the label {gang.topology}, which none has"
        return f" on nodes with {gang.topology}={self.domain.value}"


def in_order(members: Iterable[QueuedPod]) -> list[QueuedPod]:
    """As members of a gang are placed: the most important first, and those first that have waited longest."""
    return sorted(
        members, key=lambda each: (-each.pod.priority, each.first_attempt_time or 0.0, each.pod.key)
    )


class GangTrials:
    def __init__(self, services: Services, journal: Journal, place: Place) -> None:
        self._services = services
        self._journal = journal
        self._place = place

    def search(self, attempt: GangAttempt) -> Trial:
        """Places the members: in one domain, if they ask for that, or anywhere.

        What comes back stays placed until it is undone.
        """
        gang = attempt.gang
        nominations = self._services.nominations
        for queued in attempt.members:
            uid = queued.pod.uid
            promised = nominations.node_of(uid) or queued.pod.status.nominated_node_name
            if promised:
                attempt.promised[uid] = promised
            # The room that is kept for one of them is kept for the gang, and not from the others.
            nominations.remove(uid)
        if not gang.topology:
            return self._try(attempt, None)
        missing, domains = attempt.missing, domains_for(*_asking(attempt))
        farthest, most = domains.largest, 0
        fitting: list[Trial] = []
        for domain in domains.likely:
            trial = self._try(attempt, domain, at_least=missing)
            is_whole = len(trial.placed) == len(attempt.members)
            if trial.is_broken or (is_whole and not attempt.profile.judges):
                return trial
            if len(trial.placed) >= missing:
                self.undo(trial, "other domains are tried, too")
                fitting.append(trial)
            else:
                self.undo(trial, f"not enough members fit{trial.where(gang)}")
            if len(trial.placed) > most:
                farthest, most = domain, len(trial.placed)
        if fitting:
            return self._in_the_best(attempt, fitting)
        if not gang.is_topology_required:
            return self._try(attempt, None)
        # Once more where most of them fit, which is what they are told.
        return self._try(attempt, farthest or _NOWHERE)

    def other_domains(self, attempt: GangAttempt, domain: Domain) -> list[Domain]:
        """Those that could have room if others went, the one with the most room first."""
        possible = domains_if_others_go(*_asking(attempt))
        return [each for each in possible if each.value != domain.value]

    def _try(self, attempt: GangAttempt, domain: Domain | None, at_least: int = 0) -> Trial:
        """Places one member after the other; ends early when so many as `at_least` cannot be reached."""
        trial = Trial([], [], domain)
        with attempt.chooser.for_gang(trial.within):
            for queued in attempt.members:
                placed = self._place(attempt.profile, queued, attempt.started)
                if not isinstance(placed, Failure):
                    trial.placed.append(placed)
                    continue
                trial.failed.append((queued, placed))
                if not placed.is_rejection or len(attempt.members) - len(trial.failed) < at_least:
                    break
        return trial

    def _in_the_best(self, attempt: GangAttempt, fitting: list[Trial]) -> Trial:
        """Places the gang again as in the best trial; of equal ones, the first.

        That is the one that plugins like best, or without such plugins the one with most members.
        """
        totals: list[int] | Status = [len(trial.placed) for trial in fitting]
        if attempt.profile.judges:
            groups = [_placed_group(attempt.gang, trial) for trial in fitting]
            totals = judge(attempt.profile, attempt.profile.judges, groups)
        if isinstance(totals, Status):
            failure = diagnosis.attempt_failed(totals, "PlacementScore")
            return Trial([], [(queued, failure) for queued in attempt.members])
        best = fitting[totals.index(max(totals))]
        again = Trial([], best.failed, best.domain)
        for placed in best.placed:
            with attempt.chooser.for_gang(frozenset((placed.node_name,))):
                found = self._place(attempt.profile, placed.queued, attempt.started)
            if isinstance(found, Failure):
                again.failed.append((placed.queued, found))
            else:
                again.placed.append(found)
        return again

    def undo(self, trial: Trial, why: str) -> None:
        """Takes the members from their nodes, the last first."""
        for placed in reversed(trial.placed):
            self.undo_one(placed, why)

    def undo_one(self, placed: PodToBind, why: str) -> None:
        self._journal.withdrawn(placed.decision.entry, why)
        if placed.waiting is not None:
            self._services.waiting_pods.reject(placed.assumed.uid)
            self._services.waiting_pods.remove(placed.assumed.uid)
        unreserve(placed.profile, placed.cycle, placed.assumed, placed.node_name)
        self._services.state.forget(placed.assumed)


def _asking(attempt: GangAttempt) -> tuple[Profile, Gang, list[Pod], int, list[Pod]]:
    pods = [queued.pod for queued in attempt.members]
    return attempt.profile, attempt.gang, pods, attempt.missing, attempt.with_node


def _placed_group(gang: Gang, trial: Trial) -> PlacedGroup:
    domain = trial.domain or _NOWHERE
    placed = [(each.queued.pod, each.node_name) for each in trial.placed]
    return PlacedGroup(gang.key, Placement(domain.value, domain.names), placed)
