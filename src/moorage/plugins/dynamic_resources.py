"""DynamicResources: devices that pods claim."""

from __future__ import annotations

import numpy as np

from moorage.api.pods import Pod
from moorage.config.args import DynamicResourcesArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
)
from moorage.framework.extension_points import (
    FilterPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
)
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Nomination, Status
from moorage.framework.verdicts import Verdicts
from moorage.state.columns import Int64s
from moorage.state.kept_rows import ALL_ZERO, RowScores
from moorage.state.nodes import Nodes

_STATE = "PreFilterDynamicResources"
_UNSUPPORTED = "pod uses resource claims, which this version of Moorage does not support"


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Finds devices for pods with resource claims; pods that have some are refused for now."""

    treats_like_pods_alike = True
    pre_filters_alike = True
    args_type = DynamicResourcesArgs
    allows_parallel = True
    reads_usage_only = True

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        super().__init__(args or DynamicResourcesArgs(), handle)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return None

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status:
        cycle.write(_STATE, True)
        if pod.spec.resource_claims:
            return Status.unresolvable(_UNSUPPORTED)
        return Status.skip()

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        cycle.read(_STATE)
        return Verdicts.passed()

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        if cycle.get(_STATE) is None:
            # Another plugin rejected the pod before `pre_filter` of this one was called.
            return Status.error("not found")
        if pod.spec.resource_claims:
            return Status.unschedulable("still not schedulable")
        return Status.unschedulable("no new claims to deallocate")

    def row_scores(self, pod: Pod) -> RowScores:
        return ALL_ZERO

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        cycle.read(_STATE)
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        pass

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.skip()

    def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    def events(self) -> list[ClusterEvent]:
        of_nodes = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        return [
            ClusterEvent(NODE, of_nodes),
            ClusterEvent(RESOURCE_CLAIM, Action.ADD | Action.UPDATE),
            ClusterEvent(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM),
            ClusterEvent(DEVICE_CLASS, Action.ADD | Action.UPDATE),
            ClusterEvent(RESOURCE_SLICE, Action.ADD | Action.UPDATE),
        ]
