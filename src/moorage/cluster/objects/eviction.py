"""Eviction: a deletion that asks the disruption budgets first."""

from __future__ import annotations

from dataclasses import replace

from moorage.cluster.base import parts
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.identity import check_deletion
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
    if not options.dry_run:
        check_deletion(pods, pod.document["metadata"], options.uid, options.resource_version)
        pod = _mark(objects, pod)
        if options.resource_version:
            options = replace(options, resource_version=pod.document["metadata"]["resourceVersion"])
    objects.delete(pods, namespace, name, options)


def _mark(objects: Objects, pod: Stored) -> Stored:
    """Has a pod say why it goes."""
    known = parts.condition(pod.status, "DisruptionTarget") or {}
    since = known.get("lastTransitionTime") if known.get("status") == "True" else None
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": since or timestamp(objects.clock()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    conditions = [*parts.other_conditions(pod.status, "DisruptionTarget"), target]
    changed = {**pod.document, "status": {**pod.status, "conditions": conditions}}
    return objects.store.update("pods", pod, changed)


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
