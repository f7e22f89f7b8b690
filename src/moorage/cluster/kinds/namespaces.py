"""Namespaces, and the accounts of the pods in them."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, WithStatus, own_part, part
from moorage.cluster.kinds.metadata import finalizer_rules
from moorage.cluster.schema.checking import check_form
from moorage.cluster.schema.definitions import keep_field, keep_status

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class NamespaceStrategy(WithStatus):
    type_name = "core.v1.Namespace"

    first_status = {"phase": "Active"}

    def default(self, document: Document) -> None:
        _label(document)
        status = document.get("status")
        if status is not None and not status.get("phase"):
            document["status"] = {**status, "phase": "Active"}

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        spec = own_part(document, "spec")
        finalizers: list[str] = spec.get("finalizers") or []
        if FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, FINALIZER]
        _label(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        keep_field(own_part(new, "spec"), part(old, "spec"), "finalizers")
        _label(new)

    def prepare_finalize(self, new: Document, old: Document) -> None:
        """Keeps what an update of the `finalize` subresource cannot change."""
        keep_status(new, old)

    def validate(self, document: Document) -> Iterator[Cause]:
        for finalizer in part(document, "spec").get("finalizers") or ():
            yield from _finalizer("spec.finalizers", finalizer)

    def validate_finalize(self, new: Document) -> Iterator[Cause]:
        for index, finalizer in enumerate(part(new, "spec").get("finalizers") or ()):
            yield from _finalizer(f"spec.finalizers[{index}]", finalizer)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        phase = part(new, "status").get("phase", "")
        if new["metadata"].get("deletionTimestamp"):
            if phase != "Terminating":
                text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
                yield invalid_value("status.Phase", phase, text)
        elif phase != "Active":
            yield invalid_value("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


def _label(document: Document) -> None:
    metadata = document["metadata"]
    name = metadata.get("name")
    if name and (metadata.get("labels") or {}).get(NAME_LABEL) != name:
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: name}


def _finalizer(field: str, name: str) -> Iterator[Cause]:
    yield from check_form("qualified-name", name, field)
    yield from finalizer_rules(name, field)


class ServiceAccountStrategy(KindStrategy):
    type_name = "core.v1.ServiceAccount"

    def prepare_create(self, document: Document) -> None:
        """Of the secrets an account refers to, nothing but the name counts."""
        if document.get("secrets"):
            document["secrets"] = [
                {"name": secret["name"]} if secret.get("name") else {} for secret in document["secrets"]
            ]

    def prepare_update(self, new: Document, old: Document) -> None:
        self.prepare_create(new)
