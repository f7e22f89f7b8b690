"""Claims get the default StorageClass, and what is in use is not deleted."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.storage import CLASS_ANNOTATION
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.quotas import claim_requests
from moorage.cluster.schema.forms import nanos

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
ATTRIBUTES_CLASSES = "volumeattributesclasses.storage.k8s.io"

_CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_FINALIZERS = {CLAIMS: "pvc", VOLUMES: "pv", ATTRIBUTES_CLASSES: "vac"}


def protect(attempt: Attempt) -> None:
    metadata = attempt.document["metadata"]
    finalizer = f"kubernetes.io/{_FINALIZERS[attempt.definition.storage]}-protection"
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, finalizer]


def set_storage_class(attempt: Attempt) -> None:
    spec = attempt.document["spec"]
    if spec.get("storageClassName") is None and _class_annotation(attempt.document) is None:
        name = default_class(attempt.store)
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
    newest = max(found, key=lambda metadata: metadata.get("creationTimestamp", ""), default={"name": ""})
    return str(newest["name"])


def admit_resize(attempt: Attempt) -> None:
    """Only claims of a class that says so can grow."""
    document, old = attempt.document, attempt.old or {}
    if part(old, "status").get("phase") != "Bound" or _size(document) <= _size(old):
        return
    name = part(document, "spec").get("storageClassName") or _class_annotation(document)
    stored = attempt.store.get(_CLASSES, "", name) if name else None
    if stored is None or not stored.document.get("allowVolumeExpansion"):
        raise attempt.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            "must support resize"
        )


def _class_annotation(document: Document) -> str | None:
    return (document["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)


def _size(document: Document) -> int:
    return nanos(claim_requests(document).get("storage", "0"))
