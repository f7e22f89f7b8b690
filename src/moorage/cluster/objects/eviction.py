"""Eviction: a deletion that asks the disruption budgets first."""

from __future__ import annotations

from dataclasses import replace

from moorage.cluster.base.errors import Cause, Refusal, not_found, too_many_requests
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.common import part
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.selecting import selector_of

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
        budgets = self._objects.store.objects(_BUDGETS, pod.namespace)
        return [
            each
            for each in budgets
            if selector_of(part(each.document, "spec").get("selector")).matches(labels)
        ]

    def _spend(self, budget: Stored, pod: Stored, dry_run: bool) -> None:
        """Notes one disruption in the budget, or refuses when there is none left."""
        status = part(budget.document, "status")
        generation = budget.document["metadata"].get("generation", 0)
        if status.get("observedGeneration", 0) < generation:
            why = f"The disruption budget {budget.name} is still being processed by the server."
            raise _refused(why, seconds=_RETRY_SECONDS)
        desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        if not _is_ready(pod.document) and healthy >= desired:
            return
        allowed, disrupted = status.get("disruptionsAllowed", 0), status.get("disruptedPods") or {}
        if allowed <= 0 or len(disrupted) > _MOST_DISRUPTED:
            needs = f"needs {desired} healthy pods and has {healthy} currently"
            raise _refused(f"The disruption budget {budget.name} {needs}")
        if not dry_run:
            disrupted = {**disrupted, pod.name: timestamp(self._objects.clock())}
            changed = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
            self._objects.store.update(_BUDGETS, budget, {**budget.document, "status": changed})


def _refused(why: str, *, seconds: int = 0) -> Refusal:
    return too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        seconds=seconds,
        causes=[Cause("DisruptionBudget", "", why)],
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
