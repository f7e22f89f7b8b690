"""Eviction: a deletion that asks the disruption budgets first."""

from __future__ import annotations

from moorage.cluster.base import parts
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.writes import Objects

_BUDGETS = "poddisruptionbudgets.policy"
_RETRY_SECONDS = 10
_MOST_DISRUPTED = 2000
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def evict(objects: Objects, namespace: str, name: str, options: DeleteOptions) -> None:
    """Deletes a pod if that breaks no budget; otherwise refuses, to be asked again later."""
    pods = objects.definition_of("pods")
    pod = objects.get(pods, namespace, name)
    # Pods that are done, waiting or going do not count for budgets.
    if pod.status.get("phase") not in ("Succeeded", "Failed", "Pending") and not pod.is_deleted:
        every = objects.store.objects(_BUDGETS, namespace)
        budgets = [each for each in every if parts.selector_of(each.spec.get("selector")).matches(pod.labels)]
        if len(budgets) > 1:
            raise Refusal(500, "InternalError", _SEVERAL)
        for budget in budgets:
            _spend(objects, budget, pod, options.dry_run)
    objects.delete(pods, namespace, name, options)


def _spend(objects: Objects, budget: Stored, pod: Stored, dry_run: bool) -> None:
    """Notes one disruption in the budget, or refuses when there is none left."""
    status = budget.status
    if status.get("observedGeneration", 0) < budget.generation:
        why = f"The disruption budget {budget.name} is still being processed by the server."
        raise _refused(why, retryAfterSeconds=_RETRY_SECONDS)
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if not parts.is_true(pod.document, "Ready") and healthy >= desired:
        return
    allowed, disrupted = status.get("disruptionsAllowed", 0), status.get("disruptedPods") or {}
    if allowed <= 0 or len(disrupted) > _MOST_DISRUPTED:
        needs = f"needs {desired} healthy pods and has {healthy} currently"
        raise _refused(f"The disruption budget {budget.name} {needs}")
    if not dry_run:
        disrupted = {**disrupted, pod.name: timestamp(objects.clock())}
        changed = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
        objects.store.update(_BUDGETS, budget, {**budget.document, "status": changed})


def _refused(why: str, **details: int) -> Refusal:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Refusal(429, "TooManyRequests", message, {"causes": causes, **details})
