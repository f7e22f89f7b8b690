"""Which nodes have to be added so that pods fit, at the least cost."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.state.nodes import Nodes
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.node_types import NodeType
from moorage.what_if.capacity.placements import Placements, Unknown
from moorage.what_if.capacity.world import World
from moorage.what_if.simulation import Result

Counts = tuple[int, ...]
"""How many nodes of each type, in the order of the types."""

_COUNTED = ("cpu", "memory", "ephemeral-storage")
_SEARCHED_PODS = 12


@dataclass
class Addition:
    """Nodes to add, and where the pods go then."""

    nodes: dict[str, int]
    """Type to how many."""
    cost: float
    placed: dict[str, str]
    """Pod to node, as the scheduler places them on the cluster with these nodes."""
    at_least: float
    """With less than this, no placement has all the pods."""
    is_least: bool
    """Whether the scheduler places all with nothing cheaper."""
    is_reached: bool
    """Whether there is a placement that has all the pods for `at_least`; otherwise it is not known."""
    hopeless: dict[str, str] = field(default_factory=dict)
    """Pods that fit on none of the types, however many there are, to what the scheduler says of them."""


class Adding:
    """Searches for the cheapest nodes with which the scheduler places all pods.

    Whatever is found has been tried on a new copy of the cluster.
    """

    def __init__(self, world: World, types: Sequence[NodeType], effort: Effort) -> None:
        self._world = world
        self._types = types
        self._effort = effort
        self._none: Counts = (0,) * len(types)
        self._known: dict[Counts, dict[str, str] | None] = {}

    def search(self, pods: Sequence[Pod]) -> Addition:
        self._pods = list(pods)
        hopeless: dict[str, str] = {}
        while True:
            waiting = len(self._schedule(self._none, self._pods).pending)
            self._plenty: Counts = (waiting,) * len(self._types)
            stuck = self._schedule(self._plenty, self._pods).pending
            if not stuck:
                break
            hopeless |= stuck
            self._pods = [pod for pod in self._pods if pod.key not in stuck]
        self._demand = _demand(self._world, self._pods)
        self._free = _free(self._world)
        self._offers = [_offer(self._world, each) for each in self._types]
        counts = self._fewer(self._some())
        self._effort.tell(f"cost {self.cost(counts):g} is enough")
        counts, at_least, is_least, is_reached = self._cheapest(counts)
        nodes = {each.name: count for each, count in zip(self._types, counts, strict=True) if count}
        placed = self._known[counts]
        assert placed is not None
        return Addition(nodes, self.cost(counts), placed, at_least, is_least, is_reached, hopeless)

    def cost(self, counts: Counts) -> float:
        return sum(each.price * count for each, count in zip(self._types, counts, strict=True))

    def _schedule(self, counts: Counts, pods: Sequence[Pod]) -> Result:
        with self._world.undone(*self._made(counts)):
            return self._world.schedule(pods)

    def _made(self, counts: Counts) -> Iterator[Object]:
        for each, count in zip(self._types, counts, strict=True):
            for number in range(1, count + 1):
                yield from each.made(number)

    def _places_all(self, counts: Counts) -> bool:
        if counts not in self._known:
            is_enough = not self._schedule(counts, self._pods).pending
            self._known[counts] = self._on_a_copy(counts) if is_enough else None
        return self._known[counts] is not None

    def _on_a_copy(self, counts: Counts) -> dict[str, str] | None:
        """Where the pods go on a new copy of the cluster with these nodes; None if not all have a place."""
        given = self._world.given
        with World(given._replace(objects=[*given.objects, *self._made(counts)])) as copy:
            result = copy.schedule(self._pods)
        return None if result.pending else result.placed

    # Something that will do

    def _some(self) -> Counts:
        """Adds the nodes that help the most for their price until all pods have a place."""
        counts = self._none
        while not self._places_all(counts):
            if self._effort.is_over or any(map(int.__ge__, counts, self._plenty)):
                counts = self._plenty
                break
            placed = len(self._schedule(counts, self._pods).placed)
            step = max(1, (len(self._pods) - placed) // 8)
            tries = [_more(counts, place, step) for place in range(len(counts))]
            gains = [len(self._schedule(each, self._pods).placed) - placed for each in tries]
            if max(gains) <= 0:
                # What helps may take several together, as with a spread over zones.
                counts = tuple(count + 1 for count in counts)
            else:
                worth = [gain / each.price for gain, each in zip(gains, self._types, strict=True)]
                counts = tries[worth.index(max(worth))]
        if not self._places_all(counts):
            raise AssertionError("the same pods on the same nodes have no place any more")
        return counts

    def _fewer(self, counts: Counts) -> Counts:
        """Leaves out nodes, the dearest first, for as long as all pods have a place."""
        for place in sorted(range(len(counts)), key=lambda place: -self._types[place].price):
            step = max(1, counts[place] // 2)
            while counts[place] and not self._effort.is_over:
                fewer = _more(counts, place, -min(step, counts[place]))
                if self._places_all(fewer):
                    counts = fewer
                elif step == 1:
                    break
                else:
                    step //= 2
        return counts

    # The cheapest

    def _cheapest(self, best: Counts) -> tuple[Counts, float, bool, bool]:
        """Tries all that is cheaper, the cheapest first.

        What will do, what it costs at least, whether all that is cheaper was tried, and whether there is a
        placement that costs as little as that.
        """
        limit = self.cost(best)
        least = min(limit, self._least_cost())
        possible: float | None = None
        is_reached = False
        for counts in self._by_cost(limit):
            cost = self.cost(counts)
            if self._effort.is_over:
                return best, min(limit, max(least, cost) if possible is None else possible), False, is_reached
            if not self._has_enough(counts):
                continue
            is_possible = self._is_possible(counts)
            if is_possible is False:
                continue
            if possible is None:
                possible = cost
            if self._places_all(counts):
                return counts, possible, True, is_reached or possible == cost
            is_reached |= possible == cost and bool(is_possible)
        return best, limit if possible is None else possible, True, is_reached or possible is None

    def _by_cost(self, limit: float) -> Iterator[Counts]:
        """All counts that cost less, in the order of their cost."""
        heap: list[tuple[float, Counts, int]] = [(0.0, (0,) * len(self._types), 0)]
        while heap:
            cost, counts, first = heapq.heappop(heap)
            if cost >= limit:
                return
            yield counts
            for place in range(first, len(counts)):
                more = _more(counts, place, 1)
                heapq.heappush(heap, (self.cost(more), more, place))

    def _has_enough(self, counts: Counts) -> bool:
        """Whether there is as much of everything as the pods ask for, wherever it is."""
        return all(
            self._free[name]
            + sum(count * offer[name] for count, offer in zip(counts, self._offers, strict=True))
            >= wanted
            for name, wanted in self._demand.items()
        )

    def _least_cost(self) -> float:
        """What is missing in all costs at least so much, even if every last bit of a node were used."""
        found = 0.0
        for name, wanted in self._demand.items():
            most = max(
                (offer[name] / each.price for offer, each in zip(self._offers, self._types, strict=True)),
                default=0.0,
            )
            if most > 0:
                found = max(found, (wanted - self._free[name]) / most)
        return found

    def _is_possible(self, counts: Counts) -> bool | None:
        """Whether any placement has all the pods; None if there are too many to try."""
        if len(self._pods) > _SEARCHED_PODS:
            return None
        twins = {
            each.node_name(number): each.name
            for each, count in zip(self._types, counts, strict=True)
            for number in range(1, count + 1)
        }
        with self._world.undone(*self._made(counts)):
            try:
                return Placements(self._world, self._pods, self._effort, twins).all_fit()
            except Unknown:
                return None


def _free(world: World) -> dict[str, int]:
    """What is left on all nodes together."""
    nodes = Nodes.all(world.state.table)
    found = {name: nodes.allocatable[name] - nodes.requested[name] for name in _COUNTED}
    found["pods"] = nodes.allocatable["pods"] - nodes.pod_count
    return {name: int(np.maximum(amounts, 0).sum()) for name, amounts in found.items()}


def _offer(world: World, node_type: NodeType) -> dict[str, int]:
    """What a node of a type has for pods, beside those that come with it."""
    with world.undone(*node_type.made(1)):
        info = world.state.node(node_type.node_name(1))
        assert info is not None
        found = {name: info.allocatable[name] - info.requested[name] for name in _COUNTED}
        found["pods"] = info.allocatable["pods"] - len(info.pods)
    return {name: max(0, amount) for name, amount in found.items()}


def _demand(world: World, pods: Sequence[Pod]) -> dict[str, int]:
    """What pods ask for where the filter of resources is on, of which others cannot make less."""
    counted = [pod for pod in pods if world.has_filter(pod, "NodeResourcesFit")]
    demand = {name: sum(pod.requests.get(name, 0) for pod in counted) for name in _COUNTED}
    return {**demand, "pods": len(counted)}


def _more(counts: Counts, place: int, step: int) -> Counts:
    return (*counts[:place], counts[place] + step, *counts[place + 1 :])
