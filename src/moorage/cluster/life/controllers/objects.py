"""What controllers and nodes ask about objects, and the changes that many of them make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import condition, keep_only
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.writes import InternalWriter

Key = tuple[str, str]
"""Namespace and name of an object."""

FINISHED = ("Succeeded", "Failed")

G = TypeVar("G")
T = TypeVar("T")


class Groups(dict[G, set[T]]):
    """Items in groups; a group without items is none."""

    def add(self, group: G, item: T) -> None:
        self.setdefault(group, set()).add(item)

    def discard(self, group: G, item: T) -> None:
        items = self.get(group, set())
        items.discard(item)
        if not items:
            self.pop(group, None)


def is_ending(store: Store, namespace: str) -> bool:
    """Whether a namespace is on its way out, so that nothing can be created in it."""
    found = store.get("namespaces", "", namespace)
    return found is not None and found.is_deleted


def same_object(store: Store, resource: str, key: Key, uid: str) -> Stored | None:
    """An object as it is now; None if it is gone, also when there is another one of its name."""
    found = store.get(resource, *key)
    return found if found is not None and found.uid == uid else None


def pods_of(store: Store, keys: Iterable[Key]) -> list[Stored]:
    """Those that are still there."""
    return [pod for key in keys if (pod := store.get("pods", *key)) is not None]


def is_finished(pod: Stored) -> bool:
    return pod.status.get("phase") in FINISHED


def is_active(pod: Stored) -> bool:
    """Whether a pod is neither finished nor being deleted."""
    return not is_finished(pod) and not pod.is_deleted


def ready_condition(pod: Stored) -> Document | None:
    """The Ready condition of a pod that is ready."""
    found = condition(pod.status, "Ready")
    return found if found is not None and found.get("status") == "True" else None


def since(known: Document | None, value: str, now: float) -> str:
    """From when on a condition has this value: now, unless it has it already."""
    same = known if known is not None and known.get("status") == value else {}
    return same.get("lastTransitionTime") or timestamp(now)


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


def copied(document: Document) -> Document:
    """A document that shares nothing with those it was put together from."""
    made: Document = msgspec.json.decode(msgspec.json.encode(document))
    return made


# Changes; what has meanwhile changed or gone is not changed


def write_status(writer: InternalWriter, resource: str, stored: Stored, status: Document) -> Stored | None:
    """Writes a status that is another than before; None if the object has meanwhile changed or gone."""
    if status == stored.status:
        return stored
    return writer.change(
        resource, stored, lambda document: document.update(status=status), subresource="status"
    )


def delete_if_there(
    writer: InternalWriter, resource: str, stored: Stored, propagation: str = "Background"
) -> None:
    try:
        writer.delete(resource, stored, propagation=propagation)
    except Refusal as refusal:
        if refusal.code not in (404, 409):
            raise


def adopt(writer: InternalWriter, resource: str, stored: Stored, reference: Document) -> Stored | None:
    """Makes the one that is referred to the controller of an object that has none."""

    def add(document: Document) -> None:
        document["metadata"].setdefault("ownerReferences", []).append(reference)

    return writer.change(resource, stored, add)


def drop_owners(writer: InternalWriter, resource: str, stored: Stored, uids: set[str]) -> None:
    def drop(document: Document) -> None:
        keep_only(document["metadata"], "ownerReferences", lambda owner: owner.get("uid") not in uids)

    writer.change(resource, stored, drop)


def drop_finalizer(writer: InternalWriter, resource: str, stored: Stored, finalizer: str) -> None:
    def drop(document: Document) -> None:
        keep_only(document["metadata"], "finalizers", lambda each: each != finalizer)

    writer.change(resource, stored, drop)
