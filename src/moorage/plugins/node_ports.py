"""NodePorts: host ports that other pods hold already."""

from __future__ import annotations

from functools import reduce
from operator import or_

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.state.nodes import Nodes
from moorage.state.ports import conflicts

_WANTED = "PreFilterNodePorts"
_TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Keeps a pod off nodes where another pod holds a host port it wants."""

    treats_like_pods_alike = True
    pre_filters_alike = True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        wanted = pod.host_ports
        if not wanted:
            return Status.skip()
        cycle.write(_WANTED, wanted)
        return None

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        columns = self.handle.state.ports.conflicting(read(cycle, _WANTED, "reading"))
        if not columns:
            return Verdicts.passed()
        return Verdicts.where(reduce(or_, map(nodes.take, columns)), _TAKEN)

    def events(self) -> list[ClusterEvent]:
        return [ClusterEvent(POD, Action.DELETE, _pod_deleted), ClusterEvent(NODE, Action.ADD)]


def _pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> Hint:
    had_a_node = old.spec.node_name or old.status.nominated_node_name
    frees = had_a_node and conflicts(pod.host_ports, set(old.host_ports))
    return Hint.QUEUE if frees else Hint.SKIP
