"""How controllers and nodes change objects: as a client would, but without the network between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Store, Stored


class Writer(Protocol):
    """Writes objects with all that the API does to them: defaults, admission, validation, finalizers."""

    @property
    def store(self) -> Store: ...

    def create(self, resource: str, document: Document) -> Stored:
        """Takes the document over and stores it. Raises Refusal."""

    def change(
        self, resource: str, stored: Stored, change: Callable[[Document], None], *, subresource: str = ""
    ) -> Stored | None:
        """Writes what `change` makes of a copy; None if the object has meanwhile changed or gone."""

    def delete(
        self,
        resource: str,
        stored: Stored,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """Deletes an object, or starts to where finalizers or a grace period keep it for a while."""


def write_status(writer: Writer, resource: str, stored: Stored, status: Document) -> Stored | None:
    """Writes a status that is another than before; None if the object has meanwhile changed or gone."""
    if status == stored.status:
        return stored
    return writer.change(
        resource, stored, lambda document: document.update(status=status), subresource="status"
    )


def delete_if_there(writer: Writer, resource: str, stored: Stored, propagation: str = "Background") -> None:
    """Deletes an object unless it has meanwhile changed or gone."""
    try:
        writer.delete(resource, stored, propagation=propagation)
    except Refusal as refusal:
        if refusal.code not in (404, 409):
            raise
