"""Namespaces that are deleted: first all that is in them, then they themselves."""

from __future__ import annotations

from moorage.cluster.base.parts import keep_only
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.controller import Breaks, Controller, Key
from moorage.cluster.life.controllers.writer import Writer, delete_if_there

LOOK_AGAIN = 0.2  # seconds until a look whether what was deleted is gone
FINALIZER = "kubernetes"


class Namespaces(Controller):
    def __init__(self, writer: Writer) -> None:
        super().__init__("namespace", writer)

    def _begin(self) -> None:
        self._listen("namespaces", self._changed)
        self._add_all("namespaces")

    def _changed(self, change: Change) -> None:
        if change.type != "DELETED" and change.new.is_deleted:
            self._queue.add(change.new.key)

    async def _reconcile(self, key: Key) -> float | None:
        namespace = self._store.get("namespaces", *key)
        if namespace is None or not namespace.is_deleted:
            return None
        if FINALIZER not in (namespace.spec.get("finalizers") or ()):
            return None
        left = False
        breaks = Breaks()
        for resource in self._store.resources():
            # Events tell of what happens here until the end, so they go last.
            if resource != "events":
                left = await self._empty(resource, namespace, breaks) or left
        if left:
            return LOOK_AGAIN
        if await self._empty("events", namespace, breaks):
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
            delete_if_there(self._writer, resource, stored)
            await breaks.take()
        return next(self._store.iterate(resource, namespace.name), None) is not None


def _let_go(document: Document) -> None:
    keep_only(document.get("spec") or {}, "finalizers", lambda each: each != FINALIZER)
