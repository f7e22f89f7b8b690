"""Whether allocated devices are ready to be used, where they say what that takes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from moorage.api.devices import ResourceClaim


class Readiness(NamedTuple):
    is_ready: bool
    failure: str = ""


def has_binding_conditions(claim: ResourceClaim) -> bool:
    allocation = claim.status.allocation
    return allocation is not None and any(result.binding_conditions for result in allocation.devices.results)


def is_ready(claim: ResourceClaim) -> Readiness:
    """A claim without conditions is ready once it is allocated."""
    allocation = claim.status.allocation
    if allocation is None:
        return Readiness(False)
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        told = next(
            (
                device
                for device in claim.status.devices
                if (device.driver, device.pool, device.device) == (result.driver, result.pool, result.device)
            ),
            None,
        )
        if told is None:
            return Readiness(False)
        conditions = {condition.type: condition for condition in reversed(told.conditions)}
        for name in result.binding_failure_conditions:
            found = conditions.get(name)
            if found is not None and found.status == "True":
                return Readiness(False, _failed(claim, found.reason, found.message))
        if not all(
            (found := conditions.get(name)) is not None and found.status == "True"
            for name in result.binding_conditions
        ):
            return Readiness(False)
    return Readiness(True)


def _failed(claim: ResourceClaim, reason: str, message: str) -> str:
    from moorage.api.go_quoting import quoted

    return f"device binding failed: claim={claim.name}, reason={reason}, message={quoted(message)}"


def is_timed_out(claim: ResourceClaim, seconds: float, now: float) -> bool:
    """Whether conditions have been waited for long enough."""
    allocation = claim.status.allocation
    if allocation is None or not allocation.allocation_timestamp or not has_binding_conditions(claim):
        return False
    since = datetime.fromisoformat(allocation.allocation_timestamp).timestamp()
    return since + seconds < now
