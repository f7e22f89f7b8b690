"""What would be in use if a pod came, and those for whom room is being made already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.api.requests import Resources
from moorage.contrib.capacity.quota_arithmetic import request_of
from moorage.contrib.capacity.quotas import QuotaSnapshot


class Demand(NamedTuple):
    """What a pod asks of the quotas."""

    request: Resources
    """For itself."""
    in_quota: Resources
    """With the nominated pods of its namespace that are as important."""
    in_all: Resources
    """With those, and the nominated pods of other namespaces that stay within what is theirs."""

    @classmethod
    def of(cls, pod: Pod, nominated: Iterable[Pod], quotas: QuotaSnapshot) -> Demand:
        request = request_of(pod)
        in_quota = in_all = request
        for other in nominated:
            if other.uid == pod.uid or quotas.has(other):
                continue
            if other.namespace == pod.namespace:
                if other.priority >= pod.priority:
                    in_quota += request_of(other)
                    in_all += request_of(other)
            else:
                quota = quotas.of(other.namespace)
                if quota is not None and not quota.problem and not quota.is_over_min:
                    in_all += request_of(other)
        return cls(request, in_quota, in_all)

    def exceeds_max(self, namespace: str, quotas: QuotaSnapshot) -> bool:
        """Whether the namespace would have more than it may."""
        quota = quotas.of(namespace)
        return quota is not None and quota.is_over_max_with(self.in_quota)

    def exceeds_total(self, quotas: QuotaSnapshot) -> bool:
        """Whether all namespaces with a quota together would have more than is theirs for sure."""
        return quotas.total.is_over_min_with(self.in_all)
