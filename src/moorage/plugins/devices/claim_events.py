"""What may help a pod that DynamicResources rejected."""

from __future__ import annotations

from functools import partial

from moorage.api.devices import ResourceClaim
from moorage.api.pods import Pod
from moorage.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    Hint,
)
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.pod_claims import NotThere


def events(devices: Devices) -> list[ClusterEvent]:
    of_nodes = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    add_or_update = Action.ADD | Action.UPDATE
    return [
        ClusterEvent(NODE, of_nodes),
        ClusterEvent(RESOURCE_CLAIM, add_or_update, partial(_claim_changed, devices)),
        ClusterEvent(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, partial(_pod_changed, devices)),
        ClusterEvent(DEVICE_CLASS, add_or_update),
        ClusterEvent(RESOURCE_SLICE, add_or_update),
    ]


def _claim_changed(devices: Devices, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> Hint:
    try:
        uses_it = any(claim.uid == new.uid for claim in devices.claims_of(pod))
    except NotThere:
        return Hint.SKIP
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return Hint.QUEUE  # its devices are free for others
    if not uses_it:
        return Hint.SKIP
    return Hint.SKIP if old is not None and old.status == new.status else Hint.QUEUE


def _pod_changed(devices: Devices, pod: Pod, old: Pod | None, new: Pod) -> Hint:
    if pod.uid != new.uid:
        return Hint.SKIP
    try:
        devices.claims_of(new)
    except NotThere:
        return Hint.SKIP
    return Hint.QUEUE
