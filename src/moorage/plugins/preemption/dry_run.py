"""What would have to go for a pod to fit a node, tried out on the node's row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from moorage.plugins.preemption.reprieve import those_who_go
from moorage.state.columns import Bools
from moorage.state.node_info import NodeInfo, PodInfo
from moorage.state.nodes import Nodes

_NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
_NOBODY: set[str] = set()


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
            contested = self._are_contested(rows)
            judged = rows[~contested]
            with state.priorities.gone_below(self._pod.priority):
                left = self._filtered(judged, statuses)
            if left is not None:
                contested[~contested] = left
                rows = rows[contested]
        return rows

    def _usage_decides(self) -> bool:
        """Whether the filters that take part look at usage only."""
        profile = self._handle.profile
        assert profile is not None
        return all(
            plugin.reads_usage_only or plugin.name in self._cycle.skip_filter for plugin, _ in profile.filter
        )

    def _are_contested(self, rows: NDArray[np.intp]) -> Bools:
        """Where somebody as important is nominated: the pod must fit there with and without them."""
        table = self._handle.state.table
        contested = np.zeros(len(table), dtype=np.bool_)
        for name in self._handle.nominator.rivals(self._pod):
            node = table.by_name.get(name)
            if node is not None:
                contested[node.row] = True
        found: Bools = contested[rows]
        return found

    def _filtered(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> Bools | None:
        """On which of these nodes the pod fits as their columns are now; None for all."""
        profile = self._handle.profile
        assert profile is not None
        nodes = Nodes(self._handle.state.table, rows)
        return filter_nodes(profile, self._cycle, self._pod, nodes, statuses)

    def each(self, rows: NDArray[np.intp], at_once: int) -> Iterator[tuple[int, Candidate | Status]]:
        """What `on` says about the node of each row, in this order; so many are looked at together."""
        infos = self._handle.state.table.infos
        if not self._can_try_together():
            for row in rows.tolist():
                yield row, self.on(infos[row])
            return
        contested = self._are_contested(rows)
        for begin in range(0, len(rows), at_once):
            some = rows[begin : begin + at_once]
            alone = contested[begin : begin + at_once]
            together = dict(zip(some[~alone].tolist(), self._together(some[~alone]), strict=True))
            for row in some.tolist():
                yield row, together[row] if row in together else self.on(infos[row])

    def _can_try_together(self) -> bool:
        """Whether no plugin that takes part has to be told of each pod that would go or stay."""
        profile = self._handle.profile
        assert profile is not None
        skipped = self._cycle.skip_filter
        told = (*profile.with_add_pod, *profile.with_remove_pod)
        return (
            self._usage_decides()
            and all(plugin.name in skipped for plugin in told)
            and all(entry.is_fast or entry.plugin.name in skipped for entry in profile.filter)
            and not self._handle.state.table.has_extreme_amounts
        )

    def _together(self, rows: NDArray[np.intp]) -> Iterator[Candidate | Status]:
        """The same as `on`, of nodes that are worth a try and where nobody else is nominated."""
        state, priority = self._handle.state, self._pod.priority
        key = by_importance(self._now)
        nodes = [state.table.infos[row] for row in rows.tolist()]
        in_order: list[list[PodInfo]] = []
        protected: list[set[str]] = []
        for node in nodes:
            below = [info for info in node.pod_infos if info.pod.priority < priority]
            below.sort(key=lambda info: key(info.pod))
            uids = self._protected([info.pod for info in below]) if self._budgets else _NOBODY
            if uids:
                below.sort(key=lambda info: info.pod.uid not in uids)
            in_order.append(below)
            protected.append(uids)
        ignored = NodeStatuses(state.table)
        with state.priorities.gone_below(priority):
            going = those_who_go(state.table, rows, in_order, lambda some: self._filtered(some, ignored))
        for node, uids, infos in zip(nodes, protected, going, strict=True):
            victims = [info.pod for info in infos]
            violations = sum(victim.uid in uids for victim in victims)
            if uids:
                victims.sort(key=key)
            yield self._candidate(node, victims, violations)

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
        if violating and others:
            victims.sort(key=key)
        return self._candidate(tried.node, victims, violations)

    def _candidate(self, node: NodeInfo, victims: list[Pod], violations: int) -> Candidate | Status:
        if not victims:
            return Status.error(f'expected at least one victim pod on node "{node.name}"')
        return Candidate(node.name, tuple(victims), violations)

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
