"""VolumeBinding: finds volumes for the claims of a pod."""

from __future__ import annotations

import numpy as np

from moorage.api.pods import Pod
from moorage.config.args import VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ClusterEvent
from moorage.framework.extension_points import (
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.storage.claims import uses_claims
from moorage.state.columns import Int64s
from moorage.state.nodes import Nodes

_UNSUPPORTED = (
    "pod uses persistentVolumeClaim or ephemeral volumes, which this version of Moorage does not support"
)


class VolumeBinding(PreFilterPlugin, FilterPlugin, ReservePlugin, PreBindPlugin, PreScorePlugin, ScorePlugin):
    """Finds volumes for the claims of a pod; pods with claims are refused for now."""

    args_type = VolumeBindingArgs
    allows_parallel = True
    reads_usage_only = True

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        super().__init__(args or VolumeBindingArgs(), handle)

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        if uses_claims(pod):
            return Status.unresolvable(_UNSUPPORTED)
        return Status.skip()

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.passed()

    def events(self) -> list[ClusterEvent]:
        return []

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return Status.skip()

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        pass

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.skip()

    def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None
