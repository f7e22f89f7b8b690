"""What quotas are reckoned in: requests of pods, what a namespace uses, and the bounds of both sides.

All amounts are :class:`Resources`, in which `pods` counts the pods themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.api import quantities
from moorage.api.pods import Pod
from moorage.api.requests import Resources, row_request
from moorage.api.resources import BASIC, CPU, PODS, is_scalar
from moorage.contrib.objects import ElasticQuota, ResourceList

UNLIMITED = 2**63 - 1
_ALWAYS_COMPARED = (*BASIC, PODS)


class QuotaError(ValueError):
    """A quota with amounts that cannot be used; the text says which."""


def request_of(pod: Pod) -> Resources:
    """What a pod counts for, itself included; one whose request cannot be read counts as a pod."""
    try:
        request = Resources(row_request(pod))
    except quantities.QuantityError:
        request = Resources()
    request[PODS] = 1
    return request


def is_over(wanted: Resources, used: Mapping[str, int], bounds: Mapping[str, int], unnamed: int) -> bool:
    """Whether `wanted` on top of `used` is more than `bounds`; as much is not more.

    Cpu, memory, ephemeral storage and pods always count, of other resources those that `wanted` names.
    `unnamed` is the bound of what `bounds` leaves out; the number of pods is free unless it is named.
    """
    for name in _ALWAYS_COMPARED:
        bound = bounds.get(name)
        if bound is None:
            bound = UNLIMITED if name == PODS else unnamed
        if wanted[name] + used.get(name, 0) > bound:
            return True
    return any(
        amount + used.get(name, 0) > bounds.get(name, unnamed)
        for name, amount in wanted.items()
        if name not in _ALWAYS_COMPARED
    )


_NOTHING = Resources()


class Quota(NamedTuple):
    """The bounds of a namespace, or of several together, and what is in use there; never changed."""

    min: Resources = _NOTHING
    """What it can always have: nothing of what is not named."""
    max: Resources = _NOTHING
    """What it can have at most: any amount of what is not named."""
    used: Resources = _NOTHING
    problem: str = ""
    """Why the bounds cannot be used; empty if they can."""

    @property
    def is_over_min(self) -> bool:
        """Whether it has borrowed something."""
        return is_over(self.used, _NOTHING, self.min, 0)

    def is_over_min_with(self, wanted: Resources) -> bool:
        return is_over(wanted, self.used, self.min, 0)

    def is_over_max_with(self, wanted: Resources) -> bool:
        return is_over(wanted, self.used, self.max, UNLIMITED)

    def using(self, more: Mapping[str, int]) -> Quota:
        return self._replace(used=self.used + more)

    def not_using(self, less: Mapping[str, int]) -> Quota:
        return self._replace(used=self.used - less)


def quota_of(quota: ElasticQuota, used: Resources) -> Quota:
    """The bounds that an object states, or what is wrong with them."""
    try:
        return Quota(_amounts("spec.min", quota.spec.min), _amounts("spec.max", quota.spec.max), used)
    except QuotaError as error:
        return Quota(used=used, problem=str(error))


def _amounts(field: str, given: ResourceList | None) -> Resources:
    """Amounts in the units of requests; however large, as sums of several quotas may be."""
    amounts = Resources()
    for name, amount in (given or {}).items():
        if name not in _ALWAYS_COMPARED and not is_scalar(name):
            raise QuotaError(f"{field}.{name}: no resource that a scheduler counts")
        try:
            nanos = quantities.parse(amount)
        except quantities.QuantityError as error:
            raise QuotaError(f"{field}.{name}: {error}") from None
        if nanos < 0:
            raise QuotaError(f"{field}.{name}: {amount} is less than nothing")
        amounts[name] = quantities.milli(nanos) if name == CPU else quantities.value(nanos)
    return amounts


def together(quotas: Iterable[Quota]) -> Quota:
    """Several namespaces as one: what they use, and what they can always have. There is no common max.

    Where one of them may always have any number of pods, all together may.
    """
    total_min, total_used = Resources(), Resources()
    pods_are_bound = True
    for quota in quotas:
        if not quota.problem:
            total_min += quota.min
            total_used += quota.used
            pods_are_bound &= PODS in quota.min
    if not pods_are_bound:
        total_min.pop(PODS, None)
    return Quota(total_min, used=total_used)
