"""How many more of a pod fit, and what stops the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from moorage.api.pods import Pod
from moorage.what_if.capacity import room_bounds
from moorage.what_if.capacity.copies import copy_of
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.placements import Placements, Unknown
from moorage.what_if.capacity.world import Given, World

_AT_ONCE = 64
_SEARCH_BELOW = 200


@dataclass
class Room:
    """So many more of a pod the scheduler would place, and how many could be placed at most."""

    pod: Pod
    """The first of them that fits nowhere; without a limit there always is one."""
    where: dict[str, int]
    """How many go to each node."""
    is_limited: bool
    """Whether more may fit, and nobody asked for them."""
    at_most: int
    """No placement has more."""
    is_exact: bool
    """Whether there is one that has as many as that."""
    failed_plugins: dict[str, int]
    why: str = ""
    """What the scheduler said of the one that fits nowhere, as it tried it together with others."""

    @property
    def fits(self) -> int:
        return sum(self.where.values())


def room_for(
    world: World,
    pod: Pod,
    *,
    most: int,
    effort: Effort,
    progress: Callable[[int], None] = lambda placed: None,
) -> Room:
    """Places further pods like this one, at most so many, until one fits nowhere, and leaves them there.

    The scheduler is as it is: a single pod at a time, on the node that scores best.
    """
    where: dict[str, int] = {}
    placed = 0
    why = ""
    failed: dict[str, int] = {}
    bound = room_bounds.at_most(world, pod)
    numbers = count(1)
    while placed < most and not effort.is_over:
        batch = [copy_of(pod, next(numbers)) for _ in range(min(_AT_ONCE, most - placed))]
        result = world.schedule(batch)
        failed = result.failed_plugins
        for node in result.placed.values():
            where[node] = where.get(node, 0) + 1
        placed += len(result.placed)
        progress(placed)
        if result.pending:
            why = next(iter(result.pending.values()))
            for each in batch:
                if each.key in result.pending:
                    world.remove(each)
            break
    else:
        return Room(copy_of(pod, next(numbers)), where, True, max(bound, placed), False, failed)
    stopped = copy_of(pod, next(numbers))
    if placed == 0:
        return Room(stopped, where, False, 0, True, failed, why)  # where no first one fits, none does
    if bound <= placed:
        return Room(stopped, where, False, placed, True, failed, why)
    found = _best_packing(world.given, pod, placed, bound, effort) if bound <= _SEARCH_BELOW else None
    return Room(stopped, where, False, bound if found is None else found, found is not None, failed, why)


def _best_packing(given: Given, pod: Pod, placed: int, bound: int, effort: Effort) -> int | None:
    """The most that fit in any way; None if there are too many ways."""
    with World(given) as world:
        pods = [copy_of(pod, number) for number in range(1, bound + 1)]
        try:
            return Placements(world, pods, effort).most(bound, better_than=placed)
        except Unknown:
            return None
