"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

from typing import Any

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.taints import UNSCHEDULABLE_TAINT, tolerates
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.state.kept_rows import NEVER_REJECTS, KeptVerdicts
from moorage.state.nodes import Nodes

_CORDONED = Status.unresolvable("node(s) were unschedulable")


class NodeUnschedulable(FilterPlugin):
    """Keeps pods off cordoned nodes unless they tolerate the unschedulable taint."""

    treats_like_pods_alike = True
    reads_usage_only = True

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        table = handle.state.table
        self._kept = KeptVerdicts(
            table,
            table.node_changes,
            lambda nodes: nodes.unschedulable,
            lambda row: bool(table.unschedulable[row]),
        )

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts:
        return NEVER_REJECTS if tolerates(pod.spec.tolerations, UNSCHEDULABLE_TAINT) else self._kept

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        cordoned = nodes.unschedulable
        if not cordoned.any() or tolerates(pod.spec.tolerations, UNSCHEDULABLE_TAINT):
            return Verdicts.passed()
        return Verdicts.where(cordoned, _CORDONED)

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _node_changed),
            ClusterEvent(POD, Action.UPDATE_POD_TOLERATION, _tolerations_changed),
        ]


def _node_changed(pod: Pod, old: Node | None, new: Node) -> Hint:
    was_unusable = old is None or old.spec.unschedulable
    return Hint.QUEUE if was_unusable and not new.spec.unschedulable else Hint.SKIP


def _tolerations_changed(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    helps = new.uid == pod.uid and tolerates(new.spec.tolerations, UNSCHEDULABLE_TAINT)
    return Hint.QUEUE if helps else Hint.SKIP
