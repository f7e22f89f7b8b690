"""What an ElasticQuota says that its namespace uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from moorage.api.meta import Quantity
from moorage.api.pods import Pod
from moorage.api.quantities import NANOS, NANOS_PER_MILLI, QuantityError, parse
from moorage.api.quantity_texts import binary_text, decimal_text
from moorage.api.requests import Resources
from moorage.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from moorage.contrib.objects import ElasticQuota, ElasticQuotaStatus, ResourceList

_IN_POWERS_OF_1024 = (MEMORY, EPHEMERAL_STORAGE, "hugepages-")


@dataclass
class Usage:
    """What pods that have a node and have not ended take, kept up to date as they come and go."""

    _taken: dict[str, Resources] = field(default_factory=dict)
    _total: Resources = field(default_factory=Resources)

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> Usage:
        usage = cls()
        for pod in pods:
            usage.put(pod)
        return usage

    def put(self, pod: Pod) -> bool:
        """Counts a pod as it is now; whether that makes a difference."""
        counts = bool(pod.spec.node_name) and not pod.finished
        return self._set(pod.uid, pod.placed_requests if counts else None)

    def remove(self, pod: Pod) -> bool:
        return self._set(pod.uid, None)

    @property
    def pods(self) -> int:
        return len(self._taken)

    @property
    def total(self) -> Resources:
        """By name, where it is not nothing."""
        return self._total

    def _set(self, uid: str, taken: Resources | None) -> bool:
        before = self._taken.get(uid)
        if before == taken:
            return False
        total = self._total
        if before is not None:
            del self._taken[uid]
            total -= before
        if taken is not None:
            self._taken[uid] = taken
            total += taken
        self._total = Resources((name, amount) for name, amount in total.items() if amount)
        return True


def first_of(quotas: Iterable[ElasticQuota]) -> ElasticQuota | None:
    """The one that counts where a namespace has several: the oldest."""
    return min(quotas, key=lambda each: (each.metadata.creation_timestamp or "", each.name), default=None)


def quota_status(quota: ElasticQuota, usage: Usage) -> ElasticQuotaStatus:
    """The status of a quota; if nothing has changed, the very one that it has.

    Named is what the quota limits and what pods ask for; `pods` are counted where the quota limits them.
    """
    amounts = Resources({name: 0 for limits in (quota.spec.min, quota.spec.max) for name in limits or ()})
    amounts += usage.total
    if PODS in amounts:
        amounts[PODS] = usage.pods
    nanos = {name: amount * _unit(name) for name, amount in amounts.items()}
    if quota.status.used is not None and _read(quota.status.used) == nanos:
        return quota.status
    return ElasticQuotaStatus(used={name: _text(name, nanos[name]) for name in sorted(nanos)})


def _unit(name: str) -> int:
    return NANOS_PER_MILLI if name == CPU else NANOS


def _text(name: str, nanos: int) -> str:
    if not nanos:
        return "0"
    return binary_text(nanos) if name.startswith(_IN_POWERS_OF_1024) else decimal_text(nanos)


def _read(used: ResourceList) -> Mapping[str, int] | None:
    """What a status says, however it writes it; None if that cannot be read."""
    amounts: Mapping[str, Quantity] = used
    try:
        return {name: parse(amount) for name, amount in amounts.items()}
    except QuantityError:
        return None
