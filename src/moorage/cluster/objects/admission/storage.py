"""Claims get the default StorageClass, and what is in use is not deleted."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.persistent_volumes import CLASS_ANNOTATION
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.schema.forms import nanos

_CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def protect(document: Document, finalizer: str) -> None:
    metadata = document["metadata"]
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, finalizer]


def set_storage_class(attempt: Attempt, store: Store) -> None:
    document = attempt.document
    if CLASS_ANNOTATION in (document["metadata"].get("annotations") or {}):
        return
    spec = document["spec"]
    if spec.get("storageClassName") is not None:
        return
    name = default_class(store)
    if name:
        spec["storageClassName"] = name


def default_class(store: Store) -> str:
    """The newest of the default classes; of several from the same second the first by name."""
    found: list[Document] = []
    for stored in store.objects(_CLASSES):
        metadata = stored.document["metadata"]
        annotations = metadata.get("annotations") or {}
        if any(annotations.get(mark) == "true" for mark in _DEFAULT_MARKS):
            found.append(metadata)
    if not found:
        return ""
    name: str = max(found, key=lambda metadata: metadata.get("creationTimestamp", ""))["name"]
    return name


def admit_resize(attempt: Attempt, store: Store) -> None:
    """Only claims of a class that says so can grow."""
    old = attempt.old or {}
    if part(old, "status").get("phase") != "Bound":
        return
    if _size(attempt.document) <= _size(old):
        return
    name = part(attempt.document, "spec").get("storageClassName") or (
        attempt.document["metadata"].get("annotations") or {}
    ).get(CLASS_ANNOTATION)
    stored = store.get(_CLASSES, "", name) if name else None
    if stored is None or not stored.document.get("allowVolumeExpansion"):
        raise attempt.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            "must support resize"
        )


def _size(document: Document) -> int:
    return nanos(part(part(part(document, "spec"), "resources"), "requests").get("storage", "0"))
