"""One request on its way through admission."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from moorage.cluster.base.errors import Refusal, forbidden
from moorage.cluster.base.store import Document, Store
from moorage.cluster.objects.identity import is_generated, random_suffix
from moorage.cluster.schema.definitions import Definition

CREATE = "CREATE"
UPDATE = "UPDATE"
DELETE = "DELETE"


class Attempt(NamedTuple):
    """What someone tries to do. `document` may be changed; `old`, and what is in the store, is only read."""

    definition: Definition
    document: Document
    old: Document | None
    operation: str
    store: Store
    suffix: Callable[[], str] = random_suffix
    """Makes the ends of names."""

    @property
    def namespace(self) -> str:
        return self.document["metadata"].get("namespace") or ""

    @property
    def name(self) -> str:
        """As messages have it: of a generated name only the beginning that was asked for."""
        metadata = self.document["metadata"]
        name: str = metadata.get("name", "")
        prefix: str = metadata.get("generateName", "")
        if prefix and self.operation == CREATE and (not name or is_generated(name, prefix)):
            return prefix
        return name or "Unknown"

    def forbidden(self, why: str) -> Refusal:
        return forbidden(self.definition.name, self.name, why)
