"""NodeResourcesBalancedAllocation: nodes whose resources are in use evenly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.api.requests import row_request
from moorage.config.args import NodeResourcesBalancedAllocationArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.plugins.devices.extended_resources import ExtendedResources
from moorage.plugins.devices.resource_totals import ResourceTotals
from moorage.plugins.int64_math import divided, truncated
from moorage.plugins.resource_scoring import (
    CountedResource,
    amount_at,
    are_extreme,
    are_ordinary,
    counted_resources,
)
from moorage.state.columns import Int64s
from moorage.state.kept_rows import ALL_ZERO, RowScores
from moorage.state.lru import Lru
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

Floats = NDArray[np.float64]

_KNOWN_REQUESTS = 64
_WANTED = "PreScoreNodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Prefers nodes on which the pod evens out the use of cpu, memory and other resources."""

    args_type = NodeResourcesBalancedAllocationArgs
    looks_at_particulars = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None, handle: Handle) -> None:
        args = args or NodeResourcesBalancedAllocationArgs()
        args.complete()
        super().__init__(args, handle)
        self._resources = args.resources
        self._table = handle.state.table
        handle.shared(ExtendedResources)
        self._totals = ResourceTotals.needed(handle, self._resources)
        self._row_scores = Lru[tuple[CountedResource, ...], RowScores](_KNOWN_REQUESTS)

    def pre_scores_alike(self, pod: Pod) -> bool:
        return True

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        wanted = self._wanted(pod)
        if wanted is None:
            return Status.skip()
        cycle.write(_WANTED, wanted)
        return None

    def _wanted(self, pod: Pod) -> tuple[CountedResource, ...] | None:
        """The resources that count, or None if the pod asks for none of the configured ones."""
        requests = row_request(pod)
        if not any(requests[resource.name] for resource in self._resources):
            return None
        return counted_resources(self._resources, requests)

    def row_scores(self, pod: Pod) -> RowScores | None:
        wanted = self._wanted(pod)
        if wanted is None:
            return ALL_ZERO
        if not are_ordinary(wanted) or any(each.name in self._table.device_resources for each in wanted):
            return None
        counted = wanted
        return self._row_scores.get(counted) or self._row_scores.put(
            counted,
            RowScores(
                lambda nodes: improvement(nodes, counted),
                lambda row: improvement_of_row(self._table, row, counted),
            ),
        )

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        wanted = cycle.get(_WANTED)
        if wanted is None:
            wanted = self._wanted(pod)
        if wanted is None:
            return np.zeros(len(nodes), dtype=np.int64)
        if self._totals is not None:
            nodes = self._totals.with_devices(nodes, (each.name for each in wanted))
        return improvement(nodes, wanted)


def improvement(nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
    """75 where the pod leaves the balance as it is; more where it improves it, less where it disturbs it."""
    shape = (len(wanted), len(nodes))
    allocatable = np.empty(shape)
    with_pod_and_without = np.empty((2, *shape))
    for i, (name, _, amount) in enumerate(wanted):
        used = nodes.requested[name]
        allocatable[i] = nodes.allocatable[name]
        with_pod_and_without[0, i] = used + amount
        with_pod_and_without[1, i] = used
    extreme = are_extreme(nodes, wanted)
    if np.count_nonzero(allocatable) == allocatable.size:
        return _score(allocatable, with_pod_and_without, extreme)
    return _score_by_what_nodes_have(allocatable, with_pod_and_without, extreme)


def improvement_of_row(table: NodeTable, row: int, wanted: Sequence[CountedResource]) -> int:
    """The same for one row, as long as amounts are ordinary."""
    with_pod: list[float] = []
    without: list[float] = []
    for name, _, amount in wanted:
        allocatable = float(amount_at(table.allocatable, row, name))
        if allocatable:
            used = amount_at(table.requested, row, name)
            with_pod.append(min(float(used + amount) / allocatable, 1.0))
            without.append(min(float(used) / allocatable, 1.0))
    balance = int((1.0 - _deviation_of(with_pod)) * 100.0) - int((1.0 - _deviation_of(without)) * 100.0)
    return 50 + (50 + balance) // 2


def _deviation_of(fractions: Sequence[float]) -> float:
    count = len(fractions)
    if count < 2:
        return 0.0
    if count == 2:
        return abs(fractions[0] - fractions[1]) / 2
    mean = _added_up(fractions) / count
    return math.sqrt(_added_up([(fraction - mean) * (fraction - mean) for fraction in fractions]) / count)


def _added_up(amounts: Sequence[float]) -> float:
    """Not `sum`, which newer Pythons round less."""
    total = amounts[0]
    for amount in amounts[1:]:
        total += amount
    return total


def _score_by_what_nodes_have(allocatable: Floats, used: Floats, extreme: bool) -> Int64s:
    """A resource that a node lacks does not count there: nodes that lack the same ones go together."""
    scores = np.empty(allocatable.shape[1], dtype=np.int64)
    kinds, kind_of = np.unique(allocatable != 0, axis=1, return_inverse=True)
    for kind in range(kinds.shape[1]):
        there = np.flatnonzero(kind_of == kind)
        present = kinds[:, kind]
        scores[there] = _score(allocatable[present][:, there], used[:, present][:, :, there], extreme)
    return scores


def _score(allocatable: Floats, used: Floats, extreme: bool) -> Int64s:
    np.divide(used, allocatable, out=used)
    fractions = np.minimum(used, 1.0, out=used)
    percentages = (1.0 - _deviation(fractions)) * 100.0
    if extreme:
        # An amount that overflowed is negative, and so may be the percentage.
        balance = truncated(percentages)
        return 50 + divided(50 + balance[0] - balance[1], 2)
    balance = percentages.astype(np.int64)
    scores: Int64s = 50 + (50 + balance[0] - balance[1]) // 2
    return scores


def _deviation(fractions: Floats) -> Floats:
    """The standard deviation over the resources, step by step as kube-scheduler computes it."""
    count = fractions.shape[1]
    if count < 2:
        return np.zeros((2, fractions.shape[2]))
    if count == 2:
        distance: Floats = np.abs(fractions[:, 0] - fractions[:, 1])
        return distance / 2
    mean = _sum_in_order(fractions) / count
    distances = fractions - mean[:, np.newaxis]
    deviation: Floats = np.sqrt(_sum_in_order(distances * distances) / count)
    return deviation


def _sum_in_order(amounts: Floats) -> Floats:
    """Not `sum`, which adds pairwise: with floats the order shows."""
    total: Floats = amounts[:, 0].copy()
    for i in range(1, amounts.shape[1]):
        total += amounts[:, i]
    return total
