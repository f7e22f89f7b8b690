"""NodeName: pods that ask for a node by name."""

from __future__ import annotations

import numpy as np

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, Action, ClusterEvent
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.state.kept_rows import NEVER_REJECTS, KeptVerdicts
from moorage.state.nodes import Nodes

_OTHER_NODE = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName(FilterPlugin):
    """Keeps a pod that names its node to that node."""

    treats_like_pods_alike = True
    reads_usage_only = True

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts | None:
        return None if pod.spec.node_name else NEVER_REJECTS

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        wanted = pod.spec.node_name
        if not wanted:
            return Verdicts.passed()
        rejected = np.ones(len(nodes), dtype=np.bool_)
        place = nodes.index(wanted)
        if place is not None:
            rejected[place] = False
        return Verdicts.where(rejected, _OTHER_NODE)

    def events(self) -> list[ClusterEvent]:
        return [ClusterEvent(NODE, Action.ADD)]
