"""The admission of requests: all that looks at other objects before something is written."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.kinds.service_allocation import allocate_service
from moorage.cluster.objects.admission import namespaces, quotas, scheduling, service_accounts, storage
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, UPDATE, Attempt


def _allocate(attempt: Attempt) -> None:
    allocate_service(attempt.document, attempt.store, attempt.old)


_STEPS: dict[tuple[str, str], tuple[Callable[[Attempt], None], ...]] = {
    (CREATE, "pods"): (
        quotas.apply_limits,
        service_accounts.set_service_account,
        scheduling.set_priority,
        scheduling.add_tolerations,
        scheduling.admit_runtime_class,
    ),
    (UPDATE, "pods"): (scheduling.keep_priority, scheduling.add_tolerations),
    (CREATE, "services"): (_allocate,),
    (UPDATE, "services"): (_allocate,),
    (CREATE, storage.CLAIMS): (quotas.admit_claim_size, storage.set_storage_class, storage.protect),
    (UPDATE, storage.CLAIMS): (storage.admit_resize,),
    (CREATE, storage.VOLUMES): (storage.protect,),
    (CREATE, storage.ATTRIBUTES_CLASSES): (storage.protect,),
    (CREATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (UPDATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (DELETE, scheduling.CLASSES): (scheduling.admit_class_deletion,),
    (DELETE, "namespaces"): (namespaces.admit_deletion,),
}
"""What is done to the objects of a resource, in this order."""


def admit(attempt: Attempt, subresource: str = "") -> None:
    """Completes what is about to be written, in place. Raises a Refusal if the request may not go on."""
    operation, definition = attempt.operation, attempt.definition
    if definition.namespaced and operation != DELETE:
        namespaces.admit_namespace(attempt)
    if subresource:
        return
    for step in _STEPS.get((operation, definition.storage), ()):
        step(attempt)
    if definition.namespaced and operation == CREATE:
        quotas.admit_quota(attempt)
