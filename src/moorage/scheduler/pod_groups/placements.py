"""In which part of the cluster a PodGroup goes, if it has to stay in one."""

from __future__ import annotations

import random
from typing import NamedTuple

from moorage.framework.placements import PlacedGroup, Placement
from moorage.framework.runtime.placing import judge
from moorage.framework.status import Status
from moorage.scheduler.pod_groups.trials import GroupAttempt, GroupTrial, PodGroupTrials, Verdict

UNSCHEDULABLE = "pod group is unschedulable"


class Search(NamedTuple):
    """A group that was tried: the trial that counts, or why there was none."""

    trial: GroupTrial
    status: Status | None = None
    """What is wrong with the group as a whole; None leaves it to the trial."""


class PodGroupPlacements:
    """Tries a group in each placement that a plugin names, and keeps to the one that plugins rank first."""

    def __init__(self, trials: PodGroupTrials) -> None:
        self._trials = trials

    def search(self, attempt: GroupAttempt) -> Search:
        """What is placed at the end stays so until it is undone."""
        profile = attempt.profile
        if not profile.placement_generate:
            return Search(self._trials.run(attempt))
        plugin, *_ = profile.placement_generate
        everywhere = Placement("", frozenset(profile.state.nodes.names))
        placements = plugin.generate_placements(attempt.key, everywhere)
        if isinstance(placements, Status):
            return Search(GroupTrial(), placements.by(plugin.name))
        if not placements:
            return Search(GroupTrial(), Status.unschedulable("no feasible placements found").by(plugin.name))
        return self._in_one_of(attempt, placements, everywhere)

    def _in_one_of(self, attempt: GroupAttempt, placements: list[Placement], everywhere: Placement) -> Search:
        feasible: list[tuple[Placement, GroupTrial]] = []
        first: GroupTrial | None = None
        for placement in placements:
            is_all = len(placement.nodes) == len(everywhere.nodes)
            trial = self._trials.run(attempt, None if is_all else placement)
            fits = trial.verdict in (Verdict.FITS, Verdict.WAITS_FOR_ROOM)
            if trial.verdict is Verdict.BROKEN or (fits and len(placements) == 1):
                return Search(trial)
            self._trials.undo(trial, "other placements of the pod group are tried, too")
            first = first or trial
            if fits:
                feasible.append((placement, trial))
        if not feasible:
            said = f"0/{len(placements)} placements are available, first placement status: "
            status = Status.unschedulable(f"{said}{UNSCHEDULABLE}")
            return Search(first or GroupTrial(), status)
        best = feasible[0][1] if len(feasible) == 1 else self._best(attempt, feasible)
        if isinstance(best, Status):
            return Search(GroupTrial(), best)
        return Search(self._repeated(attempt, best))

    def _repeated(self, attempt: GroupAttempt, best: GroupTrial) -> GroupTrial:
        """Places the members again as in a trial that was undone, and keeps what it told the others."""
        if best.verdict is not Verdict.FITS:
            return best
        again = self._trials.again(attempt, best.nodes)
        again.members += [member for member in best.members if member.placed is None]
        return again

    def _best(
        self, attempt: GroupAttempt, feasible: list[tuple[Placement, GroupTrial]]
    ) -> GroupTrial | Status:
        """The trial in the placement with the highest sum of scores; one of several at random."""
        groups = [
            PlacedGroup(
                attempt.key, placement, [(placed.queued.pod, placed.node_name) for placed in trial.placed]
            )
            for placement, trial in feasible
        ]
        totals = judge(attempt.profile, attempt.profile.placement_score, groups)
        if isinstance(totals, Status):
            return totals
        highest = max(totals)
        return random.choice(
            [trial for (_, trial), total in zip(feasible, totals, strict=True) if total == highest]
        )
