"""The form in which custom objects are kept, whichever version they are written in."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.custom.open_api import open_api_of, versions_of
from moorage.cluster.custom.structural import declared_schema
from moorage.cluster.custom.values import default, prune


class StoredForm:
    """Every object is kept in the version that was the stored one when it was written.

    By the schema of that version it is completed when it is read, and loses what is unknown: what is read is
    as the present definition says, even if it was written under an earlier one.
    """

    def __init__(self, definition: Document) -> None:
        spec = definition["spec"]
        versions = {f"{spec['group']}/{version['name']}": version for version in versions_of(spec)}
        self._schemas = {
            name: declared_schema(open_api_of(version) or {}) for name, version in versions.items()
        }
        self._present = next((name for name, version in versions.items() if version["storage"]), "")

    def written(self, document: Document) -> Document:
        return self.read({**document, "apiVersion": self._present})

    def read(self, document: Document) -> Document:
        schema = self._schemas.get(document["apiVersion"])
        if schema is None:
            return document
        known, _ = prune(schema, document)
        default(schema, known)
        known["metadata"] = document["metadata"]
        return known
