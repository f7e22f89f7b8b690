"""Devices that claims hold, by what the watch brought and by what is about to be written."""

from __future__ import annotations

from moorage.api.devices import AllocationResult, DeviceResult, ResourceClaim
from moorage.api.quantities import parse
from moorage.plugins.devices.allocation.candidates import DeviceId, PoolId
from moorage.state.row_changes import Changes


class DevicesInUse:
    """What all claims together hold. A claim counts whatever its age, its owner and its users."""

    def __init__(self) -> None:
        self.revision = 0
        """Grows with every change of what is held."""
        self.exclusive: dict[DeviceId, int] = {}
        """Devices that are somebody's alone, and how often: a claim may be known and still in flight."""
        self.consumed: dict[DeviceId, dict[str, int]] = {}
        """What shares of a device have consumed of its capacities, in nanos."""
        self._consumers: dict[DeviceId, int] = {}
        self._shares: dict[DeviceId, int] = {}
        self._claims: dict[str, tuple[str, tuple[DeviceResult, ...]]] = {}
        self._flights: dict[str, tuple[DeviceResult, ...]] = {}
        self._sharers: dict[str, set[str]] = {}
        """Who counts on a flight, where several pods may."""
        self._pool_revisions: dict[PoolId, int] = {}
        self.changes = Changes[PoolId]()
        """The pools of which something was taken or given back."""

    def put_claim(self, claim: ResourceClaim) -> None:
        """The newest that is known of a claim.

        Only that an allocation appears or disappears is noticed: the API lets nobody change one.
        """
        key, allocation = claim.key, claim.status.allocation
        known = self._claims.get(key)
        if known is not None:
            if allocation is not None and known[0] == claim.uid:
                return
            self.remove_claim(key)
        if allocation is not None:
            results = _held(allocation)
            self._claims[key] = (claim.uid, results)
            self._count(results, 1)

    def remove_claim(self, key: str) -> None:
        """A claim is gone; by `namespace/name`."""
        known = self._claims.pop(key, None)
        if known is not None:
            self._count(known[1], -1)

    def begin_flight(self, uid: str, allocation: AllocationResult) -> None:
        """A claim is about to be allocated like that, which nobody else knows yet."""
        self.end_flight(uid)
        results = self._flights[uid] = _held(allocation)
        self._count(results, 1)

    def end_flight(self, uid: str) -> None:
        """It was written, or nothing comes of it."""
        self._count(self._flights.pop(uid, ()), -1)
        self._sharers.pop(uid, None)

    def share_flight(self, uid: str, pod: str) -> None:
        """A pod, by its uid, counts on what is in flight; it has to `leave_flight`."""
        self._sharers.setdefault(uid, set()).add(pod)

    def shares_flight(self, uid: str, pod: str) -> bool:
        return pod in self._sharers.get(uid, ())

    def leave_flight(self, uid: str, pod: str, *, is_written: bool = False) -> bool:
        """Ends a flight for one of those who share it, for the last or if it was written for all.

        Returns whether it ended. Who does not share it, or no longer, ends nothing.
        """
        if not self.shares_flight(uid, pod):
            return False
        self._sharers[uid].discard(pod)
        if self._sharers[uid] and not is_written:
            return False
        self.end_flight(uid)
        return True

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._flights

    def is_allocated(self, device: DeviceId) -> bool:
        """Whether somebody holds the device or a share of it."""
        return device in self.exclusive or device in self._shares

    def pool_revision(self, pool: PoolId) -> int:
        """The revision of the last change that concerned a pool."""
        return self._pool_revisions.get(pool, 0)

    def _count(self, results: tuple[DeviceResult, ...], number: int) -> None:
        for result in results:
            pool = (result.driver, result.pool)
            device = (*pool, result.device)
            if result.share_id is None:
                if _add(self.exclusive, device, number):
                    self._note(pool)
                continue
            self._note(pool)
            _add(self._shares, device, number)
            if result.consumed_capacity:
                _add(self._consumers, device, number)
                self._consume(device, result, number)

    def _note(self, pool: PoolId) -> None:
        self.revision += 1
        self._pool_revisions[pool] = self.revision
        self.changes.note(pool)

    def _consume(self, device: DeviceId, result: DeviceResult, number: int) -> None:
        if device not in self._consumers:
            del self.consumed[device]
            return
        sums = self.consumed.setdefault(device, {})
        for name, amount in result.consumed_capacity.items():
            sums[name] = sums.get(name, 0) + number * parse(amount)


def _held(allocation: AllocationResult) -> tuple[DeviceResult, ...]:
    """Who has access as an administrator holds nothing."""
    return tuple(result for result in allocation.devices.results if not result.admin_access)


def _add(counts: dict[DeviceId, int], device: DeviceId, number: int) -> bool:
    """Whether that makes a difference to those who ask if it is there: one may count twice."""
    before = counts.get(device, 0)
    count = before + number
    if count:
        counts[device] = count
    else:
        del counts[device]
    return not (before and count)
