"""Serves the resources that CustomResourceDefinitions define."""

from __future__ import annotations

import time
from collections.abc import Callable

from moorage.cluster.base.store import Change, Document, Store, Stored
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.custom.conversion import Conversions
from moorage.cluster.custom.definition_status import is_established, named_status, with_condition
from moorage.cluster.custom.strategy import CustomStrategy, StoredForm
from moorage.cluster.custom.structural import open_api_of, to_schema, versions_of
from moorage.cluster.schema.definitions import Definition, Definitions, Subresource

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_STATUS = Subresource("status", _PART_VERBS)
_SCALE = Subresource("scale", _PART_VERBS, kind="Scale", group="autoscaling", version="v1")


class CustomResources:
    """Keeps what is served in step with the stored definitions.

    Definitions count as soon as they are stored. What has to be written because of that, their status and the
    end of objects whose definition goes, is left to `settle`; `wake` is called when there is something to do,
    and must not call it at once, because the store is being written then. `ended` is called with the name of
    a definition that no longer says what it said: who watches its objects has to begin anew.
    """

    def __init__(
        self,
        definitions: Definitions,
        store: Store,
        *,
        clock: Clock = time.time,
        wake: Callable[[], object] = lambda: None,
        ended: Callable[[str], object] = lambda name: None,
        conversions: Conversions | None = None,
    ) -> None:
        self._definitions = definitions
        self._store = store
        self._clock = clock
        self._wake = wake
        self._ended = ended
        self._conversions = conversions
        self._served_as: dict[str, Document] = {}
        """What decides how each definition is served: as long as it is the same, nothing is done."""
        self._names: dict[str, tuple[str, Document]] = {}
        """The group and the names of each definition, ahead of what its stored status says."""
        self._ending: dict[str, Callable[[], None]] = {}
        """How to stop listening to the objects of each definition that is being deleted."""

    def start(self) -> None:
        """Serves what the store already defines, and from now on follows its changes."""
        self._store.listen(CRDS, self._on_change)
        stored = sorted(self._store.iterate(CRDS), key=lambda each: each.revision)
        for each in stored:
            if names := each.status.get("acceptedNames"):
                self._names[each.name] = (each.spec["group"], names)
        for each in stored:
            self._apply(each.document)
        if stored:
            self._wake()

    def _on_change(self, change: Change) -> None:
        if change.type == "DELETED":
            self._remove(change.new.name)
        else:
            self._apply(change.new.document)
        self._wake()

    def _apply(self, crd: Document) -> None:
        """Serves what the definition says, in place of what it said before, unless its names are taken."""
        name = crd["metadata"]["name"]
        status = self._status_of(crd)
        accepted = {**crd, "status": status}
        self._names[name] = (crd["spec"]["group"], status["acceptedNames"])
        wanted = {
            "spec": crd["spec"],
            "names": status["acceptedNames"],
            "established": is_established(accepted),
            "terminating": "deletionTimestamp" in crd["metadata"],
        }
        known = self._served_as.get(name)
        if known == wanted:
            return
        if known is not None and (known["spec"], known["names"]) != (wanted["spec"], wanted["names"]):
            self._ended(name)
        self._withdraw(name)
        self._served_as[name] = wanted
        if not wanted["established"] or self._is_built_in(name):
            return
        self._store.reread(name, StoredForm(crd).read)
        # That in which objects are stored comes first.
        versions = sorted(versions_of(crd["spec"]), key=lambda version: not version["storage"])
        for version in versions:
            if version["served"]:
                self._definitions.add(_definition(accepted, version, self._conversions))

    def _remove(self, name: str) -> None:
        """Serves the definition no longer."""
        self._withdraw(name)
        self._ended(name)
        self._names.pop(name, None)
        if name in self._ending:
            self._ending.pop(name)()

    def _withdraw(self, name: str) -> None:
        self._served_as.pop(name, None)
        for definition in self._definitions:
            if definition.custom and definition.storage == name:
                self._definitions.remove(definition)

    def _is_built_in(self, storage: str) -> bool:
        """Whether the server has such a resource of its own, with objects that no definition may touch."""
        found = self._definitions.of_storage(storage)
        return found is not None and not found.custom

    def _status_of(self, crd: Document) -> Document:
        """The status with the names the definition gets, given those that others of its group have."""
        group = crd["spec"]["group"]
        others = [names for its_group, names in self._names.values() if its_group == group]
        known = self._names.get(crd["metadata"]["name"])
        if known is not None:
            crd = {**crd, "status": {**(crd.get("status") or {}), "acceptedNames": known[1]}}
        return named_status(crd, others, self._now())

    def settle(self) -> None:
        """Writes what is due: the status of definitions, and the end of those that are being deleted."""
        changed = True
        while changed:
            changed = False
            for stored in self._store.objects(CRDS):
                if "deletionTimestamp" in stored.document["metadata"]:
                    changed |= self._end(stored)
                else:
                    crd = stored.document
                    changed |= self._write(stored, {**crd, "status": self._status_of(crd)})

    def _write(self, stored: Stored, document: Document) -> bool:
        """Writes a definition unless it is as it was; says whether it is not."""
        if document == stored.document:
            return False
        self._store.update(CRDS, stored, document)
        return True

    def _end(self, stored: Stored) -> bool:
        """Deletes the objects, and the definition when none is left. Says whether anything was written."""
        crd = stored.document
        metadata = crd["metadata"]
        if CLEANUP_FINALIZER not in metadata.get("finalizers", ()):
            return False
        if not self._is_built_in(stored.name):
            changed = self._delete_objects(stored.name)
            if self._store.count(stored.name):
                return self._wait_for_objects(stored) or changed
        finalizers = [each for each in metadata["finalizers"] if each != CLEANUP_FINALIZER]
        if finalizers:
            why = ("InstanceDeletionCompleted", "removed all instances")
            done = with_condition(stored.status, self._now(), "Terminating", False, *why)
            kept = {**metadata, "finalizers": finalizers}
            return self._write(stored, {**crd, "metadata": kept, "status": done})
        self._store.delete(CRDS, stored)
        return True

    def _wait_for_objects(self, stored: Stored) -> bool:
        if stored.name not in self._ending:
            self._ending[stored.name] = self._store.listen(stored.name, lambda change: self._wake())
        why = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
        going_on = with_condition(stored.status, self._now(), "Terminating", True, *why)
        return self._write(stored, {**stored.document, "status": going_on})

    def _delete_objects(self, storage: str) -> bool:
        changed = False
        for stored in self._store.objects(storage):
            metadata = stored.document["metadata"]
            if not metadata.get("finalizers"):
                self._store.delete(storage, stored)
            elif "deletionTimestamp" not in metadata:
                deleted = {"deletionTimestamp": self._now(), "deletionGracePeriodSeconds": 0}
                marked = {**metadata, **deleted, "generation": metadata.get("generation", 0) + 1}
                self._store.update(storage, stored, {**stored.document, "metadata": marked})
            else:
                continue
            changed = True
        return changed

    def _now(self) -> str:
        return timestamp(self._clock())


def terminating(crd: Document, now: str) -> Document:
    """A definition that somebody deleted: it stays until its objects are gone. To be stored instead."""
    metadata = crd["metadata"]
    if "deletionTimestamp" in metadata:
        return crd
    others = [each for each in metadata.get("finalizers", ()) if each != CLEANUP_FINALIZER]
    marked = {**metadata, "deletionTimestamp": now, "finalizers": [*others, CLEANUP_FINALIZER]}
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = with_condition(
        crd.get("status") or {}, now, "Terminating", True, "InstanceDeletionPending", message
    )
    return {**crd, "metadata": marked, "status": pending}


def _definition(crd: Document, version: Document, conversions: Conversions | None) -> Definition:
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    strategy = CustomStrategy(crd, version, conversions)
    served = ((_STATUS, strategy.has_status), (_SCALE, bool(strategy.scale_paths)))
    return Definition(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        schema=to_schema(open_api_of(version) or {}),
        storage=crd["metadata"]["name"],
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources={part.name: part for part, is_served in served if is_served},
        strategy=strategy,
        custom=True,
    )
