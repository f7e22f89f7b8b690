"""What the scheduler knows of devices, once for all profiles, so that none gives away what another has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.pods import Pod
from moorage.config.feature_gates import GENERIC_WORKLOAD
from moorage.framework.handle import Handle
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.selectors import CelSelectors
from moorage.plugins.devices.allocation.slice_index import SliceIndex
from moorage.plugins.devices.claim_writes import ClaimsInMemory, ClaimsOfServer, ClaimWrites
from moorage.plugins.devices.extended_resources import ExtendedResources
from moorage.plugins.devices.group_claims import GroupClaims
from moorage.plugins.devices.known_answers import KnownAnswers
from moorage.plugins.devices.known_claims import KnownClaims
from moorage.plugins.devices.pod_claims import claims_of
from moorage.state.lru import Lru

_KINDS_OF_CLAIMS = 64
_CLAIMS_AT_ONCE = 64
"""Of which writes are under way, so that who began first is done first and not all are done at the end."""
_encode = msgspec.msgpack.Encoder().encode


class Devices:
    """Ask for it with `handle.shared(Devices)`."""

    def __init__(self, handle: Handle) -> None:
        self.table = handle.state.table
        self.clock = handle.clock
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.turns = asyncio.Semaphore(_CLAIMS_AT_ONCE)
        self.in_use = DevicesInUse()
        self.slices = SliceIndex()
        self.selectors = CelSelectors()
        self.extended = handle.shared(ExtendedResources)
        self.classes = handle.lister_of(DeviceClass)
        self._answers = Lru[bytes, KnownAnswers](_KINDS_OF_CLAIMS)
        self.classes.on_change(
            added=lambda new: self._class_changed(),
            updated=lambda old, new: self._class_changed(),
            deleted=lambda old: self._class_changed(),
        )
        self.claims = KnownClaims(handle.lister_of(ResourceClaim), self._claim_changed)
        handle.lister_of(ResourceSlice).on_change(
            added=self.slices.put,
            updated=lambda old, new: self.slices.put(new),
            deleted=lambda old: self.slices.remove(old.name),
        )
        has_groups = handle.services.gates.enabled(GENERIC_WORKLOAD)
        self.groups = GroupClaims(handle) if has_groups else None
        client = handle.services.client
        http = None if client is None else client.http
        self.writes: ClaimWrites = (
            ClaimsInMemory(handle.services.door) if http is None else ClaimsOfServer(http)
        )

    def answers_for(self, claims: Sequence[ResourceClaim]) -> KnownAnswers:
        """What is known of nodes for claims that ask for the same as these."""
        key = _encode([claim.spec.devices for claim in claims])
        return self._answers.get(key) or self._answers.put(
            key, KnownAnswers(self.table, self.slices, self.in_use)
        )

    def claims_of(self, pod: Pod) -> list[ResourceClaim]:
        """The claims a pod names; raises NotThere."""
        return claims_of(pod, self.claims, heeds_groups=self.groups is not None and self.groups.are_theirs)

    def alone(self, uid: str) -> AbstractAsyncContextManager[object]:
        """Within it nobody else who shares a claim writes it."""
        return nullcontext() if self.groups is None else self.groups.alone(uid)

    def class_of(self, name: str) -> DeviceClass | None:
        return self.classes.get(name)

    def _class_changed(self) -> None:
        self._answers.clear()

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if new is not None:
            self.in_use.put_claim(new)
        elif old is not None:
            self.in_use.remove_claim(old.key)
