"""What several strategies do alike."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Strategy, keep_status


def keep_spec(new: Document, old: Document) -> None:
    """The spec is not for an update of the status; labels, annotations and finalizers are."""
    if "spec" in old:
        new["spec"] = old["spec"]
    else:
        new.pop("spec", None)


def part(document: Document, name: str) -> Document:
    """A part of a document that may be absent, to read from."""
    found: Document = document.get(name) or {}
    return found


def own_part(document: Document, name: str) -> Document:
    """A part of a document that may be absent, to write to."""
    found: Document | None = document.get(name)
    if found is None:
        found = document[name] = {}
    return found


class WithStatus(Strategy):
    """A kind whose status has an address of its own, through which metadata can be changed as well."""

    first_status: Document = {}
    """The status of every new object."""

    def prepare_create(self, document: Document) -> None:
        document["status"] = dict(self.first_status)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_spec(new, old)
