"""Counters that devices of a pool share: what is left of them, and what a search takes."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.plugins.devices.allocation.candidates import Candidate, CounterKey, PoolId
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.pools import NodePools, Pool


def available(pool: Pool, in_use: DevicesInUse) -> Mapping[CounterKey, int]:
    """What allocated devices leave, also those for other nodes; less than nothing if they are too many.

    A device counts once, however many share it.
    """
    revision = in_use.pool_revision(pool.id)
    known = pool.known_available
    if known is not None and known[0] is in_use and known[1] == revision:
        return known[2]
    left = dict(pool.counters)
    for candidate in (*pool.candidates, *pool.others):
        if candidate.consumes and in_use.is_allocated(candidate.id):
            for counter, amount in candidate.consumes:
                left[counter] -= amount
    pool.known_available = (in_use, revision, left)
    return left


class Counters:
    """The counters of all pools of a node during one search."""

    def __init__(self, pools: NodePools, in_use: DevicesInUse) -> None:
        self._pools = pools
        self._in_use = in_use
        self._left: dict[PoolId, dict[CounterKey, int]] = {}
        self._overdrawn: set[PoolId] = set()

    def left(self, pool: PoolId) -> Mapping[CounterKey, int]:
        """What the search has not taken yet."""
        return self._of(pool)

    def fits(self, candidate: Candidate) -> bool:
        """Whether its pool has what a device consumes; in a pool with an overdrawn counter nothing fits."""
        left = self._of(candidate.pool)
        return candidate.pool not in self._overdrawn and all(
            amount <= left[counter] for counter, amount in candidate.consumes
        )

    def take(self, candidate: Candidate) -> None:
        left = self._of(candidate.pool)
        for counter, amount in candidate.consumes:
            left[counter] -= amount

    def give_back(self, candidate: Candidate) -> None:
        left = self._of(candidate.pool)
        for counter, amount in candidate.consumes:
            left[counter] += amount

    def _of(self, pool: PoolId) -> dict[CounterKey, int]:
        found = self._left.get(pool)
        if found is None:
            found = self._left[pool] = dict(available(self._pools.by_id[pool], self._in_use))
            if min(found.values()) < 0:
                self._overdrawn.add(pool)
        return found
