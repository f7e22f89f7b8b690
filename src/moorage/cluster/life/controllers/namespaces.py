"""Namespaces that are deleted: first all that is in them, then they themselves."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.facts import is_deleted, key_of, spec_of
from moorage.cluster.life.controllers.queue import Breaks, Key, Queue
from moorage.cluster.life.controllers.writer import Writer

LOOK_AGAIN = 0.2  # seconds until a look whether what was deleted is gone
FINALIZER = "kubernetes"


class Namespaces:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._store = writer.store
        self._queue = Queue("namespace", self._reconcile)
        self._silence: Callable[[], None] = lambda: None

    def start(self) -> None:
        self._silence = self._store.listen("namespaces", self._changed)
        for namespace in self._store.iterate("namespaces"):
            self._queue.add(key_of(namespace))
        self._queue.start()

    async def stop(self) -> None:
        self._silence()
        await self._queue.stop()

    def _changed(self, change: Change) -> None:
        if change.type != "DELETED" and is_deleted(change.new):
            self._queue.add(key_of(change.new))

    async def _reconcile(self, key: Key) -> float | None:
        namespace = self._store.get("namespaces", *key)
        if namespace is None or not is_deleted(namespace):
            return None
        if FINALIZER not in (spec_of(namespace).get("finalizers") or ()):
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
            if is_deleted(stored) or self._store.get(resource, stored.namespace, stored.name) is not stored:
                continue
            try:
                self._writer.delete(resource, stored)
            except Refusal as refusal:
                if refusal.code not in (404, 409):
                    raise
            await breaks.take()
        return next(self._store.iterate(resource, namespace.name), None) is not None


def _let_go(document: Document) -> None:
    spec = document.get("spec") or {}
    left = [each for each in spec.pop("finalizers", ()) if each != FINALIZER]
    if left:
        spec["finalizers"] = left
