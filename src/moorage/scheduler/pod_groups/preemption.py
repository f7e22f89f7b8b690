"""Making room for a whole PodGroup, wherever in the cluster: the gate WorkloadAwarePreemption."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.pod_groups import PodGroup, group_key
from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.framework.eviction import Evicted, Evictions
from moorage.framework.handle import Services
from moorage.framework.pod_groups import PodGroups
from moorage.framework.status import Status
from moorage.plugins.preemption.candidates import start_time
from moorage.plugins.preemption.dry_run import protected_by
from moorage.scheduler.pod_groups.trials import GroupAttempt, PodGroupTrials, Verdict
from moorage.state.cluster import Placement

_PLUGIN = "DefaultPreemption"


class Unit(NamedTuple):
    """Pods that stay or go together: one, or all of a group that says so."""

    pods: list[Pod]
    priority: int


class PodGroupPreemption:
    """Takes all less important pods away, and gives back whoever need not go."""

    def __init__(self, services: Services, groups: PodGroups, trials: PodGroupTrials) -> None:
        self._services = services
        self._groups = groups
        self._trials = trials

    def make_room(self, attempt: GroupAttempt, why_not: Status) -> Status | None:
        """None if pods were told to go, otherwise why not; `why_not` says that the group does not fit."""
        plugin = attempt.profile.plugins.get(_PLUGIN)
        if plugin is None or plugin not in attempt.profile.post_filter:
            said = "default preemption plugin is not registered, workload aware preemption is disabled"
            return Status.unschedulable(said)
        group = self._groups.get(attempt.key)
        if group is None:
            name = attempt.key.partition("/")[2]
            return Status.error(
                f'failed to get pod group object: podgroup.scheduling.k8s.io "{name}" not found'
            )
        if group.topology:
            said = "workload aware preemption is not supported for pod groups with scheduling constraints"
            return Status.unschedulable(said)
        if any(queued.pod.spec.preemption_policy == "Never" for queued in attempt.members):
            return Status.unschedulable("not eligible due to preemptionPolicy=Never.")
        units = self._units(below=group.spec.priority or 0)
        if not units:
            return Status.unresolvable("No preemption victims found for incoming preemptor")
        victims = self._victims(attempt, units)
        if victims is None:
            return why_not
        by = attempt.members[-1].pod
        message = f"{by.spec.scheduler_name}: preempting to accommodate a higher priority podgroup"
        note = f"Preempted by podgroup {group.uid} on node cluster"
        plugin.handle.shared(Evictions).start(
            plugin.handle, [Evicted(pod, by, message, note) for unit in victims for pod in unit.pods]
        )
        return None

    def _units(self, below: int) -> list[Unit]:
        """Whatever is less important, in the order of importance."""
        found: dict[str, Unit] = {}
        for pod in self._services.state.pods:
            group = self._goes_with(pod)
            if group is None:
                found[pod.uid] = Unit([pod], pod.priority)
            else:
                unit = found.setdefault(group.uid, Unit([], group.spec.priority or 0))
                unit.pods.append(pod)
        return sorted((unit for unit in found.values() if unit.priority < below), key=self._importance)

    def _goes_with(self, pod: Pod) -> PodGroup | None:
        key = group_key(pod)
        group = self._groups.get(key) if key else None
        return group if group is not None and group.spec.disruption_mode == "PodGroup" else None

    def _importance(self, unit: Unit) -> tuple[int, bool, int, float]:
        is_group = bool(group_key(unit.pods[0]))
        now = self._services.clock()
        began = min(start_time(pod, now) for pod in unit.pods)
        return -unit.priority, not is_group, -len(unit.pods) if is_group else 0, began

    def _victims(self, attempt: GroupAttempt, units: list[Unit]) -> list[Unit] | None:
        """Those that have to go; None if the group does not fit even without all of them."""
        budgets = list(self._services.state.objects.of(PodDisruptionBudget).list())
        protected = protected_by(budgets, [pod for unit in units for pod in unit.pods])
        state = self._services.state
        away = {id(unit): self._take_away(unit) for unit in units}
        try:
            if not self._fits(attempt):
                return None
            for unit in sorted(units, key=lambda unit: all(pod.uid not in protected for pod in unit.pods)):
                for placement in reversed(away.pop(id(unit))):
                    state.put_back(placement)
                if not self._fits(attempt):
                    away[id(unit)] = self._take_away(unit)
            return [unit for unit in units if id(unit) in away]
        finally:
            for placement in (each for unit in reversed([*away.values()]) for each in reversed(unit)):
                state.put_back(placement)

    def _take_away(self, unit: Unit) -> list[Placement]:
        found = (self._services.state.take_away(pod.uid) for pod in unit.pods)
        return [placement for placement in found if placement is not None]

    def _fits(self, attempt: GroupAttempt) -> bool:
        trial = self._trials.run(attempt, preempts=False)
        self._trials.undo(trial, "others would have to go first")
        return trial.verdict is Verdict.FITS
