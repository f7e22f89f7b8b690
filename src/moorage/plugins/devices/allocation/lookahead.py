"""Whether the requests that are still open can be met at all, by counting.

Every answer errs on the side of hope. A device is known by its place in the node's list of candidates, and
a set of devices is a number with a bit for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from moorage.api.taints import untolerated
from moorage.plugins.devices.allocation.candidates import Candidate, CounterKey, PoolId
from moorage.plugins.devices.allocation.pools import NodePools
from moorage.plugins.devices.allocation.requests import Alternative, Request
from moorage.plugins.devices.allocation.selecting import is_ruled_out
from moorage.plugins.devices.allocation.tentative import Tentative

_LONGEST_PAUSE = 1024
_MOST_COMBINED = 6
"""Of so many different sets of devices all unions are looked at; of more, each set and the union of all."""


class _Need(NamedTuple):
    """So many of these devices."""

    number: int
    devices: int


class Lookahead:
    def __init__(self, requests: Sequence[Request], pools: NodePools, tentative: Tentative) -> None:
        self._requests = requests
        self._pools = pools
        self._candidates = pools.candidates
        self._tentative = tentative
        self._place = {candidate: place for place, candidate in enumerate(pools.candidates)}
        self._shared = sum(1 << place for candidate, place in self._place.items() if candidate.shared)
        self._pause = 1

    def pause(self) -> int:
        """Steps until it is worth another look: the more, the less came of it."""
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return self._pause

    def is_hopeless(self, number: int, alternative: Alternative, count: int, start: int) -> bool:
        """Whether one way to meet a request cannot have `count` more devices from `start` on in the list, or
        the requests after it cannot be met then.
        """
        hopeless = self._look(number, alternative, count, start)
        if hopeless:
            self._pause = 1
        return hopeless

    def _look(self, number: int, alternative: Alternative, count: int, start: int) -> bool:
        known: dict[tuple[object, ...], int] = {}
        need = self._need(alternative, count, start, known)
        if need is None:
            return True
        needs = [] if alternative.admin else [need]
        for request in self._requests[number + 1 :]:
            open_ways = [self._need(each, each.needed, 0, known) for each in request.alternatives]
            ways = [way for way in open_ways if way is not None]
            if not ways:
                return True
            if not request.alternatives[0].admin:
                devices = 0
                for way in ways:
                    devices |= way.devices
                needs.append(_Need(min(way.number for way in ways), devices))
        return self._are_too_few(needs)

    def _need(
        self, alternative: Alternative, count: int, start: int, known: dict[tuple[object, ...], int]
    ) -> _Need | None:
        """What an alternative needs, or None if it cannot have it even if nothing else is taken."""
        if alternative.offers is not None:
            # These devices and no others, of which those that were picked already are not open any more.
            offers = alternative.offers[len(alternative.offers) - count :]
            if not offers or not all(self._is_possible(alternative, each) for each in offers):
                return None
            return _Need(count, sum(1 << self._place[each] for each in offers))
        likeness = (
            tuple(asked.expression for asked in alternative.selection),
            alternative.tolerations,
            tuple(alternative.capacity.items()),
            (alternative.claim, alternative.constraints) if alternative.constraints else None,
            alternative.claim if alternative.admin else None,
        )
        devices = known.get(likeness)
        if devices is None:
            devices = 0
            for place, candidate in enumerate(self._candidates):
                if not is_ruled_out(alternative.selection, candidate):
                    devices |= self._is_possible(alternative, candidate) << place
            known[likeness] = devices
        devices = devices >> start << start
        return None if self._most(devices) < count else _Need(count, devices)

    def _is_possible(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Whether a device could be picked next, as far as that can be said without asking selectors."""
        tentative = self._tentative
        return (
            not self._pools.is_elsewhere(candidate)
            and tentative.is_free(alternative, candidate)
            and tentative.has_room(alternative, candidate)
            and tentative.has_counters(candidate)
            and untolerated(candidate.taints, alternative.tolerations) is None
            and tentative.matches(alternative, candidate)
        )

    def _are_too_few(self, needs: list[_Need]) -> bool:
        """Whether some requests together need more devices than there are for all of them.

        A shared device can be had by each request once, so each is taken to have all that it can.
        """
        by_devices: defaultdict[int, int] = defaultdict(int)
        for count, devices in needs:
            exclusive = devices & ~self._shared
            by_devices[exclusive] += max(0, count - (devices & self._shared).bit_count())
        return any(
            sum(count for devices, count in by_devices.items() if not devices & ~union) > self._most(union)
            for union in _unions(list(by_devices))
        )

    def _most(self, devices: int) -> int:
        """How many of these devices can be had together at most, by the counters they consume."""
        most = 0
        groups: defaultdict[tuple[PoolId, str], list[Candidate]] = defaultdict(list)
        while devices:
            place = devices.bit_length() - 1
            devices ^= 1 << place
            candidate = self._candidates[place]
            if candidate.consumes and not candidate.shared:
                groups[candidate.pool, candidate.consumes[0][0][0]].append(candidate)
            else:
                most += 1
        return most + sum(self._most_of(pool, group) for (pool, _), group in groups.items())

    def _most_of(self, pool: PoolId, group: list[Candidate]) -> int:
        left = self._tentative.counters.left(pool)
        amounts: defaultdict[CounterKey, list[int]] = defaultdict(list)
        for candidate in group:
            for counter, amount in candidate.consumes:
                amounts[counter].append(amount)
        return min(
            len(group) - len(consumed) + _how_many(sorted(consumed), left[counter])
            for counter, consumed in amounts.items()
        )


def _how_many(amounts: list[int], left: int) -> int:
    """How many of the amounts, smallest first, fit into what is left."""
    for number, amount in enumerate(amounts):
        left -= amount
        if left < 0:
            return number
    return len(amounts)


def _unions(sets: list[int]) -> Iterator[int]:
    sizes = range(1, len(sets) + 1) if len(sets) <= _MOST_COMBINED else (1,)
    for group in chain.from_iterable(combinations(sets, size) for size in sizes):
        union = 0
        for each in group:
            union |= each
        yield union
    if len(sets) > _MOST_COMBINED:
        union = 0
        for each in sets:
            union |= each
        yield union
