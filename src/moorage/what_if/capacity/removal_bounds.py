"""How many nodes can be removed at most, by the sums of what pods ask for: a bound, never too small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from moorage.api.pods import Pod
from moorage.api.taints import UNSCHEDULABLE_TAINT
from moorage.state.node_info import NodeInfo
from moorage.what_if.capacity.leaving import Leaving
from moorage.what_if.capacity.world import World

COUNTED = ("cpu", "memory", "ephemeral-storage", "pods")

Amounts = dict[str, int]


class Sums:
    """What is free on the nodes that pods can go to, and what each node takes away when it is removed.

    Nothing is known of pods for which the filter of resources is off: then nothing is bounded.
    """

    def __init__(self, world: World, pods_of: Mapping[str, Leaving]) -> None:
        moved = [pod for pods in pods_of.values() for pod in pods.moved]
        goes_anywhere = any(pod.tolerates(UNSCHEDULABLE_TAINT) for pod in moved)
        self.free = {
            info.name: _free(info) if goes_anywhere or not info.node.spec.unschedulable else _zero()
            for info in world.nodes
        }
        self.moved = {name: _sum(pods.moved) for name, pods in pods_of.items()}
        self.is_sure = all(world.has_filter(pod, "NodeResourcesFit") for pod in moved)

    def can_hold(self, nodes: Iterable[str]) -> bool:
        """Whether what is left is enough for the pods of these nodes, wherever it is."""
        if not self.is_sure:
            return True
        removed = set(nodes)
        return all(
            sum(self.moved[name][each] for name in removed)
            <= sum(free[each] for name, free in self.free.items() if name not in removed)
            for each in COUNTED
        )

    def at_most(self, prices: Mapping[str, float]) -> float:
        """No nodes that are worth more can be removed, of those with a price."""
        total = sum(prices.values())
        if not self.is_sure:
            return total
        return min(total, *(self._by(each, prices) for each in COUNTED))

    def _by(self, resource: str, prices: Mapping[str, float]) -> float:
        """Removes nodes, even parts of them, that are worth the most for what they take of a resource."""
        left = sum(free[resource] for free in self.free.values())
        takes = {name: self.free[name][resource] + self.moved[name][resource] for name in prices}
        worth = 0.0
        for name in sorted(prices, key=lambda name: takes[name] / prices[name]):
            if takes[name] > left:
                return worth + prices[name] * left / takes[name]
            left -= takes[name]
            worth += prices[name]
        return worth


def whole(value: float, prices: Sequence[float]) -> float:
    """The greatest value that some of these prices can have without being above this one."""
    if all(price == int(price) for price in prices):
        step = math.gcd(*map(int, prices)) if prices else 1
        return float(math.floor((value + 1e-6) / step) * step)
    return value


def _free(info: NodeInfo) -> Amounts:
    found = {name: info.allocatable[name] - info.requested[name] for name in COUNTED}
    found["pods"] = info.allocatable["pods"] - len(info.pods)
    return {name: max(0, amount) for name, amount in found.items()}


def _zero() -> Amounts:
    return dict.fromkeys(COUNTED, 0)


def _sum(pods: Iterable[Pod]) -> Amounts:
    found = _zero()
    for pod in pods:
        for name in COUNTED:
            found[name] += 1 if name == "pods" else pod.requests.get(name, 0)
    return found
