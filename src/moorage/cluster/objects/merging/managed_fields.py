"""Who manages which fields: the entries of metadata.managedFields, and what changes do to them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.field_sets import LEAF, NOTHING, FieldSet
from moorage.cluster.objects.merging.fields import compare
from moorage.cluster.schema.model import Schema

APPLY = "Apply"
UPDATE = "Update"
MOST_UPDATERS = 10
OLD_UPDATERS = "ancient-changes"

_OF_SERVER = (
    *("clusterName", "creationTimestamp", "generation", "managedFields", "name", "namespace"),
    *("resourceVersion", "selfLink", "uid"),
)
_METADATA = {".": LEAF, **{f"f:{name}": LEAF for name in _OF_SERVER}}
_NEVER_MANAGED = FieldSet({"f:apiVersion": LEAF, "f:kind": LEAF, "f:metadata": _METADATA})

_STATUS_WITH_METADATA = (
    "DaemonSet", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget",
    "ReplicaSet", "ReplicationController", "ResourceQuota", "Service", "StatefulSet",
)  # fmt: skip
"""Kinds whose status address can change metadata. The others, and custom kinds, keep theirs."""
_KEPT_BY_STATUS = {
    "Pod": ("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "Deployment": ("spec", "metadata.labels"),
}


class Manager(NamedTuple):
    """Who has an entry. The version of one who applies does not tell entries apart."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        version = "" if self.operation == APPLY else self.api_version
        return self.name, self.operation, version, self.subresource


class Managed(NamedTuple):
    """What a manager has, and since when."""

    manager: Manager
    fields: FieldSet
    time: str

    def document(self) -> dict[str, Any]:
        entry = {
            "manager": self.manager.name,
            "operation": self.manager.operation,
            "apiVersion": self.manager.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
            "subresource": self.manager.subresource,
        }
        return {name: value for name, value in entry.items() if value or name == "fieldsV1"}


Entries = dict[tuple[str, str, str, str], Managed]


def track(
    schema: Schema,
    old: Document | None,
    new: Document,
    who: Manager,
    now: str,
    ignored: FieldSet | None = None,
) -> list[dict[str, Any]]:
    """The managedFields of a document that was created, updated or patched; empty if they are not tracked.

    `ignored` are fields that this address of the object cannot change; by default those of `reset_fields`.
    """
    entries = _entries_before(old, new, who.subresource)
    if not entries and old is not None:
        return []
    if ignored is None:
        ignored = reset_fields(new.get("kind", ""), who.subresource)
    managed = after_update(schema, old, new, entries, who, now, ignored)
    if managed is entries and old is not None:
        unchanged: list[dict[str, Any]] = old["metadata"].get("managedFields") or []
        if new["metadata"].get("managedFields") in (None, unchanged):
            return unchanged
    return encode(managed)


@cache
def reset_fields(kind: str, subresource: str) -> FieldSet:
    """What cannot be changed through an address of an object, so that nobody manages it there.

    Of a custom kind that has no status subresource, this does not hold.
    """
    if subresource not in ("", "status"):
        return NOTHING
    names = _KEPT_BY_STATUS.get(kind) or (
        ("spec",) if kind in _STATUS_WITH_METADATA else ("metadata", "spec")
    )
    fields = NOTHING
    for name in names if subresource else ("status",):
        first, _, second = name.partition(".")
        fields |= FieldSet({f"f:{first}": {f"f:{second}": LEAF} if second else LEAF})
    return fields


def after_update(
    schema: Schema,
    old: Document | None,
    new: Document,
    entries: Entries,
    who: Manager,
    now: str,
    ignored: FieldSet,
) -> Entries:
    """The entries after someone wrote `new` in place of `old`; the same ones if no field is different."""
    removed, changed = compare(schema, old, new)
    removed = stripped(removed.without_subtrees(ignored))
    changed = stripped(changed.without_subtrees(ignored))
    if not removed and not changed:
        return entries
    after: Entries = {}
    for key, managed in entries.items():
        fields = managed.fields - changed - removed
        if fields:
            after[key] = managed if fields is managed.fields else managed._replace(fields=fields)
    if changed:
        mine = after.get(who.key)
        after[who.key] = Managed(who, mine.fields | changed if mine else changed, now)
    return _without_too_many(after)


def stripped(fields: FieldSet) -> FieldSet:
    """Without the fields that nobody manages but the server."""
    return fields - _NEVER_MANAGED


def without_managed_fields(document: Document) -> Document:
    metadata = document["metadata"]
    if "managedFields" not in metadata:
        return document
    return {**document, "metadata": {name: metadata[name] for name in metadata if name != "managedFields"}}


def _entries_before(old: Document | None, new: Document, subresource: str) -> Entries:
    """The entries before a change.

    A client may write the list itself, and stop the tracking with an empty one; a list that cannot be
    understood counts as none. Through a subresource the list cannot be written.
    """
    lived = old["metadata"].get("managedFields") if old else None
    given = None if subresource else new["metadata"].get("managedFields")
    if given in ([], [{}]) and given != lived:
        return {}
    return (_given_entries(given) if given != lived else {}) or stored_entries(lived)


def stored_entries(managed_fields: list[dict[str, Any]] | None) -> Entries:
    """The entries of a list that `encode` made."""
    return _entries((document, FieldSet(document["fieldsV1"])) for document in managed_fields or ())


def _given_entries(managed_fields: Any) -> Entries:
    """The entries of a list that comes from a client; none if one of them is not in order."""
    if not isinstance(managed_fields, list) or not all(map(_is_entry, managed_fields)):
        return {}
    try:
        return _entries(
            (document, FieldSet.from_json(document.get("fieldsV1"))) for document in managed_fields
        )
    except ValueError:
        return {}


def _is_entry(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and document.get("operation") in (APPLY, UPDATE)
        and document.get("fieldsType") == "FieldsV1"
        and bool(document.get("apiVersion"))
        and all(
            isinstance(document.get(name) or "", str)
            for name in ("manager", "apiVersion", "subresource", "time")
        )
    )


def _entries(documents: Iterable[tuple[dict[str, Any], FieldSet]]) -> Entries:
    entries: Entries = {}
    for document, fields in documents:
        name, subresource, time = (document.get(key) or "" for key in ("manager", "subresource", "time"))
        who = Manager(name, document["operation"], document["apiVersion"], subresource)
        entries[who.key] = Managed(who, fields, time)
    return entries


def encode(entries: Entries) -> list[dict[str, Any]]:
    """The managedFields list, ordered: those who apply first, then by time."""

    def order(managed: Managed) -> tuple[str, ...]:
        name, operation, api_version, subresource = managed.manager
        return operation, managed.time, name, api_version, subresource

    return [managed.document() for managed in sorted(entries.values(), key=order)]


def _without_too_many(entries: Entries) -> Entries:
    """Puts the oldest updaters of a version together until there are few enough."""
    updaters = [managed for managed in entries.values() if managed.manager.operation == UPDATE]
    too_many = len(updaters) - MOST_UPDATERS
    if too_many <= 0:
        return entries
    updaters.sort(key=lambda managed: (managed.time, managed.manager))
    first: dict[str, Managed] = {}
    for managed in updaters:
        if not too_many:
            break
        version = managed.manager.api_version
        if version not in first:
            first[version] = managed
            continue
        bucket = Manager(OLD_UPDATERS, UPDATE, version, "")
        if bucket.key not in entries:
            entries[bucket.key] = entries.pop(first[version].manager.key)
        fields = managed.fields | entries[bucket.key].fields
        entries.pop(managed.manager.key)
        entries[bucket.key] = Managed(bucket, fields, managed.time)
        too_many -= 1
    return entries
