"""What a gang as a whole may lack: smaller requests of all its members, and several nodes more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from moorage.api.resources import PODS
from moorage.insight.advice.gang_worlds import GangWorld
from moorage.insight.advice.remedies import new_nodes, requests
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.state.node_info import NodeInfo

_LOOKED_AT = 64
_MOST_AMOUNTS = 4096
_MOST_MODELS = 8


def lower_requests(sight: Sight, world: GangWorld) -> Iterator[Remedy]:
    """For each resource that is lacking: the highest request with which all members fit."""
    if requests.PLUGIN not in sight.obstacles.by_plugin:
        return
    wanted = dict(requests.demands(sight))
    for name in _lacking(sight):
        amounts = _amounts(sight, world, name, wanted[name])
        lowered = (requests.lowered_to(sight, {name: amount}) for amount in amounts)
        yield from _smallest_that_helps(sight, [remedy for remedy in lowered if remedy is not None])


def more_nodes(sight: Sight, world: GangWorld) -> Iterator[Remedy]:
    """So many nodes of a sort as are needed, at most one for each member that is missing."""
    for model in sorted(new_nodes.models(sight)[:_MOST_MODELS], key=new_nodes.size):
        counts = range(world.missing, 1, -1)
        found = _smallest_that_helps(sight, [new_nodes.several(sight, model, count) for count in counts])
        if found or world.is_over:
            yield from found
            return


def _smallest_that_helps(sight: Sight, changes: Sequence[Remedy]) -> list[Remedy]:
    """Of changes, the largest first, the last that helps; it is looked for as if all before it did, too."""
    if not changes or not _helps(sight, changes[0]):
        return []
    low, high = 0, len(changes) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _helps(sight, changes[middle]):
            low = middle
        else:
            high = middle - 1
    return [changes[low]]


def _helps(sight: Sight, remedy: Remedy) -> bool:
    if sight.world.is_over:
        return False
    return sight.world.outcome(sight.draft(remedy).steps()) is not None


def _lacking(sight: Sight) -> list[str]:
    """Resources of which some node has too little for the member, the most frequent first."""
    rows = np.flatnonzero(sight.obstacles.by_plugin[requests.PLUGIN])[:_LOOKED_AT]
    counts: dict[str, int] = {}
    for row in rows.tolist():
        for name in requests.missing_on(sight, sight.obstacles.info(row)):
            counts[name] = counts.get(name, 0) + 1
    return sorted((name for name in counts if name != PODS), key=lambda name: -counts[name])


def _amounts(sight: Sight, world: GangWorld, name: str, wanted: int) -> list[int]:
    """What is free on a node, shared by one member or more: no other amount is the highest that fits.

    The smallest first.
    """
    table = sight.state.table
    with world.lifted():
        nodes: list[NodeInfo] = table.infos
        free = {node.allocatable.get(name, 0) - node.requested.get(name, 0) for node in nodes}
    amounts = {left // share for left in sorted(free)[-_LOOKED_AT:] for share in range(1, world.to_place + 1)}
    return sorted(amount for amount in amounts if 0 < amount < wanted)[-_MOST_AMOUNTS:]
