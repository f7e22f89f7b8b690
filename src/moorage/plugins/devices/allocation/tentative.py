"""What a search has taken so far, and how it is taken back."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.taints import untolerated
from moorage.plugins.devices.allocation.candidates import Candidate, DeviceId
from moorage.plugins.devices.allocation.capacity import Consumption, consumption, fits
from moorage.plugins.devices.allocation.constraints import DistinctAttribute, MatchAttribute, constraint
from moorage.plugins.devices.allocation.counters import Counters
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.pools import NodePools
from moorage.plugins.devices.allocation.requests import Alternative, Prepared


class Pick(NamedTuple):
    """A device for a request, and what has to be taken back with it."""

    alternative: Alternative
    candidate: Candidate
    consumption: Consumption | None
    """Of a shared device."""
    has_counters: bool
    opened_share: bool
    """Whether it is the search's first share of the device."""


class Tentative:
    def __init__(self, prepared: Prepared, pools: NodePools, in_use: DevicesInUse) -> None:
        self._prepared = prepared
        self._in_use = in_use
        self.counters = Counters(pools, in_use)
        self._taken: dict[DeviceId, int] = {}
        """Devices that are not shared, and by which claims they are taken: one bit for each."""
        self._shares: dict[DeviceId, dict[str, int]] = {}
        """What is taken of shared devices. That there is an entry says that the search has a share of it."""
        self._constraints = [_constraints(prepared, number) for number in range(len(prepared.claims))]
        self.picks: list[list[Pick]] = [[] for _ in prepared.claims]
        """By claim, in the order in which they were picked."""
        self._consumptions: dict[tuple[int, DeviceId], Consumption | None] = {}

    def is_free(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Whether a device is not somebody else's alone. An administrator minds only its own claim."""
        taken = self._taken.get(candidate.id)
        if alternative.admin:
            return not taken or not taken >> alternative.claim & 1
        return not taken and candidate.id not in self._in_use.exclusive

    def has_room(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Whether the capacities of a device suffice."""
        capacities = candidate.capacities
        if not capacities:
            return not alternative.capacity
        consumed = self._in_use.consumed.get(candidate.id)
        if not (consumed or candidate.shared or candidate.has_policies or alternative.capacity):
            return True
        amounts = self._consumption(alternative, candidate)
        return amounts is not None and fits(amounts, capacities, consumed, self._shares.get(candidate.id))

    def has_counters(self, candidate: Candidate) -> bool:
        """Whether the counters of its pool suffice for a device; who shares one needs none of its own."""
        return not candidate.consumes or self._is_shared(candidate) or self.counters.fits(candidate)

    def matches(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Whether a device has the value that devices of its claim were found to agree in."""
        constraints = self._constraints[alternative.claim]
        return all(
            each.allows(candidate)
            for each in (constraints[number] for number in alternative.constraints)
            if isinstance(each, MatchAttribute)
        )

    def take(self, alternative: Alternative, candidate: Candidate) -> Pick | None:
        """Takes a device that is free and has room, if nothing else is against it."""
        takes_counters = bool(candidate.consumes) and not self._is_shared(candidate)
        if takes_counters and not self.counters.fits(candidate):
            return None
        if candidate.taints and untolerated(candidate.taints, alternative.tolerations) is not None:
            return None
        if alternative.constraints and not self._constrain(alternative, candidate):
            if alternative.offers is None:
                return None
            claim = self._prepared.claims[alternative.claim]
            raise AllocationFailed(
                f"claim {claim.key}, request {alternative.bare_name}: cannot add device "
                f"{'/'.join(candidate.id)} because a claim constraint would not be satisfied"
            )
        if alternative.offers is not None and not self.has_room(alternative, candidate):
            self._release(alternative, alternative.constraints)
            return None
        if takes_counters:
            self.counters.take(candidate)
        amounts, opened_share = None, False
        key = candidate.id
        if candidate.shared:
            amounts = self._consumption(alternative, candidate) or {}
            opened_share = key not in self._shares
            share = self._shares.setdefault(key, {})
            for name, amount in amounts.items():
                share[name] = share.get(name, 0) + amount.nanos
        else:
            self._taken[key] = self._taken.get(key, 0) | 1 << alternative.claim
        pick = Pick(alternative, candidate, amounts, takes_counters, opened_share)
        self.picks[alternative.claim].append(pick)
        return pick

    def take_back(self, pick: Pick) -> None:
        """Takes back the last pick of its claim."""
        alternative, candidate, amounts, has_counters, opened_share = pick
        claim = alternative.claim
        self.picks[claim].pop()
        if amounts is None:
            self._taken[candidate.id] &= ~(1 << claim)
        elif opened_share:
            del self._shares[candidate.id]
        else:
            share = self._shares[candidate.id]
            for name, amount in amounts.items():
                share[name] -= amount.nanos
        self._release(alternative, alternative.constraints)
        if has_counters:
            self.counters.give_back(candidate)

    def _constrain(self, alternative: Alternative, candidate: Candidate) -> bool:
        """Adds a device to all constraints of its request, or to none.

        To add a device and to take it back can leave a constraint changed, here as after a pick.
        """
        constraints = self._constraints[alternative.claim]
        for place, number in enumerate(alternative.constraints):
            if not constraints[number].add(alternative.request, candidate):
                self._release(alternative, alternative.constraints[:place])
                return False
        return True

    def _release(self, alternative: Alternative, added_to: tuple[int, ...]) -> None:
        constraints = self._constraints[alternative.claim]
        for number in added_to:
            constraints[number].remove(alternative.request)

    def _is_shared(self, candidate: Candidate) -> bool:
        """Whether somebody has a share of a device already, whose counters are taken then."""
        key = candidate.id
        return candidate.shared and (key in self._in_use.consumed or key in self._shares)

    def _consumption(self, alternative: Alternative, candidate: Candidate) -> Consumption | None:
        key = id(alternative), candidate.id
        if key not in self._consumptions:
            self._consumptions[key] = consumption(candidate.capacities, alternative.capacity)
        return self._consumptions[key]


def _constraints(prepared: Prepared, claim: int) -> list[MatchAttribute | DistinctAttribute]:
    described = prepared.claims[claim].spec.devices.constraints
    return [made for each in described if (made := constraint(each)) is not None]
