"""What stands in a pod's way: which filter rejects which node, each asked on its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.runtime.calls import ask
from moorage.framework.runtime.filtering import about
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.state.columns import Bools
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.what_if.scenario import Evaluation

Rows = NDArray[np.intp]

RIVALS = "nominated pods"
"""Stands for a plugin where a node would do but for the pods nominated to it."""

OTHERS = "others"
"""Stands for a plugin where nobody knows who rejected a node: an extender, for example."""


class Obstacles:
    """A look at a decision: who rejected the pod as a whole, and who rejects each node."""

    def __init__(self, profile: Profile, pod: Pod) -> None:
        self.profile = profile
        self.pod = pod
        self.table = profile.state.table
        self.evaluation = Evaluation.of(profile, pod, preempts=False)
        decision = self.evaluation.decision
        self.gate: Status | None = self.evaluation.gate
        """Who does not let the pod into the queue."""
        pre = None if decision is None else decision.pre_filtered
        self.rejection: Status | None = None if pre is None else pre.status
        """Who rejects the pod whatever the node."""
        self.fits = decision is not None and decision.failure is None
        self.by_plugin: dict[str, Bools] = {}
        """For each filter that rejects some node: which rows."""
        self.statuses: dict[str, list[Status | None]] = {}
        """For each of these, by row, why."""
        if decision is not None and pre is not None and pre.status is None:
            self._ask_all()

    def _ask_all(self) -> None:
        decision = self.evaluation.decision
        assert decision is not None
        nodes = Nodes.all(self.table)
        rejected_by_some = np.zeros(len(nodes), dtype=np.bool_)
        for plugin, _ in self.profile.filter:
            if plugin.name in decision.cycle.skip_filter:
                continue
            asked = (decision.cycle, self.pod, nodes)
            verdicts = ask(about(nodes), self.profile, plugin, False, plugin.filter_nodes, *asked)
            if isinstance(verdicts, Status):
                rejected = np.ones(len(nodes), dtype=np.bool_)
                self.statuses[plugin.name] = [verdicts] * len(nodes)
            elif verdicts.codes is None:
                continue
            else:
                rejected = verdicts.codes != 0
                self.statuses[plugin.name] = [verdicts.of(code) for code in verdicts.codes.tolist()]
            if rejected.any():
                self.by_plugin[plugin.name] = rejected
                rejected_by_some |= rejected
        left = ~rejected_by_some
        if left.any() and not self.fits:
            names = {info.name for info in decision.feasible} if decision.feasible is not None else set()
            rivals = self.profile.services.nominations.rivals(self.pod)
            here = [name not in names and name in rivals for name in nodes.names]
            self._note(RIVALS, left & np.array(here, dtype=np.bool_))
            elsewhere = [name not in names and name not in rivals for name in nodes.names]
            self._note(OTHERS, left & np.array(elsewhere, dtype=np.bool_))

    def _note(self, name: str, rejected: Bools) -> None:
        if rejected.any():
            self.by_plugin[name] = rejected
            self.statuses[name] = [None] * len(rejected)

    def plugins_on(self, row: int) -> frozenset[str]:
        """Who rejects a node."""
        return frozenset(name for name, rejected in self.by_plugin.items() if rejected[row])

    def reasons(self, plugin: str, row: int) -> tuple[str, ...]:
        """Why a plugin rejects a node."""
        status = self.statuses[plugin][row]
        return () if status is None else status.reasons

    def how_many(self) -> NDArray[np.int64]:
        """By row: how many reject it."""
        total = np.zeros(len(self.table), dtype=np.int64)
        for rejected in self.by_plugin.values():
            total += rejected
        return total

    def info(self, row: int) -> NodeInfo:
        return self.table.infos[row]
