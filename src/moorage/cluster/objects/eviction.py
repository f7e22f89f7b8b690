"""Eviction: a deletion that asks the disruption budgets first."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import msgspec

from moorage.api.selectors import LabelSelector, SelectorError, parse_selector
from moorage.cluster.base.errors import Cause, Refusal, not_found, too_many_requests
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.definitions import Definitions

_BUDGETS = "poddisruptionbudgets.policy"
_RETRY_SECONDS = 10
_MOST_DISRUPTED = 2000


class Evictions:
    def __init__(self, objects: Objects, definitions: Definitions) -> None:
        self._objects = objects
        self._definitions = definitions

    def evict(self, namespace: str, name: str, options: DeleteOptions, *, dry_run: bool = False) -> None:
        """Deletes a pod if that breaks no budget; otherwise refuses, to be asked again later."""
        pods = self._definitions.find("", "v1", "pods")
        assert pods is not None
        pod = self._objects.store.get("pods", namespace, name)
        if pod is None:
            raise not_found("pods", name)
        if dry_run:
            options = replace(options, dry_run=True)
        if _matters(pod.document):
            budgets = self._budgets_of(pod)
            if len(budgets) > 1:
                raise Refusal(
                    500,
                    "InternalError",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
                    " support.",
                )
            for budget in budgets:
                self._spend(budget, pod, options.dry_run)
        self._objects.delete(pods, namespace, name, options)

    def _budgets_of(self, pod: Stored) -> list[Stored]:
        labels = pod.document["metadata"].get("labels") or {}
        return [
            budget
            for budget in self._objects.store.objects(_BUDGETS, pod.namespace)
            if _selects(budget.document, labels)
        ]

    def _spend(self, budget: Stored, pod: Stored, dry_run: bool) -> None:
        """Notes one disruption in the budget, or refuses when there is none left."""
        status = budget.document.get("status", {})
        allowed = status.get("disruptionsAllowed", 0)
        generation = budget.document["metadata"].get("generation", 0)
        if status.get("observedGeneration", 0) < generation:
            raise _refused(
                budget.name, f"The disruption budget {budget.name} is still being processed by the server."
            )
        if _is_ready(pod.document) or status.get("currentHealthy", 0) < status.get("desiredHealthy", 0):
            if allowed <= 0 or len(status.get("disruptedPods") or {}) > _MOST_DISRUPTED:
                desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
                raise _refused(
                    budget.name,
                    f"The disruption budget {budget.name} needs {desired} healthy pods"
                    f" and has {healthy} currently",
                )
        else:
            return
        if dry_run:
            return
        document = deepcopy(budget.document)
        changed = document.setdefault("status", {})
        changed["disruptionsAllowed"] = allowed - 1
        changed.setdefault("disruptedPods", {})[pod.name] = timestamp(self._objects.clock())
        self._objects.store.update(_BUDGETS, budget, document)


def _refused(budget: str, why: str) -> Refusal:
    cause = Cause("DisruptionBudget", "", why)
    return too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        seconds=_RETRY_SECONDS if "processed" in why else 0,
        causes=[cause],
    )


def _matters(pod: Document) -> bool:
    """Whether a pod counts for budgets: those that are done, waiting or going do not."""
    return (
        pod.get("status", {}).get("phase") not in ("Succeeded", "Failed", "Pending")
        and "deletionTimestamp" not in pod["metadata"]
    )


def _is_ready(pod: Document) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _selects(budget: Document, labels: dict[str, str]) -> bool:
    given = budget.get("spec", {}).get("selector")
    try:
        return parse_selector(msgspec.convert(given, LabelSelector | None)).matches(labels)
    except (SelectorError, msgspec.ValidationError):
        return False
