"""Claims get the default StorageClass, and what is in use is not deleted."""

from __future__ import annotations

from moorage.cluster.base.parts import value
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.storage import CLASS_ANNOTATION
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.limits import claim_requests
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
    unnamed = spec.get("storageClassName") is None and _class_annotation(attempt.document) is None
    if unnamed and (name := default_class(attempt.store)):
        spec["storageClassName"] = name


def default_class(store: Store) -> str:
    """The newest of the default classes; of several from the same second the first by name."""
    every = store.objects(_CLASSES)
    defaults = [each for each in every if "true" in map(each.annotations.get, _DEFAULT_MARKS)]
    newest = max(defaults, key=lambda each: each.created, default=None)
    return newest.name if newest is not None else ""


def admit_resize(attempt: Attempt) -> None:
    """Only claims of a class that says so can grow."""
    document, old = attempt.document, attempt.old or {}
    if value(old, "status", "phase") != "Bound" or _size(document) <= _size(old):
        return
    name = value(document, "spec", "storageClassName") or _class_annotation(document)
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
