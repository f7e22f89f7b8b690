"""Which nodes can be emptied and removed: the most of them, or those that are worth the most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from moorage.what_if.capacity.budgets import Budgets
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.leaving import Leaving, Obstacle, Rules, leaving
from moorage.what_if.capacity.moves import Moving, Plan, Stuck, carried_out
from moorage.what_if.capacity.placements import Unknown
from moorage.what_if.capacity.removal_bounds import Sums, whole
from moorage.what_if.capacity.world import World

_FEW = 12
"""Of so many nodes all sets are tried."""

_NOTHING = Plan((), ())
_UNTRIED = Obstacle("", "not tried before the search ended")


class Solver(Protocol):
    """Proposes sets of nodes, those that are worth the most first, as far as sums and nodes tell."""

    def propose(self) -> tuple[list[str] | None, float]:
        """A set that was not proposed before, and a bound for all that were not; None if none is left."""


@dataclass
class Removal:
    """Nodes that can be removed, and how."""

    plan: Plan
    worth: float
    at_most: float
    """No nodes that are worth more can be removed."""
    kept: dict[str, list[Obstacle]]
    """Each candidate that stays, and what keeps it, if that is known."""

    @property
    def is_most(self) -> bool:
        return self.worth >= self.at_most - 1e-6


class Removing:
    """Searches for the most; `best` is what has been found so far, each carried out on a copy."""

    def __init__(self, world: World, prices: Mapping[str, float], rules: Rules, effort: Effort) -> None:
        """`prices` has the nodes that may be removed, and what each is worth."""
        self._world = world
        self._effort = effort
        self._pods_of = {
            name: leaving(info, rules, world.profiles)
            for info in world.nodes
            if (name := info.name) in prices
        }
        self._prices = {name: price for name, price in prices.items() if not self._pods_of[name].obstacles}
        self._every = dict(prices)
        open_ones = {name: self._pods_of[name] for name in self._prices}
        self.sums = Sums(world, open_ones)
        self._moving = Moving(world, Budgets.of(world.given.objects), open_ones, effort)
        self.best = _NOTHING
        self.at_most = self._whole(self.sums.at_most(self._prices))
        self._stuck: dict[str, list[Obstacle]] = {}

    @property
    def pods_of(self) -> dict[str, Leaving]:
        """The nodes that nothing keeps from being drained, with their pods."""
        return {name: self._pods_of[name] for name in self._prices}

    @property
    def prices(self) -> dict[str, float]:
        return self._prices

    def search(self, make_solver: Callable[[], Solver] | None = None) -> Removal:
        """Finds some, then better ones until none can be better or the effort is over.

        A solver is made where there are too many nodes to try all sets of them.
        """
        self._some()
        first = self.best
        if not self._is_done:
            if len(self._prices) <= _FEW:
                self._all_sets()
            elif make_solver is not None and not self._effort.is_over:
                self._proposed(make_solver())
        self._one_more()
        if self.best is not first:
            self._stuck.clear()  # which was about other nodes that were gone
        removed = set(self.best.nodes)
        kept = {name: self._why_kept(name) for name in self._every if name not in removed}
        return Removal(self.best, self.worth(self.best.nodes), self.at_most, kept)

    def worth(self, nodes: Sequence[str]) -> float:
        return sum(self._prices[name] for name in nodes)

    @property
    def _is_done(self) -> bool:
        return self.worth(self.best.nodes) >= self.at_most - 1e-6

    def _whole(self, value: float) -> float:
        return whole(value, list(self._prices.values()))

    # Something that will do

    def _some(self) -> None:
        """Takes one node after the other, those with the least to move for their worth first."""
        order = sorted(self._prices, key=lambda name: (self._weight(name) / self._prices[name], name))
        chosen, others = self._moving.one_by_one(order)
        self._stuck |= {name: _obstacles(stuck) for name, stuck in others.items()}
        while chosen and self._try(chosen, every_order=False) is not True:
            chosen.pop()

    def _weight(self, name: str) -> float:
        """How much of all that is free the pods of a node need; the largest share counts."""
        free = self.sums.free.values()
        shares = [
            amount / max(1, sum(each[resource] for each in free))
            for resource, amount in self.sums.moved[name].items()
        ]
        return max(shares) + 1e-9 * len(self._pods_of[name].moved)

    def _try(self, nodes: Sequence[str], *, every_order: bool = True) -> bool | None:
        """Whether these can be removed, which is kept if it is better; None if there are too many orders."""
        if not self.sums.can_hold(nodes):
            return False
        try:
            found = self._moving.any_plan(nodes) if every_order else self._moving.first_plan(nodes)
        except Unknown:
            return None
        if isinstance(found, Plan):
            found = carried_out(self._world.given, found)
        if isinstance(found, Stuck):
            return False
        if self.worth(found.nodes) > self.worth(self.best.nodes):
            self.best = found
            self._tell()
        return True

    def _tell(self) -> None:
        self._effort.tell(f"{len(self.best.nodes)} can be removed, at most {self.at_most:g}")

    # The most

    def _all_sets(self) -> None:
        """Tries all sets that are worth more, the best first; what cannot be told keeps the bound up."""
        unknown: float | None = None
        for nodes in self._by_worth():
            worth = self.worth(nodes)
            if worth <= self.worth(self.best.nodes):
                break
            self.at_most = min(self.at_most, worth) if unknown is None else unknown
            if self._effort.is_over:
                return
            answer = self._try(nodes)
            if answer is None and unknown is None:
                unknown = worth
            if answer:
                break
        self.at_most = self.worth(self.best.nodes) if unknown is None else unknown

    def _by_worth(self) -> Iterator[tuple[str, ...]]:
        names = list(self._prices)
        sets = [each for size in range(len(names) + 1) for each in combinations(names, size)]
        sets.sort(key=lambda nodes: -self.worth(nodes))
        return iter(sets)

    def _proposed(self, solver: Solver) -> None:
        unknown: float | None = None
        while not self._is_done and not self._effort.is_over:
            nodes, bound = solver.propose()
            if unknown is None:
                self.at_most = max(min(self.at_most, self._whole(bound)), self.worth(self.best.nodes))
            self._tell()
            if nodes is None or self.worth(nodes) <= self.worth(self.best.nodes):
                return
            if self._try(nodes) is None and unknown is None:
                unknown = self.at_most

    def _one_more(self) -> None:
        """Adds what nobody has tried in addition to the best, where it is not known to be the most."""
        for name in self._prices:
            if self._is_done or self._effort.is_over:
                return
            if name not in self.best.nodes and name not in self._stuck:
                self._try([*self.best.nodes, name], every_order=False)

    def _why_kept(self, name: str) -> list[Obstacle]:
        if name not in self._prices:
            return self._pods_of[name].obstacles
        if name not in self._stuck and not self._effort.is_over:
            found = self._moving.first_plan([*self.best.nodes, name])
            if isinstance(found, Stuck):
                self._stuck[name] = _obstacles(found)
        return self._stuck.get(name, [_UNTRIED])


def _obstacles(stuck: Stuck) -> list[Obstacle]:
    return [Obstacle(pod, why) for pod, why in stuck.reasons.items()]
