"""Namespaces: what is in them from the start, and what becomes of it when they are deleted."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import keep_only
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock, seconds_of
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.namespace_conditions import Remains
from moorage.cluster.objects.system_objects import root_ca
from moorage.cluster.objects.writes import InternalWriter

LOOK_AGAIN = 0.2  # seconds until a look whether what was deleted is gone
LONGEST_WAIT = 2.0  # the same for a namespace that has been waiting for long
FINALIZER = "kubernetes"
DEFAULT = "default"
ROOT_CA = "kube-root-ca.crt"


class Namespaces(Controller):
    """Empties those that are deleted, their pods first, and lets go of them then."""

    name = "namespace"

    def _begin(self) -> None:
        self._listen("namespaces", self._changed)
        self._add_all("namespaces")

    def _changed(self, change: Change) -> None:
        new, old = change.new, change.old
        # Conditions are written here, and call for nothing.
        if new.is_deleted and (old is None or not old.is_deleted or old.spec != new.spec):
            self._queue.add(new.key)

    async def _reconcile(self, key: objects.Key) -> float | None:
        namespace = self._store.get("namespaces", *key)
        if namespace is None or not namespace.is_deleted:
            return None
        if FINALIZER not in (namespace.spec.get("finalizers") or ()):
            return None
        remains, breaks = Remains(), Breaks()
        for resources in self._order():
            for resource in resources:
                await self._empty(resource, namespace, remains, breaks)
            if remains.counts or remains.problems:
                break
        self._check_pods(namespace, remains)
        current = self._tell(key, remains)
        if remains.counts or remains.problems:
            waited = self._clock() - seconds_of(namespace.document["metadata"]["deletionTimestamp"])
            return max(LOOK_AGAIN, min(waited / 10, LONGEST_WAIT))
        if current is not None:
            self._writer.change("namespaces", current, _let_go, subresource="finalize")
        return None

    def _order(self) -> tuple[list[str], ...]:
        """What is deleted before what; events last, since they tell of what happens here until the end."""
        others = [each for each in self._store.resources() if each not in ("pods", "events")]
        return ["pods"], others, ["events"]

    async def _empty(self, resource: str, namespace: Stored, remains: Remains, breaks: Breaks) -> None:
        """Deletes the objects of one resource, and counts those that are still there."""
        for stored in self._store.objects(resource, namespace.name):
            if stored.is_deleted or self._store.get(resource, stored.namespace, stored.name) is not stored:
                continue
            try:
                objects.delete_if_there(self._writer, resource, stored)
            except Refusal as refusal:
                remains.problems.append(refusal.message)
            await breaks.take()
        for stored in self._store.iterate(resource, namespace.name):
            remains.counts[resource] += 1
            remains.finalizers.update(stored.finalizers)

    def _check_pods(self, namespace: Stored, remains: Remains) -> None:
        """Says that pods take longer than they may, if nothing else does."""
        if "pods" not in remains.counts or remains.finalizers:
            return
        graces = [
            pod.spec.get("terminationGracePeriodSeconds", 0)
            for pod in self._store.iterate("pods", namespace.name)
            if not objects.is_finished(pod)
        ]
        deleted = seconds_of(namespace.document["metadata"]["deletionTimestamp"])
        if self._clock() - deleted >= max(graces, default=0):
            where = f"namespace: {namespace.name} for gvr: /v1, Resource=pods"
            remains.problems.append(f"unexpected items still remain in {where}")

    def _tell(self, key: objects.Key, remains: Remains) -> Stored | None:
        """Writes what holds the namespace up; the namespace as it is then."""
        current = self._store.get("namespaces", *key)
        if current is None:
            return None
        conditions = remains.conditions(current, self._clock())
        status = {**current.status, "conditions": conditions}
        return objects.write_status(self._writer, "namespaces", current, status)


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
