"""Who owns an object, and the taking over and letting go of objects."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.facts import uid_of
from moorage.cluster.life.controllers.writer import Writer


def owners_of(stored: Stored) -> list[Document]:
    return stored.document["metadata"].get("ownerReferences") or []


def controller_of(stored: Stored) -> Document | None:
    """The reference to the one owner that manages an object."""
    for owner in stored.document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def is_controlled_by(stored: Stored, owner: Stored) -> bool:
    found = controller_of(stored)
    return found is not None and found.get("uid") == uid_of(owner)


def controller_reference(owner: Stored, api_version: str, kind: str) -> Document:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner.name,
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def adopt(writer: Writer, resource: str, stored: Stored, reference: Document) -> Stored | None:
    """Makes the one that is referred to the controller of an object that has none."""

    def add(document: Document) -> None:
        document["metadata"].setdefault("ownerReferences", []).append(reference)

    return writer.change(resource, stored, add)


def release(writer: Writer, resource: str, stored: Stored, uid: str) -> Stored | None:
    """Takes an owner away from an object."""

    def drop(document: Document) -> None:
        metadata = document["metadata"]
        left = [owner for owner in metadata.get("ownerReferences") or () if owner.get("uid") != uid]
        metadata["ownerReferences"] = left
        if not left:
            del metadata["ownerReferences"]

    return writer.change(resource, stored, drop)
