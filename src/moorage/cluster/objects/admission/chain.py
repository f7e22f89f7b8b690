"""The admission of requests: all that looks at other objects before something is written."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.access.users import User
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.service_allocation import allocate_service
from moorage.cluster.objects.admission import (
    limits,
    namespaces,
    quotas,
    runtime_classes,
    scheduling,
    service_accounts,
    storage,
)
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, UPDATE, Attempt
from moorage.cluster.objects.stamping import random_suffix
from moorage.cluster.schema.definitions import Definition


def _allocate(attempt: Attempt) -> None:
    allocate_service(attempt.document, attempt.store, attempt.old)


_STEPS: dict[tuple[str, str], tuple[Callable[[Attempt], None], ...]] = {
    (CREATE, "pods"): (
        limits.apply_limits,
        service_accounts.set_service_account,
        scheduling.set_priority,
        scheduling.add_tolerations,
        runtime_classes.apply_runtime_class,
    ),
    (UPDATE, "pods"): (scheduling.keep_priority, scheduling.add_tolerations),
    (CREATE, "services"): (_allocate,),
    (UPDATE, "services"): (_allocate,),
    (CREATE, storage.CLAIMS): (limits.admit_claim_size, storage.set_storage_class, storage.protect),
    (UPDATE, storage.CLAIMS): (storage.admit_resize,),
    (CREATE, storage.VOLUMES): (storage.protect,),
    (CREATE, storage.ATTRIBUTES_CLASSES): (storage.protect,),
    (CREATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (UPDATE, scheduling.CLASSES): (scheduling.admit_priority_class,),
    (DELETE, scheduling.CLASSES): (scheduling.admit_class_deletion,),
    (DELETE, "namespaces"): (namespaces.admit_deletion,),
}
"""What is done to the objects of a resource, in this order."""


class Admission:
    """Completes what is about to be written, or refuses it."""

    def __init__(self, store: Store, *, suffix: Callable[[], str] = random_suffix) -> None:
        self._store = store
        self._suffix = suffix

    def admit(
        self,
        definition: Definition,
        document: Document,
        old: Document | None,
        *,
        operation: str,
        subresource: str = "",
        user: User,
    ) -> None:
        """Changes the document in place. Raises a Refusal if the request may not go on."""
        attempt = Attempt(definition, document, old, operation, self._store, self._suffix)
        if definition.namespaced and operation != DELETE:
            namespaces.admit_namespace(attempt)
        if subresource:
            return
        for step in _STEPS.get((operation, definition.storage), ()):
            step(attempt)
        if definition.namespaced and operation == CREATE:
            quotas.admit_quota(attempt)
