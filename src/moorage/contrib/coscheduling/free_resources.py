"""Whether the whole cluster has what a PodGroup says it needs, wherever that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from moorage.api.pods import Pod
from moorage.api.resources import PODS
from moorage.state.cluster import ClusterState
from moorage.state.columns import Int64s


def missing_resources(
    state: ClusterState, needed: Mapping[str, int], members: Iterable[Pod]
) -> dict[str, int]:
    """What is not left on all nodes together; what members take that have a node counts as left.

    The nodes are gone over in order, and what is found is no longer looked for: only before that do nodes
    count against it that have promised more than they have.
    """
    placed = [placement for pod in members if (placement := state.placement(pod.uid)) is not None]
    found: dict[str, int] = {}
    for name, amount in needed.items():
        left = _left(state, name)
        for placement in placed:
            if placement.node.row >= 0:
                left[placement.node.row] += 1 if name == PODS else placement.info.pod.requests[name]
        sums = np.cumsum(left)
        if amount > 0 and (not len(sums) or sums.max() < amount):
            found[name] = amount - (int(sums[-1]) if len(sums) else 0)
    return found


def _left(state: ClusterState, name: str) -> Int64s:
    nodes = state.nodes
    if name == PODS:
        return nodes.allowed_pods - nodes.pod_count
    return nodes.allocatable[name] - nodes.requested[name]
