"""Who may have to go for whom, as quotas have it.

Within a namespace priorities decide, once it would use more than is its for sure. A namespace that would not
takes back from those that have borrowed, whatever their priorities, and from nobody else. Pods with a quota
and pods without one leave each other alone.
"""

from __future__ import annotations

from enum import Enum

from moorage.api.pods import Pod
from moorage.api.requests import Resources
from moorage.contrib.capacity.demand import Demand
from moorage.contrib.capacity.quota_arithmetic import request_of
from moorage.contrib.capacity.quotas import QuotaSnapshot


class WhoMayGo(Enum):
    """Among whom a preemptor finds its victims."""

    LESSER_WITHOUT_QUOTA = "less important pods of namespaces without a quota"
    LESSER_OF_ITS_OWN = "less important pods of its own namespace"
    OF_BORROWERS = "pods of namespaces that use more than their min"
    NOBODY = "nobody, as its quota cannot be read"

    @classmethod
    def for_pod(cls, quotas: QuotaSnapshot, preemptor: Pod, wanted: Resources | None = None) -> WhoMayGo:
        """`wanted` is what its namespace is to get, for the preemptor and for others that come with it.

        If it is not given, that is the request of the preemptor.
        """
        own = quotas.of(preemptor.namespace)
        if own is None:
            return cls.LESSER_WITHOUT_QUOTA
        if own.problem:
            return cls.NOBODY
        is_over_min = own.is_over_min_with(request_of(preemptor) if wanted is None else wanted)
        return cls.LESSER_OF_ITS_OWN if is_over_min else cls.OF_BORROWERS

    def has(self, other: Pod, preemptor: Pod, quotas: QuotaSnapshot) -> bool:
        """Whether the other pod is among them, with the quotas as they are.

        Who takes several must `remove` each from `quotas` before asking about the next: what a namespace has
        borrowed gets less.
        """
        if self is WhoMayGo.LESSER_OF_ITS_OWN:
            return other.namespace == preemptor.namespace and other.priority < preemptor.priority
        quota = quotas.of(other.namespace)
        if self is WhoMayGo.LESSER_WITHOUT_QUOTA:
            return quota is None and other.priority < preemptor.priority
        if self is WhoMayGo.OF_BORROWERS:
            is_foreign = other.namespace != preemptor.namespace
            return is_foreign and quota is not None and not quota.problem and quota.is_over_min
        return False


def may_be_victim(quotas: QuotaSnapshot, preemptor: Pod, other: Pod, wanted: Resources | None = None) -> bool:
    """Whether a placed pod may go for the preemptor, with the quotas as they are.

    `wanted` is as in `WhoMayGo.for_pod`, which serves who takes several pods.
    """
    return WhoMayGo.for_pod(quotas, preemptor, wanted).has(other, preemptor, quotas)


def may_be_going_for(quotas: QuotaSnapshot, demand: Demand, preemptor: Pod, other: Pod) -> bool:
    """Whether a pod that is being preempted may be going for the preemptor, which then should wait."""
    if quotas.of(preemptor.namespace) is not None and other.namespace == preemptor.namespace:
        return other.priority < preemptor.priority
    return may_be_victim(quotas, preemptor, other, demand.in_quota)
