"""QOSSort: among pods of one priority, those first that are promised most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from moorage.api import quantities
from moorage.api.meta import Quantity
from moorage.api.pods import Pod, ResourceRequirements
from moorage.api.resources import CPU, MEMORY
from moorage.framework.extension_points import QueueSortPlugin
from moorage.framework.queued_pod import QueuedPod


class QualityOfService(IntEnum):
    """The classes of pods by what they request and may use at most."""

    BEST_EFFORT = 1
    """They ask for neither cpu nor memory."""
    BURSTABLE = 2
    GUARANTEED = 3
    """They have limits for cpu and memory everywhere, and request as much."""


class QOSSort(QueueSortPlugin):
    """Takes pods of higher priority first, among equals Guaranteed ones, then Burstable, then BestEffort."""

    def sort_key(self, queued: QueuedPod) -> tuple[int, int, float]:
        return -queued.pod.priority, -quality_of_service(queued.pod), queued.timestamp


def quality_of_service(pod: Pod) -> QualityOfService:
    """The class of a pod; requests and limits of the pod as a whole count instead of those of containers."""
    spec = pod.spec
    whole = spec.resources
    if whole is not None:
        parts = [whole]
        needs_limits = [whole] if whole.limits else []
    else:
        parts = [container.resources for container in (*spec.containers, *spec.init_containers)]
        needs_limits = parts
    requests = _sums(part.requests for part in parts)
    limits = _sums(part.limits for part in parts)
    if not requests and not limits:
        return QualityOfService.BEST_EFFORT
    if requests == limits and all(map(_limits_both, needs_limits)):
        return QualityOfService.GUARANTEED
    return QualityOfService.BURSTABLE


def _limits_both(part: ResourceRequirements) -> bool:
    return _sums([part.limits]).keys() == {CPU, MEMORY}


def _sums(lists: Iterable[Mapping[str, Quantity]]) -> dict[str, int]:
    """What is asked for of cpu and memory in all, as far as it is more than nothing."""
    total: dict[str, int] = {}
    for amounts in lists:
        for name in (CPU, MEMORY):
            amount = _amount(amounts.get(name, 0))
            if amount > 0:
                total[name] = total.get(name, 0) + amount
    return total


def _amount(quantity: Quantity) -> int:
    """What cannot be read is nothing here: the order of the queue is no place to fail."""
    try:
        return quantities.parse(quantity)
    except quantities.QuantityError:
        return 0
