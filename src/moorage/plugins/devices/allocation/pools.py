"""Pools: the slices of a driver that belong together, as one node sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from enum import Enum

from moorage.api.devices import ResourceSlice
from moorage.api.nodes import Node
from moorage.api.quantities import parse
from moorage.plugins.devices.allocation.candidates import Candidate, CounterKey, PoolId
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.places import UnreadableSelector, is_for


class KnownSlice:
    """A slice with its devices read."""

    __slots__ = ("_device_nodes", "candidates", "count", "counters", "generation", "name", "pool", "spec")

    def __init__(self, item: ResourceSlice) -> None:
        spec = self.spec = item.spec
        self.name = item.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.count = spec.pool.resource_slice_count
        self.counters = spec.shared_counters
        self.candidates = tuple(Candidate(spec, device) for device in spec.devices)
        self._device_nodes: frozenset[str] | None = None
        if not any(device.node_selector or device.all_nodes for device in spec.devices):
            self._device_nodes = frozenset(device.node_name for device in spec.devices if device.node_name)

    @property
    def home(self) -> str:
        """The one node that this slice is for, or "" if it says it otherwise."""
        return self.spec.node_name or ""

    def is_relevant(self, node: Node) -> bool:
        """Whether the node can use some of its devices; raises AllocationFailed."""
        spec = self.spec
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            try:
                return is_for(node, spec.node_name, spec.all_nodes, spec.node_selector)
            except UnreadableSelector as error:
                raise AllocationFailed(
                    "gather pool information: "
                    f"failed to perform node selection for slice {self.name}: {error}"
                ) from None
        if not spec.per_device_node_selection:
            return False
        if self._device_nodes is not None:
            return node.name in self._device_nodes
        for device in spec.devices:
            try:
                if is_for(node, device.node_name, device.all_nodes, device.node_selector):
                    return True
            except UnreadableSelector as error:
                raise AllocationFailed(
                    "gather pool information: failed to perform node selection for "
                    f"device {device.name} in slice {self.name}: {error}"
                ) from None
        return False


class State(Enum):
    USABLE = 0
    INCOMPLETE = 1
    """Its driver is still publishing it."""
    INVALID = 2
    """It was published with mistakes."""


class Pool:
    """A pool as one node sees it: the devices it has for the node, and all that draw on its counters."""

    __slots__ = ("candidates", "counters", "id", "known_available", "others", "state")

    def __init__(
        self,
        id: PoolId,
        state: State,
        candidates: tuple[Candidate, ...] = (),
        others: tuple[Candidate, ...] = (),
        counters: dict[CounterKey, int] | None = None,
    ) -> None:
        self.id = id
        self.state = state
        self.candidates = candidates
        """In the order in which they are tried."""
        self.others = others
        """Devices for other nodes that consume counters."""
        self.counters = counters or {}
        self.known_available: tuple[object, int, dict[CounterKey, int]] | None = None
        """For :mod:`counters`, which keeps there what it has worked out."""

    @property
    def name(self) -> str:
        return "/".join(self.id)

    @property
    def comes_late(self) -> bool:
        """Devices that have to be waited for are tried after all others, and so is the rest of their pool."""
        return any(candidate.device.binding_conditions for candidate in self.candidates)


class NodePools:
    """All pools that matter on one node, in the order in which they are tried."""

    def __init__(self, node: Node, pools: Iterable[Pool]) -> None:
        self.pools = sorted(pools, key=lambda pool: (pool.comes_late, pool.id))
        self.by_id = {pool.id: pool for pool in self.pools}
        self.any_invalid = any(pool.state is State.INVALID for pool in self.pools)
        self.candidates = [candidate for pool in self.pools for candidate in pool.candidates]
        self._elsewhere: dict[Candidate, str] = {}
        for candidate in self.candidates:
            if candidate.per_device:
                self._place(node, candidate)
        self.signatures: dict[object, int] = {}
        self.known_usage: tuple[object, int, Hashable] | None = None
        """Both for :mod:`signatures`, which keeps there what it has worked out."""

    def is_elsewhere(self, candidate: Candidate) -> bool:
        """Whether a device is known not to be for this node."""
        return self._elsewhere.get(candidate) == ""

    def reach(self, candidate: Candidate) -> bool:
        """Whether a device that says itself where it can be used can be on this node."""
        problem = self._elsewhere.get(candidate)
        if problem:
            raise AllocationFailed(problem)
        return problem is None

    def _place(self, node: Node, candidate: Candidate) -> None:
        device = candidate.device
        try:
            if not is_for(node, device.node_name, device.all_nodes, device.node_selector):
                self._elsewhere[candidate] = ""
        except UnreadableSelector as error:
            self._elsewhere[candidate] = str(error)


def pool_of(relevant: list[KnownSlice], whole: Iterable[KnownSlice]) -> Pool | None:
    """The pool that the relevant slices make; None if the rest of its slices says that they are outdated.

    The rest is looked at only where slices of the newest relevant generation are missing, so a pool that is
    complete as seen from here is used although a newer generation is being published for other nodes.
    """
    generation = max(each.generation for each in relevant)
    slices = sorted((each for each in relevant if each.generation == generation), key=lambda each: each.name)
    counts = {each.count for each in slices}
    others: list[KnownSlice] = []
    if counts != {len(slices)}:
        newest = [each for each in whole if each.generation >= generation]
        if any(each.generation > generation for each in newest):
            return None
        # Slices that do not agree on their number are not finished, whichever of them is right.
        if counts != {len(newest)}:
            return Pool(slices[0].pool, State.INCOMPLETE)
        here = {each.name for each in slices}
        others = [each for each in newest if each.name not in here]
    return _complete(slices[0].pool, slices, others)


def _complete(id: PoolId, slices: list[KnownSlice], others: list[KnownSlice]) -> Pool:
    of_devices = [each for each in slices if not each.counters]
    names = Counter(candidate.id for each in of_devices for candidate in each.candidates)
    sets = [counter_set for each in slices for counter_set in each.counters]
    counters = {
        (counter_set.name, name): parse(counter.value)
        for counter_set in sets
        for name, counter in counter_set.counters.items()
    }
    known_sets = {counter_set.name for counter_set in sets}
    if (
        any(number > 1 for number in names.values())
        or len(known_sets) < len(sets)
        or not all(_draws_on(each, known_sets, counters) for each in (*slices, *others))
    ):
        return Pool(id, State.INVALID)
    return Pool(
        id,
        State.USABLE,
        candidates=tuple(candidate for each in of_devices for candidate in each.candidates),
        others=tuple(candidate for each in others for candidate in each.candidates if candidate.consumes),
        counters=counters,
    )


def _draws_on(item: KnownSlice, sets: set[str], counters: dict[CounterKey, int]) -> bool:
    """Whether its devices consume counters that exist, and no others."""
    return all(
        drawn.counter_set in sets and all((drawn.counter_set, name) in counters for name in drawn.counters)
        for device in item.spec.devices
        for drawn in device.consumes_counters
    )
