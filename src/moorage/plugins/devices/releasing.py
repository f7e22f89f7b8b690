"""Giving back: what was promised to a pod that is not bound after all, and claims that keep it from nodes."""

from __future__ import annotations

from moorage.api.devices import FINALIZER, ResourceClaim
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Conflict, is_retriable
from moorage.framework.logger import Logger
from moorage.plugins.devices.binding import (
    UNSURE_SECONDS,
    end_flight,
    finalizers,
    on_conflict_again,
    with_finalizers,
)
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.pod_claims import is_reserved_for
from moorage.plugins.devices.pod_devices import PodDevices

log = Logger(__name__)


def end_flights(devices: Devices, found: PodDevices) -> None:
    """Nothing is promised to the pod any more; what was written stays as it is."""
    for place, claim in enumerate(found.claims):
        uid = found.special_uid if place == found.special else claim.uid
        is_promised = uid not in found.unsure and devices.in_use.is_in_flight(uid) and place in found.planned
        if is_promised and end_flight(devices, uid, found.sharer):
            devices.claims.forget_written(claim)


def _reserved(found: PodDevices, pod: Pod) -> list[ResourceClaim]:
    users = found.claims if found.special is None else found.claims[: found.special]
    return [claim for claim in users if claim.status.allocation is not None and is_reserved_for(pod, claim)]


def _made(found: PodDevices) -> ResourceClaim | None:
    """The claim for extended resources, if it was written."""
    claim = None if found.special is None else found.claims[found.special]
    return None if claim is None or claim.name.startswith("<") else claim


def has_work(found: PodDevices, pod: Pod) -> bool:
    return bool(_reserved(found, pod)) or _made(found) is not None


async def take_back(devices: Devices, found: PodDevices, pod: Pod) -> None:
    """Ends the reservations for a pod. Allocations stay: the next attempt begins with them."""
    for claim in _reserved(found, pod):
        try:
            devices.claims.wrote(await _unreserve(devices, claim, pod))
        except ApiError as error:
            log.error(error, "unreserve", resourceclaim=claim)
    made = _made(found)
    if made is not None:
        try:
            await delete(devices, made)
        except ApiError as error:
            log.error(error, "delete", resourceclaim=made)


async def take_back_from_group(devices: Devices, group: PodGroup, claim: ResourceClaim) -> None:
    """Ends the reservation for a group, so that others, or the group itself, may get other devices."""
    async with devices.alone(claim.uid):
        devices.claims.wrote(await _unreserve(devices, claim, group))


async def _unreserve(devices: Devices, claim: ResourceClaim, consumer: Pod | PodGroup) -> ResourceClaim:
    """The claim without its reservation, written until it is sure.

    A write without an answer may have been done: the next attempt would take the reservation for
    granted, and have it bound without.
    """
    while is_reserved_for(consumer, claim):
        try:
            return await devices.writes.unreserve(claim, consumer)
        except Conflict:
            pass
        except ApiError as error:
            if not is_retriable(error):
                raise
            await devices.sleep(UNSURE_SECONDS)
        claim = await _current(devices, claim)
    return claim


async def _current(devices: Devices, claim: ResourceClaim) -> ResourceClaim:
    """A claim as it is now, asked for until the API server answers."""
    while True:
        try:
            return await devices.writes.get(claim)
        except ApiError as error:
            if not is_retriable(error):
                raise
        await devices.sleep(UNSURE_SECONDS)


async def deallocate(devices: Devices, claim: ResourceClaim) -> None:
    """Frees the devices of a claim that nobody uses."""
    status = dict(claim.raw.get("status") or {})
    for name in ("allocation", "reservedFor", "devices"):
        status.pop(name, None)
    document = {**claim.raw, "apiVersion": claim.api_version(), "kind": claim.kind, "status": status}
    await devices.writes.update_status(document)


async def delete(devices: Devices, claim: ResourceClaim) -> None:
    """Deletes a claim, without waiting for whoever else would see to its finalizer."""

    async def unprotect(current: ResourceClaim) -> ResourceClaim:
        left = [each for each in finalizers(current) if each != FINALIZER]
        return await devices.writes.update(with_finalizers(current, left))

    await on_conflict_again(devices, claim, unprotect, f"get resourceclaim {claim.key}")
    await devices.writes.delete(claim)
