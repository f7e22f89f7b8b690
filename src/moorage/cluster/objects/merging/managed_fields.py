"""Who manages which fields: the entries of metadata.managedFields, and what changes do to them."""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.comparing import compare
from moorage.cluster.objects.merging.field_sets import FieldSet
from moorage.cluster.objects.merging.reset_fields import reset_fields
from moorage.cluster.schema.model import Schema

APPLY = "Apply"
UPDATE = "Update"
MOST_UPDATERS = 10
OLD_UPDATERS = "ancient-changes"

_NEVER_MANAGED = FieldSet.from_json(
    {
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {
            ".": {},
            **{
                f"f:{name}": {}
                for name in (
                    "clusterName",
                    "creationTimestamp",
                    "generation",
                    "managedFields",
                    "name",
                    "namespace",
                    "resourceVersion",
                    "selfLink",
                    "uid",
                )
            },
        },
    }
)


class Manager(NamedTuple):
    """Who has an entry. The version of one who applies does not tell entries apart."""

    name: str
    operation: str
    api_version: str
    subresource: str

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
    *,
    manager: str,
    operation: str = UPDATE,
    subresource: str = "",
    api_version: str,
    now: str,
    ignored: FieldSet | None = None,
) -> list[dict[str, Any]]:
    """The managedFields of a document that was created, updated or patched; empty if they are not tracked.

    `ignored` are fields that this address of the object cannot change; by default those of `reset_fields`.
    """
    entries, tracked = _entries_before(old, new, subresource)
    if not tracked:
        return []
    who = Manager(manager or "unknown", operation, api_version, subresource)
    if ignored is None:
        ignored = reset_fields(new.get("kind", ""), subresource)
    managed = after_update(schema, old, new, entries, who, now, ignored)
    if managed is entries and old is not None:
        unchanged: list[dict[str, Any]] = old["metadata"].get("managedFields") or []
        if new["metadata"].get("managedFields") in (None, unchanged):
            return unchanged
    return encode(managed)


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


def _entries_before(old: Document | None, new: Document, subresource: str) -> tuple[Entries, bool]:
    """The entries before a change, and whether to go on tracking.

    A client may write the list itself, and stop the tracking with an empty one; a list that cannot be
    understood counts as none. Through a subresource the list cannot be written.
    """
    lived = old["metadata"].get("managedFields") if old else None
    given = None if subresource else new["metadata"].get("managedFields")
    if given is None or given == lived:
        entries = stored_entries(lived)
    elif given in ([], [{}]):
        entries = {}
    else:
        try:
            entries = decode(given)
        except ValueError:
            entries = {}
        entries = entries or stored_entries(lived)
    return entries, bool(entries) or old is None


def stored_entries(managed_fields: list[dict[str, Any]] | None) -> Entries:
    """The entries of a list that `encode` made."""
    entries: Entries = {}
    for document in managed_fields or ():
        who = Manager(
            document.get("manager", ""),
            document["operation"],
            document["apiVersion"],
            document.get("subresource", ""),
        )
        entries[who.key] = Managed(who, FieldSet(document["fieldsV1"]), document.get("time", ""))
    return entries


def decode(managed_fields: Any) -> Entries:
    """The entries of a list that comes from a client. Raises ValueError for one that is not in order."""
    entries: Entries = {}
    if not managed_fields:
        return entries
    if not isinstance(managed_fields, list):
        raise ValueError("managedFields must be a list")
    for position, document in enumerate(managed_fields):
        if not isinstance(document, dict):
            raise ValueError("entries must be objects")
        operation, api_version = document.get("operation"), document.get("apiVersion")
        if operation not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not isinstance(api_version, str) or not api_version:
            raise ValueError("apiVersion must not be empty")
        if document.get("fieldsType") != "FieldsV1":
            raise ValueError(f"missing or invalid fieldsType in managed fields entry {position}")
        name, subresource = document.get("manager", ""), document.get("subresource", "")
        time = document.get("time") or ""
        if not (isinstance(name, str) and isinstance(subresource, str) and isinstance(time, str)):
            raise ValueError(f"wrong types in managed fields entry {position}")
        who = Manager(name, operation, api_version, subresource)
        entries[who.key] = Managed(who, FieldSet.from_json(document.get("fieldsV1")), time)
    return entries


def encode(entries: Entries) -> list[dict[str, Any]]:
    """The managedFields list, ordered: those who apply first, then by time."""
    ordered = sorted(
        entries.values(),
        key=lambda managed: (
            managed.manager.operation,
            managed.time,
            managed.manager.name,
            managed.manager.api_version,
            managed.manager.subresource,
        ),
    )
    return [managed.document() for managed in ordered]


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
