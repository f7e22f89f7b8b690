"""The admission of requests: all that looks at other objects before something is written."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.access.users import User
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.service_allocation import allocate_service
from moorage.cluster.objects.admission.attempt import CREATE, DELETE, Attempt
from moorage.cluster.objects.admission.limits import admit_claim_size, apply_limits
from moorage.cluster.objects.admission.namespaces import admit_deletion, admit_namespace
from moorage.cluster.objects.admission.priorities import (
    admit_class_deletion,
    admit_priority_class,
    set_priority,
)
from moorage.cluster.objects.admission.quotas import admit_quota
from moorage.cluster.objects.admission.runtime_classes import admit_runtime_class
from moorage.cluster.objects.admission.service_accounts import random_suffix, set_service_account
from moorage.cluster.objects.admission.storage import admit_resize, protect, set_storage_class
from moorage.cluster.objects.admission.tolerations import add_tolerations
from moorage.cluster.schema.definitions import Definition


class Admission:
    """Completes what is about to be written, or refuses it."""

    def __init__(self, store: Store, *, suffix: Callable[[], str] = random_suffix) -> None:
        self._store = store
        self._suffix = suffix
        self._by_storage: dict[str, Callable[[Attempt], None]] = {
            "pods": self._pod,
            "services": self._service,
            "persistentvolumeclaims": self._claim,
            "persistentvolumes": self._volume,
            "priorityclasses.scheduling.k8s.io": self._priority_class,
            "volumeattributesclasses.storage.k8s.io": self._attributes_class,
        }

    def admit(
        self,
        definition: Definition,
        document: Document,
        old: Document | None,
        *,
        operation: str,
        subresource: str,
        user: User,
    ) -> None:
        """Changes the document in place. Raises a Refusal if the request may not go on."""
        namespace = document["metadata"].get("namespace", "")
        attempt = Attempt(definition, document, old, operation, namespace)
        if operation == DELETE:
            admit_deletion(attempt)
            admit_class_deletion(attempt)
            return
        if definition.namespaced:
            admit_namespace(attempt, self._store)
        if subresource:
            return
        special = self._by_storage.get(definition.storage)
        if special is not None:
            special(attempt)
        if operation == CREATE and definition.namespaced:
            admit_quota(attempt, self._store)

    def _pod(self, attempt: Attempt) -> None:
        if attempt.operation == CREATE:
            apply_limits(attempt, self._store)
            set_service_account(attempt, self._store, self._suffix)
        set_priority(attempt, self._store)
        add_tolerations(attempt.document)
        if attempt.operation == CREATE:
            admit_runtime_class(attempt)

    def _service(self, attempt: Attempt) -> None:
        allocate_service(attempt.document, self._store, attempt.old)

    def _claim(self, attempt: Attempt) -> None:
        if attempt.operation == CREATE:
            admit_claim_size(attempt, self._store)
            set_storage_class(attempt, self._store)
            protect(attempt.document, "kubernetes.io/pvc-protection")
        else:
            admit_resize(attempt, self._store)

    def _volume(self, attempt: Attempt) -> None:
        if attempt.operation == CREATE:
            protect(attempt.document, "kubernetes.io/pv-protection")

    def _attributes_class(self, attempt: Attempt) -> None:
        if attempt.operation == CREATE:
            protect(attempt.document, "kubernetes.io/vac-protection")

    def _priority_class(self, attempt: Attempt) -> None:
        admit_priority_class(attempt, self._store)
