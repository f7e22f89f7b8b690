"""What would have to go from a node for a pod to fit there, and for the quotas to hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.contrib.capacity.demand import Demand
from moorage.contrib.capacity.quotas import Quotas, QuotaSnapshot
from moorage.contrib.capacity.victims import WhoMayGo
from moorage.contrib.naming_dry_run import NamingDryRun
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import filter_nodes, nominated_usage
from moorage.framework.runtime.what_if import WhatIf
from moorage.framework.status import Status
from moorage.plugins.preemption.candidates import Candidate, by_importance
from moorage.plugins.preemption.room import Room
from moorage.state.columns import Bools
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

SNAPSHOT = "ElasticQuotaSnapshot"
"""Where the cycle state has the quotas of an attempt."""

_EXCEEDED = Status.unschedulable("global quota max exceeded")
_ABOVE_ALL = 2**31
"""A priority that no pod has."""


class QuotaDryRun(NamingDryRun):
    """Tries nodes for one pod: it must fit there, and the quotas must hold."""

    def __init__(
        self,
        handle: Handle,
        cycle: CycleState,
        pod: Pod,
        budgets: Sequence[PodDisruptionBudget],
        demand: Demand,
    ) -> None:
        super().__init__(handle, cycle, pod, budgets)
        self._demand = demand
        self._alone = Demand(demand.request, demand.request, demand.request)
        """Without those for whom room is being made already."""
        self._by_numbers: set[int] = set()
        self._quotas: QuotaSnapshot = cycle.read(SNAPSHOT)
        self._who = WhoMayGo.for_pod(self._quotas, pod, demand.in_quota)
        self._settled = self._quotas.clone()
        """The quotas without pods that are on their way out: they are not borrowed from twice."""
        self._going = handle.shared(Quotas).going()
        for going in self._going:
            self._settled.remove(going)
        self._going_uids = {going.uid for going in self._going}
        is_taking_back = self._who is WhoMayGo.OF_BORROWERS
        self._borrowers = self._settled.borrowers() if is_taking_back else None

    def rule_out(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> NDArray[np.intp]:
        is_worth_a_try = self._nodes_with_possible_victims()[rows]
        self.tell_without_victims(rows[~is_worth_a_try], statuses)
        rows = rows[is_worth_a_try]
        if len(rows) and self._usage_decides():
            self._by_numbers = self._with_room_if_empty(rows)
            self._room = Room.needed(self._handle, self._cycle, self._pod)
        return rows

    def _nodes_with_possible_victims(self) -> Bools:
        """Of a cluster's pods, those with a quota are found by their namespace."""
        state = self._handle.state
        if self._who is WhoMayGo.LESSER_WITHOUT_QUOTA:
            return state.priorities.pods_below(self._pod.priority) > 0
        found = np.zeros(len(state.table), dtype=np.bool_)
        live = self._handle.shared(Quotas)
        below = self._pod.priority if self._borrowers is None else _ABOVE_ALL
        for namespace in {self._pod.namespace} if self._borrowers is None else self._borrowers:
            for uid in live.uids_of(namespace):
                placement = state.placement(uid)
                if placement and placement.node.exists and placement.info.pod.priority < below:
                    found[placement.node.row] = True
        if self._borrowers is not None:
            for pod in self._going:
                placement = state.placement(pod.uid)
                if placement and placement.node.exists and self._quotas.of(pod.namespace) is not None:
                    found[placement.node.row] = True
        return found

    def potential_victims(self, node: NodeInfo) -> list[Pod]:
        """Takes out those who may go, the least important first; with each, its namespace has less left."""
        borrowers = self._borrowers
        if borrowers is None:
            return [pod for pod in node.pods if self._who.has(pod, self._pod, self._quotas)]
        possible = [pod for pod in node.pods if pod.namespace in borrowers or pod.uid in self._going_uids]
        if not possible:
            return []
        possible.sort(key=by_importance(self._now), reverse=True)
        quotas = self._settled.clone()
        found: list[Pod] = []
        for pod in possible:
            if pod.uid in self._going_uids:
                is_foreign = pod.namespace != self._pod.namespace
                if is_foreign and self._quotas.of(pod.namespace) is not None:
                    found.append(pod)
            elif self._who.has(pod, self._pod, quotas):
                quotas.remove(pod)
                found.append(pod)
        return found

    def may_go_besides(self, pods: Sequence[Pod], others: Sequence[Pod]) -> bool:
        quotas = self._settled.clone()
        for pod in others:
            quotas.remove(pod)
        for pod in pods:
            if not self._who.has(pod, self._pod, quotas):
                return False
            quotas.remove(pod)
        return True

    def _in_order(self, below: list[Pod]) -> tuple[list[Pod], set[str]]:
        """Those who leave anyway are the last to be put back, and no budget suffers from that."""
        ordered, protected = super()._in_order(below)
        if self._going_uids:
            ordered.sort(key=lambda pod: pod.uid in self._going_uids)
            protected = protected - self._going_uids
        return ordered, protected

    def _candidate(
        self, node: NodeInfo, victims: list[Pod], violations: int, protected: set[str]
    ) -> Candidate:
        if self._going_uids:
            victims.sort(key=by_importance(self._now))
        return super()._candidate(node, victims, violations, protected)

    def _with_room_if_empty(self, rows: NDArray[np.intp]) -> set[int]:
        """The nodes on which room is all that the pod could lack; why others are none is found out there."""
        handle, cycle, pod = self._handle, self._cycle, self._pod
        profile, state = handle.profile, handle.state
        assert profile is not None
        nodes = Nodes(state.table, rows)
        with state.priorities.gone_below(_ABOVE_ALL), nominated_usage(profile, cycle, pod):
            left = filter_nodes(profile, profile.plans.general, cycle, pod, nodes, NodeStatuses(state.table))
        return set((rows if left is None else rows[left]).tolist())

    def _reprieve_by_numbers(self, room: Room, node: NodeInfo, below: list[Pod]) -> Candidate | None:
        """As in trying, with the quotas reckoned beside the room; None if it takes trying to know why not."""
        if node.row not in self._by_numbers:
            return None
        free = room.on(node, self._handle.nominator.on(node.name))
        requests = {pod.uid: info.request for pod in below if (info := node.info_of(pod)) is not None}
        quotas = self._quotas.clone()
        for pod in below:
            free.give(requests[pod.uid])
            quotas.remove(pod)
        if not free.is_enough() or self._exceeds(quotas, self._alone):
            return None
        ordered, protected = self._in_order(below)
        victims: list[Pod] = []
        for pod in ordered:
            free.take(requests[pod.uid])
            quotas.add(pod)
            if not free.is_enough() or self._exceeds(quotas, self._demand):
                free.give(requests[pod.uid])
                quotas.remove(pod)
                victims.append(pod)
        if not victims:
            return None
        violations = sum(pod.uid in protected for pod in victims)
        return self._candidate(node, victims, violations, protected)

    def reprieve(self, tried: WhatIf, below: list[Pod]) -> Candidate | Status:
        if self._exceeds(tried.cycle.read(SNAPSHOT), self._alone):
            return _EXCEEDED
        return super().reprieve(tried, below)

    def fits(self, tried: WhatIf) -> bool:
        return super().fits(tried) and not self._exceeds(tried.cycle.read(SNAPSHOT), self._demand)

    def _exceeds(self, quotas: QuotaSnapshot, demand: Demand) -> bool:
        """Whether the quotas would not hold; there is nothing to hold for a pod without one."""
        namespace = self._pod.namespace
        if quotas.of(namespace) is None:
            return False
        return demand.exceeds_max(namespace, quotas) or demand.exceeds_total(quotas)
