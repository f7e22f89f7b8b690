"""DefaultPreemption: finds the node where the least important pods would have to go for a pod to fit."""

from __future__ import annotations

import random
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np

from moorage.api.pod_groups import PodGroup, group_key
from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.config.args import DefaultPreemptionArgs
from moorage.config.feature_gates import TOPOLOGY_AWARE_WORKLOADS, WORKLOAD_AWARE_PREEMPTION
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import nodes_available
from moorage.framework.events import POD, Action, ClusterEvent, Hint
from moorage.framework.extenders.envelopes import Victims
from moorage.framework.extension_points import PostFilterPlugin, PreEnqueuePlugin
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.permissions import Permission
from moorage.framework.pod_groups import PodGroups
from moorage.framework.status import Code, Nomination, Status
from moorage.plugins.preemption.candidates import Candidate, best_candidates, by_importance
from moorage.plugins.preemption.dry_run import DryRun, protected_by
from moorage.plugins.preemption.gang_victims import GangVictims
from moorage.plugins.preemption.known_candidates import KnownCandidates

CANDIDATES = "moorage.io/preemption-candidates"
"""Where the cycle state has the nodes among which one was chosen, for those who tell of it."""

_PREFIX = "preemption: "
_NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")


class VictimSearch(NamedTuple):
    """What looking for victims gave: candidates, and for every other node the reason."""

    candidates: list[Candidate]
    statuses: NodeStatuses
    error: Status | None = None


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Makes room for a pod by finding less important pods that could go."""

    treats_like_pods_alike = True
    args_type: ClassVar[type[msgspec.Struct] | None] = DefaultPreemptionArgs
    permissions = (Permission("delete", "", "pods"),)
    ignores_priorities: ClassVar[bool] = False
    """Whether pods may have to go for less important ones."""

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        super().__init__(args or DefaultPreemptionArgs(), handle)
        budgets = PodDisruptionBudget
        handle.lister(budgets.group, budgets.version, budgets.resource, budgets)
        gates = handle.services.gates
        self._heeds_constraints = gates.enabled(TOPOLOGY_AWARE_WORKLOADS)
        self._leaves_groups = gates.enabled(WORKLOAD_AWARE_PREEMPTION)
        heeds_groups = self._heeds_constraints or self._leaves_groups
        self._groups = handle.shared(PodGroups) if heeds_groups else None
        self._known = KnownCandidates(handle.state.table, handle.services.nominations)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        if self._groups is not None and self._leaves_groups and (key := group_key(pod)):
            if any(map(self.handle.is_evicting_for, self._groups.members(key))):
                return Status.unresolvable("waiting for the preemption for this pod group to be finished")
            return None
        if self.handle.is_evicting_for(pod):
            return Status.unresolvable("waiting for the preemption for this pod to be finished")
        return None

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        observer = self.handle.services.observer
        observer.preemption_attempt()
        newest = self.handle.services.find_pod(pod)
        if newest is None:
            return Status.error(f'{_PREFIX}pod "{pod.name}" not found')
        reason = self.not_eligible(newest, statuses)
        if reason:
            return Status.unschedulable(_PREFIX + reason)
        outcome = self.find_candidates(cycle, newest, statuses)
        if outcome.error is not None and outcome.error.plugin:
            observer.plugin_failed(outcome.error.plugin, self.handle.profile_name)
        if outcome.error is not None and not outcome.candidates:
            return Status.error(_PREFIX + outcome.error.message)
        if not outcome.candidates:
            text = nodes_available(len(self.handle.nodes), outcome.statuses.reasons())
            return Nomination("", Status.unschedulable(_PREFIX + text))
        candidates = self.agreed(newest, outcome.candidates)
        if isinstance(candidates, Status):
            return Status.error(_PREFIX + candidates.message)
        if not candidates:
            return Status.unschedulable(f"{_PREFIX}no candidate node for preemption")
        candidates = self._with_gangs(candidates)
        chosen = random.choice(best_candidates(candidates))
        # Candidates may be known from before; their pods may have changed since in what does not matter here.
        victims = [self.handle.state.pod(victim.uid) or victim for victim in chosen.victims]
        self.handle.evict(victims, by=newest)
        cycle.write(CANDIDATES, candidates)
        return Nomination(chosen.node_name)

    def _with_gangs(self, candidates: list[Candidate]) -> list[Candidate]:
        """With those who have to go elsewhere as well; where no gang is torn apart is better in any case."""
        gangs = None if self.handle.profile is None else self.handle.profile.gangs
        if gangs is None:
            return candidates
        together, order = GangVictims(gangs, self.handle), by_importance(self.handle.clock())
        budgets = list(self.handle.state.objects.of(PodDisruptionBudget).list())
        left_alone: list[Candidate] = []
        torn_apart: list[Candidate] = []
        for each in candidates:
            others = together.torn_apart(each.victims)
            if others:
                victims = tuple(sorted((*each.victims, *others), key=order))
                violations = len(protected_by(budgets, victims))
                torn_apart.append(Candidate(each.node_name, victims, violations))
            else:
                left_alone.append(each)
        return left_alone or torn_apart

    def not_eligible(self, pod: Pod, statuses: NodeStatuses) -> str:
        """Why the pod may not preempt others; empty if it may."""
        if self._groups is not None and (key := group_key(pod)):
            reason = self._left_to_group(self._groups.get(key))
            if reason:
                return reason
        if pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        nominated = pod.status.nominated_node_name
        if not nominated or statuses.get(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        node = self.handle.node(nominated)
        if node and any(is_being_preempted(other) and self.may_go_for(other, pod) for other in node.pods):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def may_go_for(self, other: Pod, pod: Pod) -> bool:
        """Whether a pod that is being preempted may be going in favour of `pod`."""
        return other.priority < pod.priority

    def _left_to_group(self, group: PodGroup | None) -> str:
        """Why nobody makes room for a pod of a group alone."""
        if self._heeds_constraints and group is None:
            return "pod group for pod not found"
        if self._heeds_constraints and group is not None and group.spec.scheduling_constraints is not None:
            return "not eligible due to placement-based pod group scheduling limitation"
        return "not eligible due to workload aware preemption enabled" if self._leaves_groups else ""

    def find_candidates(
        self, cycle: CycleState, pod: Pod, statuses: NodeStatuses, *, everywhere: bool = False
    ) -> VictimSearch:
        """Tries the nodes on which preemption could help, from a random one on, until enough are found.

        `everywhere` tries all of them.
        """
        table = self.handle.state.table
        possible = statuses.rows_with(Code.UNSCHEDULABLE)
        outcome = NodeStatuses(table, _NOT_HELPFUL)
        dry_run = self.dry_run(cycle, pod)
        hopeful = dry_run.rule_out(possible, outcome)
        wanted = len(possible) if everywhere else self.how_many(len(possible))
        offset = 0 if everywhere or not len(possible) else random.randrange(len(possible))
        begin = int(np.searchsorted(hopeful, possible[offset])) if len(hopeful) else 0
        kind: list[Candidate] = []
        violating: list[Candidate] = []
        failed = outcome.first_error()
        for row in (*hopeful[begin:].tolist(), *hopeful[:begin].tolist()):
            result = dry_run.on(table.infos[row])
            if isinstance(result, Candidate):
                found = violating if result.pdb_violations else kind
                if len(found) < wanted:
                    found.append(result)
                if kind and len(kind) + len(violating) >= wanted and not everywhere:
                    break
            else:
                if not result.rejected:
                    failed = failed or result
                outcome.set_row(row, result)
        return VictimSearch(kind + violating, outcome, failed)

    def dry_run(self, cycle: CycleState, pod: Pod) -> DryRun:
        """What finds the victims on each node."""
        budgets = self.handle.state.objects.of(PodDisruptionBudget)
        known = self._known.of(pod, budgets.version) if self.handle.services.shortcuts else None
        return DryRun(self.handle, cycle, pod, list(budgets.list()), known)

    def agreed(self, pod: Pod, candidates: list[Candidate]) -> list[Candidate] | Status:
        """What the extenders make of the candidates; an Error if one fails."""
        extenders = self.handle.extenders
        if not extenders:
            return candidates
        victims = {each.node_name: Victims(each.victims, each.pdb_violations) for each in candidates}
        answer = extenders.preempt(pod, victims, self.handle.state)
        if isinstance(answer, Status):
            return answer
        return [Candidate(name, *victims) for name, victims in answer.items()]

    def how_many(self, possible: int) -> int:
        """How many candidates are enough."""
        args: DefaultPreemptionArgs = self.args
        share = possible * args.min_candidate_nodes_percentage // 100
        return min(possible, max(share, args.min_candidate_nodes_absolute))

    def events(self) -> list[ClusterEvent]:
        # The plugins that rejected the pod know better what a deleted pod means.
        return [ClusterEvent(POD, Action.DELETE, lambda pod, old, new: Hint.SKIP)]


def is_being_preempted(pod: Pod) -> bool:
    """Whether a pod is on its way out to make room for others."""
    if not pod.deleting:
        return False
    condition = pod.condition("DisruptionTarget")
    return (
        condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"
    )
