"""Ingresses get the default class."""

from __future__ import annotations

from moorage.cluster.base.store import Store
from moorage.cluster.kinds.common import own_part
from moorage.cluster.kinds.networking.ingresses import CLASS_ANNOTATION
from moorage.cluster.objects.admission.attempt import Attempt

INGRESSES = "ingresses.networking.k8s.io"
_CLASSES = "ingressclasses.networking.k8s.io"
_DEFAULT_MARK = "ingressclass.kubernetes.io/is-default-class"


def set_ingress_class(attempt: Attempt) -> None:
    document = attempt.document
    noted = CLASS_ANNOTATION in (document["metadata"].get("annotations") or {})
    spec = document.get("spec") or {}
    if not noted and spec.get("ingressClassName") is None and (name := _default_class(attempt.store)):
        own_part(document, "spec")["ingressClassName"] = name


def _default_class(store: Store) -> str:
    """The newest of the default classes; of several from the same second the first by name."""
    defaults = [each for each in store.objects(_CLASSES) if each.annotations.get(_DEFAULT_MARK) == "true"]
    newest = max(defaults, key=lambda each: each.created, default=None)
    return newest.name if newest is not None else ""
