"""Garbage collection: what becomes of objects whose owners go."""

from __future__ import annotations

import asyncio

from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.controller import Controller, Key, same_object
from moorage.cluster.life.controllers.owners import drop_finalizer, drop_owners
from moorage.cluster.life.controllers.writer import Writer, delete_if_there

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
LOOK_FOR_RESOURCES = 1.0  # seconds between looks for resources that are new

_Place = tuple[str, str, str]  # resource, namespace, name


class Garbage(Controller):
    """Deletes objects none of whose owners are left, and finishes foreground and orphaning deletions.

    It knows the owners of all objects of all resources; a resource that gets its first object is noticed
    within a second. Keys of its queue are uids, since that is how owners are named.
    """

    def __init__(self, writer: Writer) -> None:
        super().__init__("garbage collector", writer)
        self._known: set[str] = set()
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, set[str]] = {}

    def _begin(self) -> None:
        self._discover()
        self._run_beside(self._keep_discovering())

    async def _keep_discovering(self) -> None:
        while True:
            await asyncio.sleep(LOOK_FOR_RESOURCES)
            self._discover()

    def _discover(self) -> None:
        """Listens to resources that are new."""
        found = [each for each in self._store.resources() if each not in self._known]
        for resource in found:
            self._known.add(resource)
            self._listen(resource, self._changed)
            for stored in self._store.iterate(resource):
                self._added(resource, stored)
        if found:
            # An owner that came and went before anyone listened is not known to have been there.
            for owner, dependents in self._dependents.items():
                if owner not in self._places:
                    for uid in dependents:
                        self._queue.add(("", uid))

    def _changed(self, change: Change) -> None:
        new, old = change.new, change.old
        if change.type == "ADDED" or old is None:
            self._added(change.resource, new)
            return
        uid = new.uid
        if change.type == "DELETED":
            self._places.pop(uid, None)
            self._forget_owners(uid, new)
            for dependent in self._dependents.get(uid, ()):
                self._queue.add(("", dependent))
            return
        metadata, before = new.document["metadata"], old.document["metadata"]
        if metadata.get("ownerReferences") != before.get("ownerReferences"):
            self._forget_owners(uid, old)
            self._added(change.resource, new)
        elif metadata.get("deletionTimestamp") != before.get("deletionTimestamp") or (
            metadata.get("finalizers") != before.get("finalizers")
        ):
            self._added(change.resource, new)

    def _added(self, resource: str, stored: Stored) -> None:
        uid = stored.uid
        self._places[uid] = (resource, stored.namespace, stored.name)
        owners = stored.owners
        for owner in owners:
            self._dependents.setdefault(owner.get("uid", ""), set()).add(uid)
        if owners or stored.is_deleted:
            self._queue.add(("", uid))

    def _forget_owners(self, uid: str, stored: Stored) -> None:
        for owner in stored.owners:
            owner_uid = owner.get("uid", "")
            others = self._dependents.get(owner_uid)
            if others is not None:
                others.discard(uid)
                if not others:
                    del self._dependents[owner_uid]
            # An owner in the middle of its deletion may have waited for this one.
            if owner_uid in self._places:
                self._queue.add(("", owner_uid))

    def _find(self, uid: str) -> tuple[str, Stored] | None:
        place = self._places.get(uid)
        stored = same_object(self._store, place[0], place[1:], uid) if place else None
        return (place[0], stored) if place and stored else None

    async def _reconcile(self, key: Key) -> None:
        uid = key[1]
        found = self._find(uid)
        if found is None:
            return
        resource, stored = found
        if stored.is_deleted:
            finalizers = stored.finalizers
            if ORPHAN in finalizers:
                self._orphan_dependents(resource, stored)
            elif FOREGROUND in finalizers:
                self._delete_dependents(resource, stored)
            return
        owners = stored.owners
        if not owners:
            return
        gone, waiting = self._sort(stored, owners)
        if len(gone) + len(waiting) < len(owners):
            if gone or waiting:
                drop_owners(self._writer, resource, stored, gone | waiting)
            return
        blocked = bool(waiting) and bool(self._dependents.get(uid))
        self._delete(resource, stored, "Foreground" if blocked else "Background")

    def _sort(self, stored: Stored, owners: list[Document]) -> tuple[set[str], set[str]]:
        """The owners that are gone, and those that wait for this object to go."""
        gone: set[str] = set()
        waiting: set[str] = set()
        for reference in owners:
            uid = reference.get("uid", "")
            found = self._find(uid)
            if found is None:
                self._discover()
                found = self._find(uid)
            if found is None or found[1].namespace not in ("", stored.namespace):
                gone.add(uid)
            elif found[1].is_deleted and FOREGROUND in found[1].finalizers:
                waiting.add(uid)
        return gone, waiting

    def _delete(self, resource: str, stored: Stored, propagation: str) -> None:
        finalizers = stored.finalizers
        if ORPHAN in finalizers:
            propagation = "Orphan"
        elif FOREGROUND in finalizers:
            propagation = "Foreground"
        delete_if_there(self._writer, resource, stored, propagation)

    def _delete_dependents(self, resource: str, owner: Stored) -> None:
        """Foreground: the owner stays until those that hold it are gone."""
        uid = owner.uid
        held = False
        for dependent in sorted(self._dependents.get(uid, ())):
            found = self._find(dependent)
            if found is None:
                continue
            references = [each for each in found[1].owners if each.get("uid") == uid]
            held = held or any(each.get("blockOwnerDeletion") for each in references)
            if not found[1].is_deleted:
                self._queue.add(("", dependent))
        if not held:
            drop_finalizer(self._writer, resource, owner, FOREGROUND)

    def _orphan_dependents(self, resource: str, owner: Stored) -> None:
        uid = owner.uid
        for dependent in sorted(self._dependents.get(uid, ())):
            found = self._find(dependent)
            if found is not None:
                drop_owners(self._writer, *found, {uid})
        drop_finalizer(self._writer, resource, owner, ORPHAN)
