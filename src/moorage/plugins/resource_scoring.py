"""Scores from how much of a node's resources would be in use with the pod on it.

Shared by NodeResourcesFit, whose three scoring strategies are here, and NodeResourcesBalancedAllocation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from moorage.api.requests import Resources
from moorage.api.resources import BASIC, CPU, MEMORY, is_scalar
from moorage.config.args import ResourceSpec, ScoringStrategy, UtilizationShapePoint
from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.state.columns import Int64s
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


Strategy: TypeAlias = Callable[[Nodes, Sequence[CountedResource]], Int64s]
"""The scores of nodes for a pod that wants these resources."""


def make_strategy(strategy: ScoringStrategy) -> Strategy:
    if strategy.type == "MostAllocated":
        return most_allocated
    if strategy.type == "RequestedToCapacityRatio":
        ratio = strategy.requested_to_capacity_ratio
        return RequestedToCapacityRatio(ratio.shape if ratio else ())
    return least_allocated


def least_allocated(nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
    """The emptier the better."""
    return _weighted_mean(nodes, wanted, _free_percentage)


def most_allocated(nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
    """The fuller the better."""
    return _weighted_mean(nodes, wanted, _used_percentage)


class RequestedToCapacityRatio:
    """The better the closer to what a shape asks for: a line through (utilization, score) points."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score * _SHAPE_SCALE) for point in shape]
        self.by_percentage = np.array([on_line(points, p) for p in range(101)], dtype=np.int64)

    def __call__(self, nodes: Nodes, wanted: Sequence[CountedResource]) -> Int64s:
        total = np.zeros(len(nodes), dtype=np.int64)
        weights = np.zeros(len(nodes), dtype=np.int64)
        for resource in wanted:
            allocatable, used = allocatable_and_used(nodes, resource)
            has_any = allocatable != 0
            percentage = _used_percentage(np.where(has_any, allocatable, 1), used)
            scores = self.by_percentage[percentage] * has_any
            total += scores * resource.weight
            weights += (scores > 0) * resource.weight
        # Rounds half up. The quotient of such small numbers is never so near to a half that doing it in
        # floats, as kube-scheduler does, would give another result.
        return (2 * total + weights) // np.maximum(2 * weights, 1)


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


def _weighted_mean(
    nodes: Nodes, wanted: Sequence[CountedResource], resource_score: Callable[[Int64s, Int64s], Int64s]
) -> Int64s:
    """The mean of the scores of all resources; on each node without those that it does not have at all."""
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
        return total // weights if weights else total
    return total // np.maximum(weights, 1)


def _free_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    free = np.subtract(allocatable, used, out=used)
    np.maximum(free, 0, out=free)
    free *= MAX_SCORE
    free //= allocatable
    return free


def _used_percentage(allocatable: Int64s, used: Int64s) -> Int64s:
    np.minimum(used, allocatable, out=used)
    used *= MAX_SCORE
    used //= allocatable
    return used
