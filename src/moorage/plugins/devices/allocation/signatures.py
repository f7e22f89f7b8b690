"""When two nodes get the same answer.

The search sees of a node its list of candidates: of each, whether it is in use, what the selectors say
about it, its capacities, taints and counters, and the attributes that constraints name; and their pools, in
order. It sees no names. Pools are put in order by their names, but then only places count, and selectors
cannot ask for the names of nodes, pools and devices. So if two nodes have the same in every place, the
search takes the same way on both and ends with the devices in the same places, whatever the pools are
called. Names come back only in the plan that is made of the solution, and in errors.

A signature describes all of that. It holds until slices, claims or classes change.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from moorage.api.devices import ResourceClaim
from moorage.plugins.devices.allocation.candidates import Candidate, value_of
from moorage.plugins.devices.allocation.counters import available
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.pools import NodePools
from moorage.plugins.devices.allocation.requests import Classes, asked_of
from moorage.plugins.devices.allocation.selecting import Asked, Selection, Selectors, is_selected


class Interest(NamedTuple):
    """What of a device claims look at."""

    selections: tuple[Selection, ...]
    attributes: tuple[str, ...]
    in_capacity: bool


def interest_of(claims: Sequence[ResourceClaim], classes: Classes) -> Interest | None:
    """None if the claims cannot be allocated anyway, as a class is missing or a selector unknown."""
    selections: dict[Selection, None] = {}
    attributes: dict[str, None] = {}
    in_capacity = False
    for claim in claims:
        for each in claim.spec.devices.constraints:
            attributes[each.match_attribute or each.distinct_attribute or ""] = None
        for request in claim.spec.devices.requests:
            for asked in asked_of(request):
                device_class = classes(asked.device_class_name)
                if device_class is None:
                    return None
                selectors = (*device_class.spec.selectors, *asked.selectors)
                if any(selector.cel is None for selector in selectors):
                    return None
                selection = tuple(
                    Asked(selector.cel.expression, "") for selector in selectors if selector.cel
                )
                selections[selection] = None
                in_capacity = in_capacity or asked.capacity is not None
    return Interest(tuple(selections), tuple(attributes), in_capacity)


def static_signature(pools: NodePools, interest: Interest, selectors: Selectors) -> Hashable:
    """What does not change with the devices in use."""
    return tuple(
        (pool.state, tuple(_describe(pools, each, interest, selectors) for each in pool.candidates))
        for pool in pools.pools
    )


def usage_signature(pools: NodePools, in_use: DevicesInUse) -> Hashable:
    """What does."""
    newest = max(map(in_use.pool_revision, pools.by_id), default=0)
    kept = pools.known_usage
    if kept is not None and kept[0] is in_use and kept[1] == newest:
        return kept[2]
    exclusive = 0
    consumed = []
    for place, candidate in enumerate(pools.candidates):
        if candidate.id in in_use.exclusive:
            exclusive |= 1 << place
        if candidate.id in in_use.consumed:
            consumed.append((place, frozenset(in_use.consumed[candidate.id].items())))
    left = tuple(frozenset(available(pool, in_use).items()) for pool in pools.pools if pool.counters)
    usage = (exclusive, tuple(consumed), left)
    pools.known_usage = (in_use, newest, usage)
    return usage


def _describe(pools: NodePools, candidate: Candidate, interest: Interest, selectors: Selectors) -> Hashable:
    looks_at_capacity = interest.in_capacity or candidate.shared or candidate.has_policies
    attributes = (candidate.attribute(name) for name in interest.attributes)
    selector = candidate.node_selector
    return (
        tuple(_verdict(pools, candidate, each, selectors) for each in interest.selections),
        tuple(None if each is None else (value_of(each),) for each in attributes),
        candidate.shared,
        frozenset(candidate.capacities) if looks_at_capacity else None,
        candidate.taints,
        candidate.consumes,
        candidate.is_tied,
        selector is not None and len(selector.node_selector_terms) > 1,
    )


def _verdict(
    pools: NodePools, candidate: Candidate, selection: Selection, selectors: Selectors
) -> bool | str:
    try:
        if not is_selected(selectors, selection, candidate):
            return False
        return not candidate.per_device or pools.reach(candidate)
    except AllocationFailed as error:
        return str(error)
