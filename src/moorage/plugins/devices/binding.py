"""Before a pod is bound: its claims are written, and where devices say so, conditions are waited for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from moorage.api.devices import FINALIZER, ResourceClaim
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Conflict, NotFound, ServerTimeout, Unreachable, is_retriable
from moorage.framework.logger import Logger
from moorage.plugins.devices.claim_writes import Document
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.pod_claims import is_reserved_for
from moorage.plugins.devices.pod_devices import PodDevices
from moorage.plugins.devices.readiness import has_binding_conditions, is_ready, is_timed_out

log = Logger(__name__)

TRIES, PAUSE_SECONDS, JITTER = 5, 0.01, 0.1
CHECK_SECONDS = 5.0
SEEN_SECONDS, SEEN_STEP = 120.0, 1.0
UNSURE_SECONDS = 1.0


class BindingFailed(Exception):
    """The pod cannot be bound now; the text is what users are told."""


async def bind_claims(devices: Devices, pod_devices: PodDevices, pod: Pod, node_name: str) -> None:
    """Writes what was promised, claim after claim, and reserves each for the pod; raises BindingFailed."""
    for place, claim in enumerate(pod_devices.claims):
        # One that is reserved for a group may be taken back from it by now.
        if devices.groups is not None or not is_reserved_for(pod, claim):
            pod_devices.claims[place] = await _bind_claim(devices, pod_devices, place, pod, node_name)


async def _bind_claim(
    devices: Devices, pod_devices: PodDevices, place: int, pod: Pod, node_name: str
) -> ResourceClaim:
    claim, allocation = pod_devices.claims[place], pod_devices.planned.get(place)
    is_special = place == pod_devices.special
    if is_special and allocation is None:
        return claim
    uid = claim.uid
    written: ResourceClaim | None = None
    try:
        async with devices.alone(uid), devices.turns:
            if is_special:
                written = claim = await _create(devices, pod_devices, pod, node_name)
                pod_devices.claims[place] = claim
            elif devices.groups is not None:
                claim = _newest(devices, claim)
            written = await _write(devices, pod_devices, place, claim, pod)
            if is_special:
                await _tell_pod(devices, pod_devices, written, pod)
    except asyncio.CancelledError:
        pod_devices.unsure[uid] = claim
        raise
    except ApiError as error:
        if isinstance(error, Unreachable | ServerTimeout) or error.code >= 500:
            pod_devices.unsure[uid] = claim
        raise BindingFailed(str(error)) from None
    finally:
        is_unseen = written is not None and not devices.claims.wrote(written)
        if uid not in pod_devices.unsure:
            if is_unseen and is_special and written is not None:
                await _wait_until_seen(devices, written)
            if allocation is not None:
                end_flight(devices, uid, pod_devices.sharer, is_written=written is not None)
    return written


def _newest(devices: Devices, claim: ResourceClaim) -> ResourceClaim:
    """The claim as another pod of the group has written it by now."""
    known = devices.claims.get(claim.name, claim.namespace)
    return known if known is not None and known.uid == claim.uid else claim


def end_flight(devices: Devices, uid: str, sharer: str, *, is_written: bool = False) -> bool:
    """Whether that ended it: what pods share, ends with the last of them unless it was written."""
    if sharer:
        return devices.in_use.leave_flight(uid, sharer, is_written=is_written)
    devices.in_use.end_flight(uid)
    return True


async def settle(devices: Devices, uid: str, claim: ResourceClaim, sharer: str = "") -> None:
    """Finds out what became of a write without an answer; until then its devices stay promised.

    It may have been done all the same, and to give its devices to others would be to give them away twice.
    """
    is_written = False
    while True:
        try:
            found = await devices.writes.get(claim)
        except NotFound:
            break
        except ApiError as error:
            if not is_retriable(error):
                break
            await devices.sleep(UNSURE_SECONDS)
        else:
            devices.claims.wrote(found)
            is_written = found.status.allocation is not None
            break
    end_flight(devices, uid, sharer, is_written=is_written)


async def _create(devices: Devices, pod_devices: PodDevices, pod: Pod, node_name: str) -> ResourceClaim:
    plan = pod_devices.chosen
    if plan is None or plan.special is None:
        raise BindingFailed(f"extended resource claim not found for node {node_name}")
    document = dict(plan.special.raw)
    meta = {key: value for key, value in document["metadata"].items() if key not in ("name", "uid")}
    try:
        return await devices.writes.create({**document, "metadata": meta})
    except ApiError as error:
        raise BindingFailed(f"create claim for extended resources {pod.namespace}/: {error}") from None


async def _write(
    devices: Devices, pod_devices: PodDevices, place: int, claim: ResourceClaim, pod: Pod
) -> ResourceClaim:
    """Adds the finalizer where it is missing, then allocation and reservation; conflicts are tried again."""
    key, sharer, planned = claim.key, pod_devices.sharer, pod_devices.planned.get(place)

    async def once(current: ResourceClaim) -> ResourceClaim:
        has_it = bool(sharer) and planned is not None and _is_allocated_so(current, planned)
        allocation = None if has_it else planned
        if allocation is None and devices.groups is not None and pod_devices.is_reserved(pod, current):
            return current
        if current.deleting:
            raise BindingFailed(f"claim {key} got deleted in the meantime")
        if allocation is not None:
            if current.status.allocation is not None:
                raise BindingFailed(f"claim {key} got allocated elsewhere in the meantime")
            is_shared = bool(sharer) and place != pod_devices.special
            if is_shared and not devices.in_use.shares_flight(current.uid, sharer):
                # Another pod of the group had it written; since then its devices may be others'.
                raise BindingFailed(f"claim {key} got deallocated elsewhere in the meantime")
            if FINALIZER not in finalizers(current):
                document = with_finalizers(current, [*finalizers(current), FINALIZER])
                current = await _told(f"add finalizer to claim {key}", devices.writes.update(document))
        status: Document = dict(current.raw.get("status") or {})
        given = status.get("allocation") if allocation is None else allocation
        if given is None:
            raise BindingFailed(f"claim {key} got deallocated elsewhere in the meantime")
        if not given.get("allocationTimestamp"):
            given = {**given, "allocationTimestamp": _now(devices.clock)}
        status["allocation"] = given
        status["reservedFor"] = [*(status.get("reservedFor") or ()), pod_devices.consumer(pod, place)]
        doing = "add reservation" if allocation is None else "add allocation and reservation"
        document = {
            **current.raw,
            "apiVersion": current.api_version(),
            "kind": current.kind,
            "status": status,
        }
        writing = devices.writes.update_status(document, keeps_allocation=allocation is None)
        return await _told(f"{doing} to claim {key}", writing)

    return await on_conflict_again(devices, claim, once, f"get updated claim {key} after conflict")


def _is_allocated_so(claim: ResourceClaim, planned: Document) -> bool:
    """Whether a claim has just those devices."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    found = allocation.document
    same_devices = found["devices"].get("results") == planned["devices"].get("results")
    return same_devices and found.get("nodeSelector") == planned.get("nodeSelector")


async def on_conflict_again(
    devices: Devices,
    claim: ResourceClaim,
    write: Callable[[ResourceClaim], Awaitable[ResourceClaim]],
    reading: str,
) -> ResourceClaim:
    """Writes a claim; if somebody else has changed it, reads it and writes again, a few times."""
    for tries_left in reversed(range(TRIES)):
        try:
            return await write(claim)
        except Conflict:
            if not tries_left:
                raise
        await devices.sleep(PAUSE_SECONDS * (1 + JITTER * random.random()))
        claim = await _told(reading, devices.writes.get(claim))
    raise AssertionError("unreachable")


async def _told(doing: str, writing: Awaitable[ResourceClaim]) -> ResourceClaim:
    """The same error, with what was being done before it."""
    try:
        return await writing
    except ApiError as error:
        message = f"{doing}: {error.message}"
        raise type(error)(error.code, error.reason, message, error.retry_after) from None


async def _tell_pod(devices: Devices, pod_devices: PodDevices, claim: ResourceClaim, pod: Pod) -> None:
    mappings = [] if pod_devices.chosen is None else pod_devices.chosen.mappings
    if not mappings:
        raise BindingFailed(
            f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
        )
    status = {"requestMappings": mappings, "resourceClaimName": claim.name}
    try:
        await devices.writes.patch_pod_status(pod, {"extendedResourceClaimStatus": status})
    except ApiError as error:
        raise BindingFailed(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from None


async def _wait_until_seen(devices: Devices, claim: ResourceClaim) -> None:
    """A claim that was just made counts once the watch brings it; until then its devices stay promised."""
    waited = 0.0
    while waited < SEEN_SECONDS:
        await devices.sleep(SEEN_STEP)
        waited += SEEN_STEP
        if devices.claims.wrote(claim):
            return
        shown = devices.claims.get(claim.name, claim.namespace)
        if shown is not None:
            return  # a newer version of it
    log.info(5, "Claim not stored in assume cache after retries", claim=claim)


async def wait_for_conditions(devices: Devices, pod_devices: PodDevices, seconds: float) -> None:
    """Waits until devices are ready that say when they are; raises BindingFailed."""
    left = seconds
    while not pod_is_ready(devices, pod_devices, seconds):
        step = min(CHECK_SECONDS, left)
        await devices.sleep(step)
        left -= step
        if left <= 0:
            raise BindingFailed("device binding timeout: context deadline exceeded")


def has_to_wait(pod_devices: PodDevices) -> bool:
    return any(has_binding_conditions(claim) for claim in pod_devices.claims)


def pod_is_ready(devices: Devices, pod_devices: PodDevices, seconds: float) -> bool:
    """Whether all devices of a pod are ready by what the watch brought; raises BindingFailed."""
    for place, claim in enumerate(pod_devices.claims):
        current = devices.claims.get(claim.name, claim.namespace)
        if current is None:
            raise BindingFailed(f'could not find ResourceClaim "{claim.key}"')
        pod_devices.claims[place] = current
        ready = is_ready(current)
        if ready.failure:
            raise BindingFailed(ready.failure)
        if not ready.is_ready:
            if is_timed_out(current, seconds, devices.clock()):
                raise BindingFailed(f"device binding timeout: claim={current.name}")
            return False
    return True


def finalizers(claim: ResourceClaim) -> list[str]:
    found: list[str] = claim.raw.get("metadata", {}).get("finalizers") or []
    return found


def with_finalizers(claim: ResourceClaim, wanted: list[str]) -> Document:
    meta: dict[str, Any] = {**claim.raw["metadata"], "finalizers": wanted}
    if not wanted:
        del meta["finalizers"]
    return {**claim.raw, "apiVersion": claim.api_version(), "kind": claim.kind, "metadata": meta}


def _now(clock: Callable[[], float]) -> str:
    return _written(int(clock()))


@lru_cache(maxsize=8)  # many claims are written in one second
def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
