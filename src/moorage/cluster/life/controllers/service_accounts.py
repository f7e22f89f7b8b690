"""What every namespace has from the start: an account for its pods and the cluster's certificates."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document
from moorage.cluster.life.controllers.controller import Controller, Key
from moorage.cluster.life.controllers.writer import Writer
from moorage.cluster.objects.system_objects import root_ca

DEFAULT = "default"
ROOT_CA = "kube-root-ca.crt"


class ServiceAccounts(Controller):
    def __init__(self, writer: Writer, ca: str) -> None:
        super().__init__("service account", writer)
        self._ca = ca

    def _begin(self) -> None:
        self._listen("namespaces", lambda change: self._queue.add(change.new.key))
        self._listen("serviceaccounts", self._content_changed)
        self._listen("configmaps", self._content_changed)
        self._add_all("namespaces")

    def _content_changed(self, change: Change) -> None:
        if change.new.name in (DEFAULT, ROOT_CA) and change.type != "ADDED":
            self._queue.add(("", change.new.namespace))

    async def _reconcile(self, key: Key) -> None:
        name = key[1]
        namespace = self._store.get("namespaces", "", name)
        if namespace is None or namespace.is_deleted:
            return
        if self._store.get("serviceaccounts", name, DEFAULT) is None:
            self._create("serviceaccounts", name, {"metadata": {"name": DEFAULT}})
        data = {"ca.crt": self._ca}
        certificates = self._store.get("configmaps", name, ROOT_CA)
        if certificates is None:
            self._create("configmaps", name, root_ca(self._ca))
        elif certificates.document.get("data") != data:
            self._writer.change("configmaps", certificates, lambda document: document.update(data=data))

    def _create(self, resource: str, namespace: str, document: Document) -> None:
        metadata = {**document["metadata"], "namespace": namespace}
        try:
            self._writer.create(resource, {**document, "metadata": metadata})
        except Refusal as refusal:
            if refusal.code != 409:
                raise
