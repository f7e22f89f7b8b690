"""The admission of requests: all that looks at other objects before something is written."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.errors import Cause, forbidden, not_found
from moorage.cluster.base.store import Store
from moorage.cluster.kinds.service_allocation import allocate_service
from moorage.cluster.objects.admission import (
    ingress_classes,
    limits,
    pod_groups,
    runtime_classes,
    scheduling,
    service_accounts,
    storage,
)
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, UPDATE, Attempt

_IMMORTAL = ("default", "kube-system", "kube-public")


def admit_content(resource: str, name: str, namespace: str, store: Store) -> None:
    """Refuses what is posted to a namespace that is not there or ends, also what is not kept."""
    found = store.get("namespaces", "", namespace)
    if found is None:
        raise not_found("namespaces", namespace)
    if found.status.get("phase") == "Terminating":
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        told = f"namespace {namespace} is being terminated"
        causes = [Cause("NamespaceTerminating", "metadata.namespace", told)]
        raise forbidden(resource, name, why, causes=causes)


def _keep_needed(attempt: Attempt) -> None:
    name = attempt.document["metadata"]["name"]
    if name in _IMMORTAL:
        raise forbidden("namespaces", name, "this namespace may not be deleted")


_STEPS: dict[tuple[str, str], tuple[Callable[[Attempt], None], ...]] = {
    (CREATE, "pods"): (
        limits.apply_limits,
        service_accounts.set_service_account,
        scheduling.set_priority,
        scheduling.add_tolerations,
        runtime_classes.apply_runtime_class,
    ),
    (UPDATE, "pods"): (scheduling.keep_priority, scheduling.add_tolerations),
    (CREATE, storage.CLAIMS): (limits.admit_claim_size, storage.set_storage_class, storage.protect),
    (UPDATE, storage.CLAIMS): (storage.admit_resize,),
    (CREATE, storage.VOLUMES): (storage.protect,),
    (CREATE, storage.ATTRIBUTES_CLASSES): (storage.protect,),
    (CREATE, ingress_classes.INGRESSES): (ingress_classes.set_ingress_class,),
    (CREATE, pod_groups.GROUPS): (
        pod_groups.protect_pod_group,
        scheduling.set_group_priority,
        pod_groups.admit_pod_group,
    ),
    (CREATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (UPDATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (DELETE, scheduling.CLASSES): (scheduling.admit_class_deletion,),
    (DELETE, "namespaces"): (_keep_needed,),
}
"""What is done to the objects of a resource, in this order."""


def allocate(attempt: Attempt, subresource: str = "") -> None:
    """Gives what is about to be written what there is only one of: to a Service its addresses."""
    if attempt.definition.storage == "services" and not subresource:
        allocate_service(attempt.document, attempt.store, attempt.old)


def admit(attempt: Attempt, subresource: str = "") -> None:
    """Completes what is about to be written, in place. Raises a Refusal if the request may not go on."""
    definition, operation, store = attempt.definition, attempt.operation, attempt.store
    if definition.namespaced and operation == CREATE:
        admit_content(definition.name, attempt.name, attempt.namespace, store)
    elif definition.namespaced and operation == UPDATE and not store.get("namespaces", "", attempt.namespace):
        raise not_found("namespaces", attempt.namespace)
    if subresource:
        return
    for step in _STEPS.get((operation, definition.storage), ()):
        step(attempt)
