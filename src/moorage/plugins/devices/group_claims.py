"""Claims that the pods of a PodGroup share; with DRAWorkloadResourceClaims they are the group's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

from moorage.api.devices import ResourceClaim
from moorage.api.pod_groups import PodGroup, group_key
from moorage.api.pods import Pod, PodResourceClaim
from moorage.config.feature_gates import WORKLOAD_CLAIMS
from moorage.framework.handle import Handle
from moorage.framework.pod_groups import PodGroups
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.results import Plan
from moorage.plugins.devices.known_claims import KnownClaims
from moorage.plugins.devices.pod_claims import NotThere, is_controlled_by, is_reserved_for, named_claims
from moorage.plugins.devices.pod_devices import PodDevices

_PROMISED = "DynamicResources/promised"


class GroupClaims:
    """What PodGroups say of claims, and what one of their pods was promised while the others are tried."""

    def __init__(self, handle: Handle) -> None:
        self.are_theirs = handle.services.gates.enabled(WORKLOAD_CLAIMS)
        """Whether claims can be a group's instead of its pods'."""
        self._groups = handle.shared(PodGroups)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def is_concerned(self, pod: Pod) -> bool:
        """Whether there may be something to say about a pod without claims."""
        return self.are_theirs and bool(group_key(pod))

    def alone(self, uid: str) -> asyncio.Lock:
        """Within it nobody else writes a claim."""
        return self._locks.setdefault(uid, asyncio.Lock())

    def devices_of(self, pod: Pod, known: KnownClaims, in_use: DevicesInUse) -> PodDevices:
        """The claims that a pod names, and what its group makes of them; raises NotThere."""
        named = list(named_claims(pod, known, heeds_groups=self.are_theirs))
        group, promised = self._group_of(pod), self._promised()
        found = PodDevices([claim for _, claim in named], group=group)
        if group is not None:
            found.of_group = places_of_group(group, [entry for entry, _ in named])
        if promised is None:
            return found
        found.sharer = pod.uid
        for place, claim in enumerate(found.claims):
            is_in_flight = claim.status.allocation is None and in_use.is_in_flight(claim.uid)
            if is_in_flight and claim.uid in promised:
                found.promised[place] = promised[claim.uid]
        return found

    def promise(self, uid: str, plan: Plan) -> None:
        """Lets the other pods that are tried together count on what one of them is promised."""
        promised = self._promised()
        if promised is not None:
            promised[uid] = plan

    def _group_of(self, pod: Pod) -> PodGroup | None:
        """The group whose claims a pod's can be; raises NotThere."""
        key = group_key(pod) if self.are_theirs else ""
        if not key:
            return None
        group = self._groups.get(key)
        if group is None:
            name = key.partition("/")[2]
            raise NotThere(f'podgroup.scheduling.k8s.io "{name}" not found')
        return group

    def _promised(self) -> dict[str, Plan] | None:
        """By the uid of a claim, what it was promised in the cycle of a PodGroup that is under way.

        An entry counts only as long as the claim is in flight. None where there is no such cycle.
        """
        cycle = self._groups.cycle
        if cycle is None:
            return None
        promised: dict[str, Plan] | None = cycle.state.get(_PROMISED)
        if promised is None:
            promised = {}
            cycle.state.write(_PROMISED, promised)
        return promised

    def to_take_back(self, pod: Pod, known: KnownClaims) -> tuple[PodGroup, ResourceClaim] | None:
        """A claim that is reserved for the group of a pod although none of its pods has a node."""
        key = group_key(pod) if self.are_theirs else ""
        group = self._groups.get(key) if key else None
        if group is None or self._has_scheduled(key):
            return None
        for claim in _claims_of(group, known):
            if claim.status.allocation is not None and is_reserved_for(group, claim):
                return group, claim
        return None

    def _has_scheduled(self, key: str) -> bool:
        """Whether a pod has a node, other than those that have it for as long as the group is tried."""
        cycle = self._groups.cycle
        tried = frozenset() if cycle is None else cycle.members
        return any(pod.uid not in tried for pod in self._groups.scheduled(key))


def places_of_group(group: PodGroup, entries: Iterable[PodResourceClaim]) -> frozenset[int]:
    """The places of those entries of a pod that its group has, too: equal in name and source."""
    shared = set(group.spec.resource_claims)
    return frozenset(place for place, entry in enumerate(entries) if entry in shared)


def _claims_of(group: PodGroup, known: KnownClaims) -> Iterator[ResourceClaim]:
    made = {status.name: status.resource_claim_name for status in group.status.resource_claim_statuses}
    for entry in group.spec.resource_claims:
        name = entry.resource_claim_name or made.get(entry.name)
        claim = known.get(name, group.namespace) if name else None
        if claim is not None and (entry.resource_claim_name or is_controlled_by(group, claim)):
            yield claim
