"""A writer over a store that does of the API only what controllers and nodes rely on."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

from moorage.cluster.base.errors import Refusal, already_exists
from moorage.cluster.base.store import Document, Exists, Store, Stored
from moorage.cluster.base.times import Clock, seconds_of, timestamp
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.objects.writes import InternalWriter

_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


class FakeWriter(InternalWriter):
    def __init__(self, clock: Clock) -> None:
        self._store = Store()
        self.clock = clock
        self.refuse: Callable[[str, Document], Refusal | None] = lambda resource, document: None
        self._numbers = itertools.count(1)

    @property
    def store(self) -> Store:
        return self._store

    def create(self, resource: str, document: Document) -> Stored:
        refusal = self.refuse(resource, document)
        if refusal is not None:
            raise refusal
        metadata = document["metadata"]
        number = next(self._numbers)
        if "name" not in metadata:
            metadata["name"] = f"{metadata['generateName']}{number:05d}"
        metadata.setdefault("uid", f"uid-{number}")
        metadata.setdefault("creationTimestamp", timestamp(self.clock()))
        metadata["generation"] = 1
        if resource == "jobs.batch":  # their selectors are generated
            STRATEGIES[resource].default(document)
            STRATEGIES[resource].prepare_create(document)
        if resource == "pods":
            document.setdefault("status", {"phase": "Pending"})
        if resource == "namespaces":
            document["spec"] = {"finalizers": ["kubernetes"]}
        try:
            return self.store.create(resource, metadata.get("namespace", ""), metadata["name"], document)
        except Exists:
            raise already_exists(resource, metadata["name"]) from None

    def change(
        self,
        resource: str,
        stored: Stored,
        change: Callable[[Document], None],
        *,
        subresource: str = "",
    ) -> Stored | None:
        if self.store.get(resource, stored.namespace, stored.name) is not stored:
            return None
        document = copy.deepcopy(stored.document)
        change(document)
        old = stored.document
        if subresource == "status":
            document = {**old, "status": document.get("status", {})}
        elif "status" in old:
            document["status"] = old["status"]
        if document == old:
            return stored
        if not subresource and document.get("spec") != old.get("spec"):
            document["metadata"]["generation"] += 1
        new = self.store.update(resource, stored, document)
        metadata = new.document["metadata"]
        held = metadata.get("finalizers") or (
            resource == "namespaces" and new.document.get("spec", {}).get("finalizers")
        )
        if "deletionTimestamp" in metadata and not held and not metadata.get("deletionGracePeriodSeconds"):
            self.store.delete(resource, new)
        return new

    def delete(
        self,
        resource: str,
        stored: Stored,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> None:
        assert self.store.get(resource, stored.namespace, stored.name) is stored
        document = copy.deepcopy(stored.document)
        metadata = document["metadata"]
        finalizers = [*metadata.get("finalizers", [])]
        if propagation in _FINALIZERS:
            finalizers.append(_FINALIZERS[propagation])
        bound = resource == "pods" and document.get("spec", {}).get("nodeName")
        grace = (30 if grace_seconds is None else grace_seconds) if bound else 0
        if document.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            grace = 0
        if resource == "namespaces":
            finalizers = ["kubernetes"]
        if not finalizers and not grace:
            self.store.delete(resource, stored)
            return
        asked = self.clock()
        if "deletionTimestamp" in metadata:
            known = metadata.get("deletionGracePeriodSeconds", 0)
            asked = seconds_of(metadata["deletionTimestamp"]) - known
            grace = min(grace, known)
        else:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = timestamp(asked + grace)
        if resource == "namespaces":
            document["status"] = {"phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = grace
            metadata["finalizers"] = finalizers
        self.store.update(resource, stored, document)

    # For tests

    def document(self, resource: str, namespace: str, name: str) -> Any:
        stored = self.store.get(resource, namespace, name)
        assert stored is not None, (resource, namespace, name)
        return stored.document

    def edit(self, resource: str, namespace: str, name: str, change: Callable[[Document], None]) -> None:
        stored = self.store.get(resource, namespace, name)
        assert stored is not None
        assert self.change(resource, stored, change) is not None

    def end(
        self,
        resource: str,
        namespace: str,
        name: str,
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        stored = self.store.get(resource, namespace, name)
        assert stored is not None
        self.delete(resource, stored, propagation=propagation, grace_seconds=grace_seconds)

    def names(self, resource: str, namespace: str = "") -> list[str]:
        return [stored.name for stored in self.store.objects(resource, namespace)]

    def set_status(self, resource: str, stored: Stored, **status: Any) -> None:
        def update(document: Document) -> None:
            document["status"] = {**document.get("status", {}), **status}

        assert self.change(resource, stored, update, subresource="status") is not None
