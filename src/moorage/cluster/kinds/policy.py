"""PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, shown_inside
from moorage.cluster.schema.checking import Around, check, relates


class PodDisruptionBudgetStrategy(WithStatus):
    type_name = "policy.v1.PodDisruptionBudget"
    qualified_finalizers = False
    first_status = dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0
    )

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check("policy.v1.PodDisruptionBudgetStatus", new.get("status"), "status")


@relates("policy.v1.PodDisruptionBudgetSpec")
def _one_bound(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = shown_inside(spec, "MinAvailable", "Selector", "MaxUnavailable", "UnhealthyPodEvictionPolicy")
        yield invalid_value(path, shown, "minAvailable and maxUnavailable cannot be both set")
