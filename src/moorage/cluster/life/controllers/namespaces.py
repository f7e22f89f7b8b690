"""Namespaces: what is in them from the start, and what becomes of it when they are deleted."""

from __future__ import annotations

from moorage.cluster.base.parts import keep_only
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.objects.system_objects import root_ca
from moorage.cluster.objects.writes import InternalWriter

LOOK_AGAIN = 0.2  # seconds until a look whether what was deleted is gone
FINALIZER = "kubernetes"
DEFAULT = "default"
ROOT_CA = "kube-root-ca.crt"


class Namespaces(Controller):
    """Empties those that are deleted, and lets go of them then."""

    name = "namespace"

    def _begin(self) -> None:
        self._listen("namespaces", self._changed)
        self._add_all("namespaces")

    def _changed(self, change: Change) -> None:
        if change.type != "DELETED" and change.new.is_deleted:
            self._queue.add(change.new.key)

    async def _reconcile(self, key: objects.Key) -> float | None:
        namespace = self._store.get("namespaces", *key)
        if namespace is None or not namespace.is_deleted:
            return None
        if FINALIZER not in (namespace.spec.get("finalizers") or ()):
            return None
        breaks = Breaks()
        resources = [each for each in self._store.resources() if each != "events"]
        left = [each for each in resources if await self._empty(each, namespace, breaks)]
        # Events tell of what happens here until the end, so they go last.
        if left or await self._empty("events", namespace, breaks):
            return LOOK_AGAIN
        current = self._store.get("namespaces", *key)
        if current is not None:
            self._writer.change("namespaces", current, _let_go, subresource="finalize")
        return None

    async def _empty(self, resource: str, namespace: Stored, breaks: Breaks) -> bool:
        """Deletes the objects of one resource; says whether some are still there."""
        for stored in self._store.objects(resource, namespace.name):
            if stored.is_deleted or self._store.get(resource, stored.namespace, stored.name) is not stored:
                continue
            objects.delete_if_there(self._writer, resource, stored)
            await breaks.take()
        return next(self._store.iterate(resource, namespace.name), None) is not None


def _let_go(document: Document) -> None:
    keep_only(document.get("spec") or {}, "finalizers", lambda each: each != FINALIZER)


class ServiceAccounts(Controller):
    """Sees to what every namespace has: an account for its pods and the cluster's certificates."""

    name = "service account"

    def __init__(self, writer: InternalWriter, clock: Clock, ca: str) -> None:
        super().__init__(writer, clock)
        self._ca = ca

    def _begin(self) -> None:
        self._listen("namespaces", self._add)
        self._listen("serviceaccounts", self._content_changed)
        self._listen("configmaps", self._content_changed)
        self._add_all("namespaces")

    def _content_changed(self, change: Change) -> None:
        if change.new.name in (DEFAULT, ROOT_CA) and change.type != "ADDED":
            self._queue.add(("", change.new.namespace))

    async def _reconcile(self, key: objects.Key) -> None:
        name = key[1]
        namespace = self._store.get("namespaces", "", name)
        if namespace is None or namespace.is_deleted:
            return
        if self._store.get("serviceaccounts", name, DEFAULT) is None:
            self._writer.create("serviceaccounts", {"metadata": {"name": DEFAULT, "namespace": name}})
        data = {"ca.crt": self._ca}
        certificates = self._store.get("configmaps", name, ROOT_CA)
        if certificates is None:
            document = root_ca(self._ca)
            document["metadata"]["namespace"] = name
            self._writer.create("configmaps", document)
        elif certificates.document.get("data") != data:
            self._writer.change("configmaps", certificates, lambda document: document.update(data=data))
