"""All slices of a cluster, and from them the pools of a node, without a walk over the slices of other nodes.

A node is concerned by the slices that name it, by those that name no node and match it, and by what else is
in their pools. Slices with shared counters concern every node, wherever their devices are; but on nodes
without a device of such a pool it matters only if the pool is incomplete or invalid, which is the same for
all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeVar

from moorage.api.devices import Device, ResourceSlice
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation.candidates import PoolId
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.places import is_for
from moorage.plugins.devices.allocation.pools import KnownSlice, NodePools, Pool, State, pool_of

Key = TypeVar("Key", PoolId, str)

_MOST_KEPT = 20000
"""Of so many nodes the pools are kept at most."""
_LONGEST_HISTORY = 256
"""A node that has missed more changes of slices without a node is worked out anew."""


class _Kept(NamedTuple):
    """The pools of a node, and what they were made of."""

    node: Node
    pools: NodePools
    home_revision: int
    pool_revisions: tuple[tuple[PoolId, int], ...]
    troubled_revision: int


class SliceIndex:
    def __init__(self) -> None:
        self.revision = 0
        """Grows with every change."""
        self._slices: dict[str, KnownSlice] = {}
        self._by_pool: dict[PoolId, dict[str, KnownSlice]] = {}
        self._by_home: dict[str, dict[str, KnownSlice]] = {}
        """Slices with devices that name their node, by node."""
        self._homeless: dict[str, KnownSlice] = {}
        """Slices with devices that name none."""
        self._pool_revisions: dict[PoolId, int] = {}
        self._home_revisions: dict[str, int] = {}
        self._troubled: dict[PoolId, Pool] = {}
        """Pools with counters that are incomplete or invalid for nodes that have no device of them."""
        self._troubled_revision = 0
        self._history: list[KnownSlice] = []
        """Homeless slices that came or went, the last ones."""
        self._history_start = 0
        self._kept: dict[str, _Kept] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        """For each node of `_kept` the revision, and the place in the history, up to which it still holds."""
        self._numbers: dict[Hashable, int] = {}
        self._last_number = 0

    def put(self, item: ResourceSlice) -> None:
        """A slice that is new, or has changed."""
        self._take_out(item.name)
        known = self._slices[item.name] = KnownSlice(item)
        self._by_pool.setdefault(known.pool, {})[known.name] = known
        if not known.counters:
            if known.home:
                self._by_home.setdefault(known.home, {})[known.name] = known
            else:
                self._homeless[known.name] = known
        self._changed(known)

    def remove(self, name: str) -> None:
        """A slice that is gone."""
        self._take_out(name)

    def pools_of(self, node: Node) -> NodePools:
        """What a node has; the same object until something of it changes. Raises AllocationFailed."""
        name = node.name
        kept = self._kept.get(name)
        if kept is not None:
            revision, seen = self._seen[name]
            if kept.node is node or kept.node.labels == node.labels:
                if revision == self.revision:
                    return kept.pools
                if self._still_holds(kept, seen, node):
                    self._seen[name] = (self.revision, self._history_end)
                    return kept.pools
        kept = self._gather(node)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
            self._seen.clear()
        self._kept[name] = kept
        self._seen[name] = (self.revision, self._history_end)
        return kept.pools

    def homes_of(self, pool: PoolId) -> set[str] | None:
        """The nodes that devices of a pool name; None if some can be used on nodes that they do not name."""
        with_devices = [known for known in self._by_pool.get(pool, {}).values() if not known.counters]
        return {known.home for known in with_devices} if all(known.home for known in with_devices) else None

    def devices_for(self, node: Node) -> Iterator[tuple[str, str, Device]]:
        """Driver, pool and device of all slices that match a node, whatever their generation or state."""
        for known in (*self._by_home.get(node.name, {}).values(), *self._homeless.values()):
            spec = known.spec
            by_device = spec.per_device_node_selection
            if not by_device and spec.node_selector is not None and not known.is_relevant(node):
                continue
            for device in spec.devices:
                place = device.node_name, device.all_nodes, device.node_selector
                if not by_device or is_for(node, *place):
                    yield spec.driver, spec.pool.name, device

    def number_of(self, description: Hashable) -> int:
        """Equal descriptions of nodes get equal numbers, which are quicker to compare."""
        number = self._numbers.get(description)
        if number is None:
            if len(self._numbers) >= _MOST_KEPT:
                self._numbers.clear()
            self._last_number += 1
            number = self._numbers[description] = self._last_number
        return number

    @property
    def _history_end(self) -> int:
        return self._history_start + len(self._history)

    def _still_holds(self, kept: _Kept, seen: int, node: Node) -> bool:
        if (
            kept.home_revision != self._home_revisions.get(node.name, 0)
            or kept.troubled_revision != self._troubled_revision
            or any(self._pool_revisions.get(pool, 0) != revision for pool, revision in kept.pool_revisions)
            or seen < self._history_start
        ):
            return False
        return not any(_may_concern(node, known) for known in self._history[seen - self._history_start :])

    def _gather(self, node: Node) -> _Kept:
        relevant: dict[PoolId, list[KnownSlice]] = {}
        for known in self._by_home.get(node.name, {}).values():
            relevant.setdefault(known.pool, []).append(known)
        for known in self._homeless.values():
            if known.is_relevant(node):
                relevant.setdefault(known.pool, []).append(known)
        pools = [pool for key, pool in self._troubled.items() if key not in relevant]
        for key, slices in relevant.items():
            whole = self._by_pool[key].values()
            pool = pool_of([*slices, *(each for each in whole if each.counters)], whole)
            if pool is not None:
                pools.append(pool)
        return _Kept(
            node,
            NodePools(node, pools),
            self._home_revisions.get(node.name, 0),
            tuple((key, self._pool_revisions.get(key, 0)) for key in relevant),
            self._troubled_revision,
        )

    def _take_out(self, name: str) -> None:
        known = self._slices.pop(name, None)
        if known is None:
            return
        _drop(self._by_pool, known.pool, name)
        if known.home and not known.counters:
            _drop(self._by_home, known.home, name)
        self._homeless.pop(name, None)
        self._changed(known)

    def _changed(self, known: KnownSlice) -> None:
        self.revision += 1
        _note(self._pool_revisions, known.pool, self.revision, known.pool in self._by_pool)
        if not known.counters:
            if known.home:
                _note(self._home_revisions, known.home, self.revision, known.home in self._by_home)
            else:
                self._history.append(known)
                if len(self._history) > _LONGEST_HISTORY:
                    kept = _LONGEST_HISTORY // 2
                    self._history_start += len(self._history) - kept
                    del self._history[:-kept]
        self._look_for_trouble(known.pool)

    def _look_for_trouble(self, key: PoolId) -> None:
        whole = self._by_pool.get(key, {}).values()
        of_counters = [known for known in whole if known.counters]
        pool = pool_of(of_counters, whole) if of_counters else None
        if pool is not None and pool.state is not State.USABLE:
            self._troubled[key] = pool
        elif self._troubled.pop(key, None) is None:
            return
        self._troubled_revision = self.revision


def _may_concern(node: Node, known: KnownSlice) -> bool:
    try:
        return known.is_relevant(node)
    except AllocationFailed:
        return True


def _drop(index: dict[Key, dict[str, KnownSlice]], key: Key, name: str) -> None:
    slices = index[key]
    del slices[name]
    if not slices:
        del index[key]


def _note(revisions: dict[Key, int], key: Key, revision: int, exists: bool) -> None:
    """What has no slices any more needs no revision: 0 differs from all that were noted before."""
    if exists:
        revisions[key] = revision
    else:
        revisions.pop(key, None)
