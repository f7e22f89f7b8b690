"""Nothing is created in a namespace that is not there, or no longer."""

from __future__ import annotations

from moorage.cluster.base.errors import Cause, forbidden, not_found
from moorage.cluster.base.store import Store
from moorage.cluster.objects.admission.attempt import CREATE, Attempt

IMMORTAL = ("default", "kube-system", "kube-public")


def admit_namespace(attempt: Attempt) -> None:
    if attempt.operation == CREATE:
        admit_content(attempt.definition.name, attempt.name, attempt.namespace, attempt.store)
    elif attempt.store.get("namespaces", "", attempt.namespace) is None:
        raise not_found("namespaces", attempt.namespace)


def admit_content(resource: str, name: str, namespace: str, store: Store) -> None:
    """For everything that is posted to a namespace, also what is not kept, such as a binding."""
    found = store.get("namespaces", "", namespace)
    if found is None:
        raise not_found("namespaces", namespace)
    if (found.document.get("status") or {}).get("phase") == "Terminating":
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        told = f"namespace {namespace} is being terminated"
        raise forbidden(
            resource, name, why, causes=[Cause("NamespaceTerminating", "metadata.namespace", told)]
        )


def admit_deletion(attempt: Attempt) -> None:
    name = attempt.document["metadata"]["name"]
    if name in IMMORTAL:
        raise forbidden("namespaces", name, "this namespace may not be deleted")
