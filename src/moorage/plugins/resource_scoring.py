"""Scores from how much of a node's resources would be in use with the pod on it.

Shared by NodeResourcesFit, whose three scoring strategies are here, and NodeResourcesBalancedAllocation. Each
percentage is computed in one of two ways: a fast one for ordinary amounts, and one for amounts so large, or
negative after an overflow, that kube-scheduler's arithmetic has to be followed to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from moorage.api.requests import Resources
from moorage.api.resources import BASIC, CPU, MEMORY, is_scalar
from moorage.config.args import ResourceSpec, ScoringStrategy, UtilizationShapePoint
from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.plugins.int64_math import divided
from moorage.state.columns import Int64s
from moorage.state.node_table import ORDINARY, NodeTable, ResourceColumns
from moorage.state.nodes import Nodes

_SHAPE_SCALE = 10
"""Shape points score 0 to 10, nodes 0 to 100."""


class CountedResource(NamedTuple):
    """A resource that counts in the score of a pod, and how much the pod asks for."""

    name: str
    weight: int
    amount: int


def counted_resources(resources: Iterable[ResourceSpec], requests: Resources) -> tuple[CountedResource, ...]:
    """The configured resources that count for a pod: scalar ones only if the pod asks for them."""
    return tuple(
        CountedResource(resource.name, resource.weight, requests[resource.name])
        for resource in resources
        if resource.name in BASIC or (is_scalar(resource.name) and requests[resource.name])
    )


class Strategy(Protocol):
    """The scores of nodes for a pod that wants these resources."""

    def __call__(self, nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s: ...

    def of_row(self, table: NodeTable, row: int, wanted: Sequence[CountedResource]) -> int:
        """The score of one node, as long as amounts are ordinary."""


def make_strategy(strategy: ScoringStrategy) -> Strategy:
    if strategy.type == "MostAllocated":
        return MOST_ALLOCATED
    if strategy.type == "RequestedToCapacityRatio":
        ratio = strategy.requested_to_capacity_ratio
        return RequestedToCapacityRatio(ratio.shape if ratio else ())
    return LEAST_ALLOCATED


class RequestedToCapacityRatio:
    """The better the closer to what a shape asks for: a line through (utilization, score) points."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score * _SHAPE_SCALE) for point in shape]
        self.by_percentage = np.array([on_line(points, p) for p in range(101)], dtype=np.int64)

    def __call__(self, nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
        total = np.zeros(len(nodes), dtype=np.int64)
        weights = np.zeros(len(nodes), dtype=np.int64)
        used_percentage = _bounded_percentage if are_extreme(nodes, wanted) else _used_percentage
        for resource in wanted:
            allocatable, used = allocatable_and_used(nodes, resource)
            has_any = allocatable != 0
            percentage = used_percentage(np.where(has_any, allocatable, 1), used)
            scores = self.by_percentage[percentage] * has_any
            total += scores * resource.weight
            weights += (scores > 0) * resource.weight
        # Rounds half up. The quotient of such small numbers is never so near to a half that doing it in
        # floats, as kube-scheduler does, would give another result.
        return (2 * total + weights) // np.maximum(2 * weights, 1)

    def of_row(self, table: NodeTable, row: int, wanted: Sequence[CountedResource]) -> int:
        total = weights = 0
        for resource in wanted:
            allocatable, used = allocatable_and_used_at(table, row, resource)
            if allocatable:
                score = int(self.by_percentage[min(used, allocatable) * MAX_SCORE // allocatable])
                total += score * resource.weight
                weights += resource.weight if score > 0 else 0
        return (2 * total + weights) // max(2 * weights, 1)


def on_line(points: Sequence[tuple[int, int]], at: int) -> int:
    """The height of a broken line; between two points the rise is truncated toward zero."""
    left, low = points[0]
    if at <= left:
        return low
    for right, high in points[1:]:
        if at <= right:
            rise = (high - low) * (at - left)
            steps = abs(rise) // (right - left)
            return low + (steps if rise >= 0 else -steps)
        left, low = right, high
    return low


def allocatable_and_used(nodes: Nodes, wanted: CountedResource) -> tuple[Int64s, Int64s]:
    """What nodes have of a resource, and what would be in use of it with the pod there.

    Of cpu and memory, containers that ask for nothing count with a default.
    """
    name = wanted.name
    used = nodes.nonzero_requested[name] if name in (CPU, MEMORY) else nodes.requested[name]
    return nodes.allocatable[name], used + wanted.amount


def amount_at(columns: ResourceColumns, row: int, name: str) -> int:
    """What a node has, or has in use, of a resource."""
    column = columns.find(name)
    return 0 if column is None else column.data.item(row)


def allocatable_and_used_at(table: NodeTable, row: int, wanted: CountedResource) -> tuple[int, int]:
    """As `allocatable_and_used`, of one node."""
    name = wanted.name
    columns = table.nonzero_requested if name in (CPU, MEMORY) else table.requested
    return amount_at(table.allocatable, row, name), amount_at(columns, row, name) + wanted.amount


def are_extreme(nodes: Nodes, wanted: Iterable[CountedResource]) -> bool:
    """Whether amounts may be so large, or negative, that what is computed from them overflows."""
    return nodes.table.has_extreme_amounts or not are_ordinary(wanted)


class HasAmount(Protocol):
    @property
    def amount(self) -> int: ...


def are_ordinary(wanted: Iterable[HasAmount]) -> bool:
    return all(0 <= each.amount <= ORDINARY for each in wanted)


Percentage: TypeAlias = Callable[[Int64s, Int64s], Int64s]
"""From what is allocatable, never 0, and what would be used. May write over the second."""


class WeightedMean:
    """The mean of the scores of all resources; on each node without those that it does not have at all."""

    def __init__(self, ordinary: Percentage, extreme: Percentage, of_one: Callable[[int, int], int]) -> None:
        self._ordinary = ordinary
        self._extreme = extreme
        self._of_one = of_one

    def of_row(self, table: NodeTable, row: int, wanted: Sequence[CountedResource]) -> int:
        total = weights = 0
        for resource in wanted:
            allocatable, used = allocatable_and_used_at(table, row, resource)
            if allocatable:
                total += self._of_one(allocatable, used) * resource.weight
                weights += resource.weight
        return total // weights if weights else 0

    def __call__(self, nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
        return _weighted_mean(nodes, wanted, self._ordinary, self._extreme)


def _weighted_mean(
    nodes: Nodes, wanted: Sequence[CountedResource], ordinary: Percentage, extreme: Percentage
) -> Int64s:
    is_extreme = are_extreme(nodes, wanted)
    resource_score = extreme if is_extreme else ordinary
    total = np.zeros(len(nodes), dtype=np.int64)
    weights: Int64s | int = 0
    for resource in wanted:
        allocatable, used = allocatable_and_used(nodes, resource)
        if np.count_nonzero(allocatable) == len(allocatable):
            scores = resource_score(allocatable, used)
            weights = weights + resource.weight
        else:
            has_any = allocatable != 0
            scores = resource_score(np.where(has_any, allocatable, 1), used) * has_any
            weights = weights + has_any * resource.weight
        total += scores if resource.weight == 1 else scores * resource.weight
    if isinstance(weights, int):
        if not weights:
            return total
    else:
        weights = np.maximum(weights, 1)
    return divided(total, weights) if is_extreme else total // weights


def _free_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    free = np.subtract(allocatable, used, out=used)
    np.maximum(free, 0, out=free)
    free *= MAX_SCORE
    free //= allocatable
    return free


def _extreme_free_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    percentage = divided((allocatable - used) * MAX_SCORE, allocatable)
    return np.where(used > allocatable, 0, percentage)


def _used_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    np.minimum(used, allocatable, out=used)
    used *= MAX_SCORE
    used //= allocatable
    return used


def _extreme_used_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    return divided(np.minimum(used, allocatable) * MAX_SCORE, allocatable)


def _bounded_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    """With 100 for whatever is more, and 0 for whatever is less: beyond its ends a shape is level."""
    percentage = np.clip(divided(used * MAX_SCORE, allocatable), 0, MAX_SCORE)
    return np.where(used > allocatable, MAX_SCORE, percentage)


def _free_of_one(allocatable: int, used: int) -> int:
    return (allocatable - used) * MAX_SCORE // allocatable if used < allocatable else 0


def _used_of_one(allocatable: int, used: int) -> int:
    return min(used, allocatable) * MAX_SCORE // allocatable


LEAST_ALLOCATED = WeightedMean(_free_percentage, _extreme_free_percentage, _free_of_one)
"""The emptier the better."""
MOST_ALLOCATED = WeightedMean(_used_percentage, _extreme_used_percentage, _used_of_one)
"""The fuller the better."""
