"""Nothing is created in a namespace that is not there, or no longer."""

from __future__ import annotations

from moorage.cluster.admission.attempt import CREATE, Attempt
from moorage.cluster.errors import forbidden, not_found
from moorage.cluster.store import Store

IMMORTAL = ("default", "kube-system", "kube-public")

_REVIEWS = "localsubjectaccessreviews.authorization.k8s.io"


def admit_namespace(attempt: Attempt, store: Store) -> None:
    name = attempt.namespace
    if attempt.definition.storage == _REVIEWS:
        return
    found = store.get("namespaces", "", name)
    if found is None:
        raise not_found("namespaces", name)
    if attempt.operation != CREATE:
        return
    if (found.document.get("status") or {}).get("phase") == "Terminating":
        refusal = attempt.forbidden(
            f"unable to create new content in namespace {name} because it is being terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        refusal.details = {**(refusal.details or {}), "causes": [cause]}
        raise refusal


def admit_deletion(attempt: Attempt) -> None:
    name = attempt.document["metadata"]["name"]
    if attempt.definition.storage == "namespaces" and name in IMMORTAL:
        raise forbidden("namespaces", name, "this namespace may not be deleted")
