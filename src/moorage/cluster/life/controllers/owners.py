"""Who owns an object, and the taking over and letting go of objects."""

from __future__ import annotations

from moorage.cluster.base.parts import keep_only
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.writer import Writer


def controller_of(stored: Stored) -> Document | None:
    """The reference to the one owner that manages an object."""
    return next((owner for owner in stored.owners if owner.get("controller")), None)


def is_controlled_by(stored: Stored, owner: Stored) -> bool:
    found = controller_of(stored)
    return found is not None and found.get("uid") == owner.uid


def controller_reference(owner: Stored, api_version: str, kind: str) -> Document:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def adopt(writer: Writer, resource: str, stored: Stored, reference: Document) -> Stored | None:
    """Makes the one that is referred to the controller of an object that has none."""

    def add(document: Document) -> None:
        document["metadata"].setdefault("ownerReferences", []).append(reference)

    return writer.change(resource, stored, add)


def drop_owners(writer: Writer, resource: str, stored: Stored, uids: set[str]) -> None:
    """Takes owners away from an object."""

    def drop(document: Document) -> None:
        keep_only(document["metadata"], "ownerReferences", lambda owner: owner.get("uid") not in uids)

    writer.change(resource, stored, drop)


def drop_finalizer(writer: Writer, resource: str, stored: Stored, finalizer: str) -> None:
    def drop(document: Document) -> None:
        keep_only(document["metadata"], "finalizers", lambda each: each != finalizer)

    writer.change(resource, stored, drop)
