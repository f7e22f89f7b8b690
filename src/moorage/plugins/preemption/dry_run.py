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
from moorage.framework.runtime.filtering import filter_nodes
from moorage.framework.runtime.what_if import WhatIf
from moorage.framework.status import Status
from moorage.plugins.preemption.candidates import Candidate, by_importance
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

_NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


class DryRun:
    """Tries nodes for one pod, within one cycle."""

    def __init__(
        self, handle: Handle, cycle: CycleState, pod: Pod, budgets: Sequence[PodDisruptionBudget]
    ) -> None:
        self._handle = handle
        self._cycle = cycle
        self._pod = pod
        self._budgets = budgets
        self._now = handle.clock()

    def rule_out(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> NDArray[np.intp]:
        """Which nodes are worth a try, judged on columns; the others get their status at once."""
        if not len(rows):
            return rows
        state = self._handle.state
        below = state.priorities.pods_below(self._pod.priority)
        without_victims = statuses.add_status(_NO_VICTIMS)
        statuses.set_rows(rows[below[rows] == 0], without_victims)
        rows = rows[below[rows] > 0]
        if len(rows) and self._usage_decides():
            nodes = Nodes(state.table, rows)
            profile = self._handle.profile
            assert profile is not None
            with state.priorities.gone_below(self._pod.priority):
                left = filter_nodes(profile, profile.plans.general, self._cycle, self._pod, nodes, statuses)
            rows = rows if left is None else rows[left]
        return rows

    def _usage_decides(self) -> bool:
        """Whether the filters that take part look at usage only and nobody is nominated anywhere."""
        profile = self._handle.profile
        assert profile is not None
        return not len(self._handle.nominator) and all(
            plugin.reads_usage_only or plugin.name in self._cycle.skip_filter for plugin, _ in profile.filter
        )

    def on(self, node: NodeInfo) -> Candidate | Status:
        """The victims on one node, or why no victims would help."""
        below = [pod for pod in node.pods if pod.priority < self._pod.priority]
        if not below:
            return _NO_VICTIMS
        with self._handle.what_if(self._cycle, self._pod, node) as tried:
            for pod in below:
                tried.remove(pod)
            status = tried.filters()
            return self._reprieve(tried, below) if status is None else status

    def _reprieve(self, tried: WhatIf, below: list[Pod]) -> Candidate | Status:
        """Puts back whoever may stay, the most important first, those that budgets protect before all."""
        key = by_importance(self._now)
        ordered = sorted(below, key=key)
        protected = self._protected(ordered)
        violating = [pod for pod in ordered if pod.uid in protected]
        others = [pod for pod in ordered if pod.uid not in protected]
        victims: list[Pod] = []
        violations = 0
        for pod in (*violating, *others):
            tried.add(pod)
            if tried.filters() is not None:
                tried.remove(pod)
                victims.append(pod)
                violations += pod.uid in protected
            if tried.failed is not None:
                return tried.failed
        if not victims:
            return Status.error(f'expected at least one victim pod on node "{tried.node.name}"')
        if violating and others:
            victims.sort(key=key)
        return Candidate(tried.node.name, tuple(victims), violations)

    def _protected(self, pods: Sequence[Pod]) -> set[str]:
        """The uids of the pods whose going, in this order, would exceed some disruption budget."""
        allowed = [budget.status.disruptions_allowed for budget in self._budgets]
        protected: set[str] = set()
        for pod in pods:
            if not pod.labels:
                continue
            for place, budget in enumerate(self._budgets):
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
