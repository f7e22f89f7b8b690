"""PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, invalid_value, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.kinds.fields import int_or_percent, label_selector, not_negative
from moorage.cluster.kinds.rules import shown_selector

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class PodDisruptionBudgetStrategy(WithStatus):
    counts_generations = True
    updates_name_version = True
    qualified_finalizers = False
    first_status = dict.fromkeys(_COUNTS, 0)

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        policy = spec.get("unhealthyPodEvictionPolicy")
        if least is not None and most is not None:
            whole = {
                "MinAvailable": least,
                "Selector": shown_selector(spec.get("selector")),
                "MaxUnavailable": most,
                "UnhealthyPodEvictionPolicy": policy,
            }
            yield invalid_value("spec", whole, "minAvailable and maxUnavailable cannot be both set")
        if least is not None:
            yield from int_or_percent("spec.minAvailable", least)
        if most is not None:
            yield from int_or_percent("spec.maxUnavailable", most)
        yield from label_selector("spec.selector", spec.get("selector"))
        if policy is not None and policy not in EVICTION_POLICIES:
            yield unsupported_value("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        status = part(new, "status")
        for name in _COUNTS:
            yield from not_negative(f"status.{name}", status.get(name, 0))
