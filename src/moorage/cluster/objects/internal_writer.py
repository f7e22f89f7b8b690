"""How the cluster's own parts write: through the same door as requests, but without asking for rights."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from moorage.cluster.access.write_options import Options
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.objects.deletion import DeleteOptions
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.definitions import Definition

_decode = msgspec.json.Decoder(Document).decode  # quicker than a deep copy


class InternalWriter:
    """What controllers and nodes write with. Nobody is noted as the owner of the fields they set."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    @property
    def store(self) -> Store:
        return self._objects.store

    def create(self, resource: str, document: Document) -> Stored:
        definition = self._definition(resource)
        document = {"apiVersion": definition.api_version, "kind": definition.kind, **document}
        namespace = document["metadata"].get("namespace", "")
        return self._objects.create(definition, namespace, document, Options())

    def change(
        self, resource: str, stored: Stored, change: Callable[[Document], None], *, subresource: str = ""
    ) -> Stored | None:
        if self.store.get(resource, stored.namespace, stored.name) is not stored:
            return None
        document = _decode(stored.body)
        change(document)
        return self._objects.update(self._definition(resource), stored, document, Options(), subresource)

    def delete(
        self,
        resource: str,
        stored: Stored,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> None:
        current = self.store.get(resource, stored.namespace, stored.name)
        if current is None or current.document["metadata"]["uid"] != stored.document["metadata"]["uid"]:
            return
        options = DeleteOptions(grace_seconds=grace_seconds, propagation=propagation)
        self._objects.delete(self._definition(resource), stored.namespace, stored.name, options)

    def _definition(self, resource: str) -> Definition:
        definition = self._objects.definitions.of_storage(resource)
        if definition is None:
            raise LookupError(f"{resource}: is not served")
        return definition
