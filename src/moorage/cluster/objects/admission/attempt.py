"""One request on its way through admission."""

from __future__ import annotations

from typing import NamedTuple

from moorage.cluster.base.errors import Refusal, forbidden
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition

CREATE = "CREATE"
UPDATE = "UPDATE"
DELETE = "DELETE"

_SUFFIX = 5


class Attempt(NamedTuple):
    """What someone tries to do. `document` may be changed, `old` is only read."""

    definition: Definition
    document: Document
    old: Document | None
    operation: str
    namespace: str

    @property
    def name(self) -> str:
        """As messages have it: of a generated name only the beginning that was asked for."""
        metadata = self.document["metadata"]
        name: str = metadata.get("name", "")
        prefix: str = metadata.get("generateName", "")
        if prefix and self.operation == CREATE and (not name or name[:-_SUFFIX] == prefix[:58]):
            return prefix
        return name or "Unknown"

    def forbidden(self, why: str) -> Refusal:
        return forbidden(self.definition.name, self.name, why)
