"""Garbage collection: what becomes of objects whose owners go."""

from __future__ import annotations

import asyncio

from moorage.cluster.base.store import Change, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.objects.writes import InternalWriter

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
LOOK_FOR_RESOURCES = 1.0  # seconds between looks for resources that are new

_Place = tuple[str, str, str]  # resource, namespace, name


class Garbage(Controller):
    """Deletes objects none of whose owners are left, and finishes foreground and orphaning deletions.

    It knows the owners of all objects of all resources; a resource that gets its first object is noticed
    within a second. Keys of its queue are uids, since that is how owners are named.
    """

    name = "garbage collector"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._known: set[str] = set()
        self._places: dict[str, _Place] = {}
        self._dependents: objects.Groups[str, str] = objects.Groups()

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
        if new.owners != old.owners:
            self._forget_owners(uid, old)
        names = ("ownerReferences", "deletionTimestamp", "finalizers")
        if any(metadata.get(name) != before.get(name) for name in names):
            self._added(change.resource, new)

    def _added(self, resource: str, stored: Stored) -> None:
        uid = stored.uid
        self._places[uid] = (resource, stored.namespace, stored.name)
        for owner in stored.owners:
            self._dependents.add(owner.get("uid", ""), uid)
        if stored.owners or stored.is_deleted:
            self._queue.add(("", uid))

    def _forget_owners(self, uid: str, stored: Stored) -> None:
        for owner in stored.owners:
            owner_uid = owner.get("uid", "")
            self._dependents.discard(owner_uid, uid)
            # An owner in the middle of its deletion may have waited for this one.
            if owner_uid in self._places:
                self._queue.add(("", owner_uid))

    def _find(self, uid: str) -> tuple[str, Stored] | None:
        place = self._places.get(uid)
        stored = objects.same_object(self._store, place[0], place[1:], uid) if place else None
        return (place[0], stored) if place and stored else None

    async def _reconcile(self, key: objects.Key) -> None:
        uid = key[1]
        found = self._find(uid)
        if found is None:
            return
        resource, stored = found
        if stored.is_deleted:
            if ORPHAN in stored.finalizers:
                self._orphan_dependents(resource, stored)
            elif FOREGROUND in stored.finalizers:
                self._delete_dependents(resource, stored)
            return
        gone, waiting = self._sort(stored)
        if len(gone) + len(waiting) < len(stored.owners):
            if gone or waiting:
                objects.drop_owners(self._writer, resource, stored, gone | waiting)
        elif stored.owners:
            self._delete(resource, stored, blocked=bool(waiting) and uid in self._dependents)

    def _sort(self, stored: Stored) -> tuple[set[str], set[str]]:
        """The owners that are gone, and those that wait for this object to go."""
        gone: set[str] = set()
        waiting: set[str] = set()
        for reference in stored.owners:
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

    def _delete(self, resource: str, stored: Stored, *, blocked: bool) -> None:
        if ORPHAN in stored.finalizers:
            propagation = "Orphan"
        else:
            propagation = "Foreground" if blocked or FOREGROUND in stored.finalizers else "Background"
        objects.delete_if_there(self._writer, resource, stored, propagation)

    def _dependents_of(self, owner: Stored) -> list[tuple[str, Stored]]:
        return list(filter(None, map(self._find, sorted(self._dependents.get(owner.uid, ())))))

    def _delete_dependents(self, resource: str, owner: Stored) -> None:
        """Foreground: the owner stays until those that hold it are gone."""
        held = False
        for _, dependent in self._dependents_of(owner):
            references = [each for each in dependent.owners if each.get("uid") == owner.uid]
            held = held or any(each.get("blockOwnerDeletion") for each in references)
            if not dependent.is_deleted:
                self._queue.add(("", dependent.uid))
        if not held:
            objects.drop_finalizer(self._writer, resource, owner, FOREGROUND)

    def _orphan_dependents(self, resource: str, owner: Stored) -> None:
        for found in self._dependents_of(owner):
            objects.drop_owners(self._writer, *found, {owner.uid})
        objects.drop_finalizer(self._writer, resource, owner, ORPHAN)
