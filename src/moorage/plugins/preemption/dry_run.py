"""What would have to go for a pod to fit a node, tried out on the node's row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.api.selectors import SelectorError, parse_selector
from moorage.api.workloads import PodDisruptionBudget
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import filter_nodes, nominated_usage, usage_decides
from moorage.framework.runtime.what_if import WhatIf
from moorage.framework.status import Status
from moorage.plugins.preemption.candidates import Candidate, by_importance
from moorage.plugins.preemption.gang_victims import GangVictims
from moorage.plugins.preemption.known_candidates import OfTemplate
from moorage.plugins.preemption.room import Room
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

_NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


class DryRun:
    """Tries nodes for one pod, within one cycle."""

    def __init__(
        self,
        handle: Handle,
        cycle: CycleState,
        pod: Pod,
        budgets: Sequence[PodDisruptionBudget],
        known: OfTemplate | None = None,
    ) -> None:
        self._handle = handle
        self._cycle = cycle
        self._pod = pod
        self._budgets = budgets
        self._now = handle.clock()
        self._room: Room | None = None
        gangs = None if handle.profile is None else handle.profile.gangs
        self._gangs = None if gangs is None else GangVictims(gangs, handle)
        # What is known of a node holds until the node changes; gangs are on others, too.
        self._known = known if self._gangs is None else None

    def rule_out(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> NDArray[np.intp]:
        """Which nodes are worth a try, judged on columns; the others get their status at once."""
        if not len(rows):
            return rows
        state = self._handle.state
        below = state.priorities.pods_below(self._pod.priority)
        self.tell_without_victims(rows[below[rows] == 0], statuses)
        rows = rows[below[rows] > 0]
        profile = self._handle.profile
        assert profile is not None
        if not len(rows) or not self._usage_decides():
            return rows
        nodes = Nodes(state.table, rows)
        nominated = nominated_usage(profile, self._cycle, self._pod)
        with state.priorities.gone_below(self._pod.priority), nominated:
            left = filter_nodes(profile, profile.plans.general, self._cycle, self._pod, nodes, statuses)
        # Whatever does not depend on usage has nothing against those that are left.
        self._room = Room.needed(self._handle, self._cycle, self._pod)
        return rows if left is None else rows[left]

    def tell_without_victims(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> None:
        """Sets the status of nodes that have no victims."""
        statuses.set_rows(rows, statuses.add_status(_NO_VICTIMS))

    def no_victims(self, node: NodeInfo) -> Status:
        """The status of a node that has no victims."""
        return _NO_VICTIMS

    def potential_victims(self, node: NodeInfo) -> list[Pod]:
        """The pods that could go from a node."""
        return [pod for pod in node.pods if pod.priority < self._pod.priority]

    def may_go_besides(self, pods: Sequence[Pod], others: Sequence[Pod]) -> bool:
        """Whether pods could go, wherever they are, besides others that go."""
        return all(pod.priority < self._pod.priority for pod in pods)

    def fits(self, tried: WhatIf) -> bool:
        """Whether the pod could be on the node as it would be."""
        return tried.filters() is None

    def _usage_decides(self) -> bool:
        """Whether nothing counts of the pods on nodes, and of those nominated to them, but their usage."""
        profile = self._handle.profile
        assert profile is not None
        return (
            usage_decides(profile, self._cycle) and nominated_usage(profile, self._cycle, self._pod).is_whole
        )

    def on(self, node: NodeInfo) -> Candidate | Status:
        """The victims on one node, or why no victims would help."""
        if self._room is not None and self._known is not None:
            known = self._known.get(node)
            if known is not None:
                return known
        below = self.potential_victims(node)
        if self._gangs is not None:
            below = self._gangs.possible(below, self._pod, self.may_go_besides)
        if not below:
            return self.no_victims(node)
        if self._room is not None:
            found = self._reprieve_by_numbers(self._room, node, below)
            if found is not None:
                if self._known is not None:
                    self._known.put(node, found)
                return found
        with self._handle.what_if(self._cycle, self._pod, node) as tried:
            for pod in below:
                tried.remove(pod)
            status = tried.filters()
            return self.reprieve(tried, below) if status is None else status

    def _reprieve_by_numbers(self, room: Room, node: NodeInfo, below: list[Pod]) -> Candidate | None:
        """The same as trying, where room is all that counts; None if the pod does not fit at all."""
        free = room.on(node, self._handle.nominator.on(node.name))
        requests = {pod.uid: info.request for pod in below if (info := node.info_of(pod)) is not None}
        for pod in below:
            free.give(requests[pod.uid])
        if not free.is_enough():
            return None
        ordered, protected = self._in_order(below)
        victims: list[Pod] = []
        violations = 0
        for pod in ordered:
            free.take(requests[pod.uid])
            if not free.is_enough():
                free.give(requests[pod.uid])
                victims.append(pod)
                violations += pod.uid in protected
        if not victims:
            return None
        return self._candidate(node, victims, violations, protected)

    def reprieve(self, tried: WhatIf, below: list[Pod]) -> Candidate | Status:
        """Puts back whoever may stay, the most important first, those that budgets protect before all."""
        ordered, protected = self._in_order(below)
        victims: list[Pod] = []
        violations = 0
        for pod in ordered:
            tried.add(pod)
            if not self.fits(tried):
                tried.remove(pod)
                victims.append(pod)
                violations += pod.uid in protected
            if tried.failed is not None:
                return tried.failed
        if not victims:
            return Status.error(f'expected at least one victim pod on node "{tried.node.name}"')
        return self._candidate(tried.node, victims, violations, protected)

    def _in_order(self, below: list[Pod]) -> tuple[list[Pod], set[str]]:
        """In which order pods may stay, and which of them budgets protect."""
        ordered = sorted(below, key=by_importance(self._now))
        protected = protected_by(self._budgets, ordered) if self._budgets else set()
        if protected:
            ordered.sort(key=lambda pod: pod.uid not in protected)
        return ordered, protected

    def _candidate(
        self, node: NodeInfo, victims: list[Pod], violations: int, protected: set[str]
    ) -> Candidate:
        if protected:
            victims.sort(key=by_importance(self._now))
        return Candidate(node.name, tuple(victims), violations)


def protected_by(budgets: Sequence[PodDisruptionBudget], pods: Sequence[Pod]) -> set[str]:
    """The uids of the pods whose going, in this order, would exceed some disruption budget."""
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    protected: set[str] = set()
    for pod in pods:
        if not pod.labels:
            continue
        for place, budget in enumerate(budgets):
            if _covers(budget, pod):
                allowed[place] -= 1
                if allowed[place] < 0:
                    protected.add(pod.uid)
    return protected


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.namespace != pod.namespace or pod.name in budget.status.disrupted_pods:
        return False
    try:
        selector = parse_selector(budget.spec.selector)
    except SelectorError:
        return False
    return not selector.empty and selector.matches(pod.labels)
