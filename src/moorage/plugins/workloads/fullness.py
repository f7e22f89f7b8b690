"""How full a part of the cluster would be with the pods of a group in it."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.api.resources import CPU, MEMORY, is_scalar
from moorage.config.args import ResourceSpec
from moorage.framework.placements import PlacedGroup
from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.plugins.resource_scoring import amount_at
from moorage.state.node_table import NodeTable


def fullness(table: NodeTable, resources: Iterable[ResourceSpec], group: PlacedGroup) -> int:
    """The mean over the resources, 0 to 100, of what is in use of all nodes of the placement together.

    A resource that neither the nodes have nor, if it is none of the usual ones, the pods ask for does not
    count.
    """
    rows = [table.by_name[name].row for name in group.placement.nodes if name in table.by_name]
    total = weights = 0
    for resource in resources:
        name, is_usual = resource.name, resource.name in (CPU, MEMORY)
        used = sum((pod.nonzero_requests if is_usual else pod.requests)[name] for pod, _ in group.placed)
        if not used and is_scalar(name):
            continue
        columns = table.nonzero_requested if is_usual else table.requested
        having = [row for row in rows if amount_at(table.allocatable, row, name)]
        allocatable = sum(amount_at(table.allocatable, row, name) for row in having)
        used += sum(amount_at(columns, row, name) for row in having)
        if allocatable:
            total += min(used, allocatable) * MAX_SCORE // allocatable * resource.weight
            weights += resource.weight
    return total // weights if weights else 0
