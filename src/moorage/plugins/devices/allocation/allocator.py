"""Which devices the claims of a pod would get on a node."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Sequence

from moorage.api.devices import ResourceClaim
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.pools import NodePools
from moorage.plugins.devices.allocation.requests import Classes, Preparation, Prepared, asks_for_all
from moorage.plugins.devices.allocation.results import Plan, plans
from moorage.plugins.devices.allocation.search import Search
from moorage.plugins.devices.allocation.selecting import Selectors
from moorage.plugins.devices.allocation.signatures import (
    Interest,
    interest_of,
    static_signature,
    usage_signature,
)
from moorage.plugins.devices.allocation.slice_index import SliceIndex

_MOST_SIGNATURES = 16
"""For so many kinds of claims a node remembers what it looks like."""


def _new_share_id() -> str:
    return str(uuid.uuid4())


class InCommon:
    """What is worked out once for all claims that ask for the same, as long as no class changes."""

    def __init__(self) -> None:
        self.prepared: Prepared | None = None
        """Made for the first of them, whose names stand in its errors; None if it depends on the node."""
        self.interest: Interest | None = None
        self.knows_interest = False


class Allocator:
    """Plans for the claims of one pod, which have no allocation yet, on any number of nodes.

    Everything is read as it is when a node is asked about. Nothing is changed.
    """

    def __init__(
        self,
        in_use: DevicesInUse,
        slices: SliceIndex,
        classes: Classes,
        selectors: Selectors,
        claims: Sequence[ResourceClaim],
        *,
        seconds: float,
        in_common: InCommon | None = None,
        clock: Callable[[], float] = time.monotonic,
        new_share_id: Callable[[], str] = _new_share_id,
    ) -> None:
        self._in_use = in_use
        self._slices = slices
        self._classes = classes
        self._selectors = selectors
        self._claims = claims
        self._seconds = seconds
        self._clock = clock
        self._new_share_id = new_share_id
        self._in_common = in_common or InCommon()
        borrowed = self._in_common.prepared
        self._borrowed = None if borrowed is None else borrowed._replace(claims=tuple(claims))
        self._depends_on_node = borrowed is None and asks_for_all(claims)
        self._prepared: Prepared | None = None
        self._problem = ""

    def allocate(self, node: Node) -> list[Plan] | None:
        """A plan for each claim, or None if the node does not have what they need.

        Raises AllocationFailed, InvalidPools and TimedOut. With 0 seconds there is no limit.
        """
        is_late = None
        if self._seconds > 0:
            clock, deadline = self._clock, self._clock() + self._seconds
            is_late = lambda: clock() >= deadline  # noqa: E731
        pools = self._slices.pools_of(node)
        if self._borrowed is not None:
            try:
                return self._allocate(node, pools, self._borrowed, is_late)
            except AllocationFailed:
                self._borrowed = None  # its text names others
        return self._allocate(node, pools, self._prepare(pools), is_late)

    def _allocate(
        self, node: Node, pools: NodePools, prepared: Prepared, is_late: Callable[[], bool] | None
    ) -> list[Plan] | None:
        picks = Search(prepared, pools, self._in_use, self._selectors, is_late).find()
        if picks is not None:
            return plans(prepared, picks, node.name, self._new_share_id)
        if pools.any_invalid:
            raise InvalidPools
        return None

    def node_signature(self, node: Node) -> Hashable | None:
        """Nodes with equal signatures get the same answer, but for the names of nodes and pools.

        That is: plans with devices in the same places and of the same alternatives, or none, or InvalidPools.
        AllocationFailed is not shared, as its text may name a pool of the node that was asked; nor is
        TimedOut. It holds until slices, claims or classes change. None: nothing can be said about this node.
        """
        known = self._in_common
        if not known.knows_interest:
            known.interest = interest_of(self._claims, self._classes)
            known.knows_interest = True
        interest = known.interest
        if interest is None:
            return None
        try:
            pools = self._slices.pools_of(node)
        except AllocationFailed:
            return None
        number = pools.signatures.get(interest)
        if number is None:
            number = self._slices.number_of(static_signature(pools, interest, self._selectors))
            if len(pools.signatures) >= _MOST_SIGNATURES:
                pools.signatures.clear()
            pools.signatures[interest] = number
        return number, usage_signature(pools, self._in_use)

    def _prepare(self, pools: NodePools) -> Prepared:
        if self._depends_on_node:
            return self._preparation(pools).prepare(self._claims)
        if self._problem:
            raise AllocationFailed(self._problem)
        if self._prepared is None:
            try:
                self._prepared = self._in_common.prepared = self._preparation(None).prepare(self._claims)
            except AllocationFailed as error:
                self._problem = str(error)
                raise
        return self._prepared

    def _preparation(self, pools: NodePools | None) -> Preparation:
        return Preparation(self._classes, self._selectors, self._in_use, pools)
