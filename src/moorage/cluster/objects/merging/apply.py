"""Server-side apply: a configuration is merged into an object, and its manager has the fields in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from moorage.cluster.base.errors import Cause, Refusal, apply_conflict, bad_request, unreasoned
from moorage.cluster.base.quoting import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.comparing import compare, mentioned_fields
from moorage.cluster.objects.merging.configurations import (
    merged,
    shape_errors,
    with_parents,
    without,
    without_emptied,
)
from moorage.cluster.objects.merging.field_sets import NOTHING, FieldSet, path_text
from moorage.cluster.objects.merging.managed_fields import (
    APPLY,
    UPDATE,
    Entries,
    Managed,
    Manager,
    after_update,
    encode,
    stored_entries,
    stripped,
)
from moorage.cluster.objects.merging.reset_fields import reset_fields
from moorage.cluster.schema.model import Schema

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST_ANNOTATED = 256 * 1024  # bytes of all annotations of an object
KUBECTL = "kubectl"
"""The manager whose applies look after the annotation of client-side applies."""


class Conflict(NamedTuple):
    """A field whose value someone else has set."""

    manager: Manager
    path: tuple[str, ...]


class Conflicts(Exception):
    def __init__(self, found: list[Conflict]) -> None:
        super().__init__(found)
        self.found = found


def apply(
    schema: Schema,
    live: Document | None,
    applied: Document,
    *,
    manager: str,
    force: bool,
    subresource: str = "",
    api_version: str,
    now: str,
    ignored: FieldSet | None = None,
) -> Document:
    """The live object (None: there is none yet) with a configuration applied and its managedFields set.

    The configuration is to be as the client sent it, without defaults. `ignored` is as for `track`. The
    result is not yet conformed and defaulted; nulls of the configuration are still in it.
    """
    _check(schema, applied, api_version)
    who = Manager(manager, APPLY, api_version, subresource)
    if ignored is None:
        ignored = reset_fields(str(applied.get("kind", "")), subresource)
    request = _Request(schema, applied, who, now, ignored)
    entries = stored_entries(live["metadata"].get("managedFields")) if live else {}
    before = _without_managed_fields(live) if live else {}
    if live and not entries:
        first = Manager(BEFORE_FIRST_APPLY, UPDATE, api_version, subresource)
        entries = after_update(schema, None, before, entries, first, now, ignored)
    try:
        document, after = request.do(before, entries, force=force)
    except Conflicts as conflicts:
        serious = conflicts.found
        if manager == KUBECTL:
            forgiven = _applied_by_client(schema, before, api_version)
            serious = [conflict for conflict in serious if conflict.path not in forgiven]
        if serious:
            raise _refusal(serious) from None
        document, after = request.do(before, entries, force=True)
    if manager == KUBECTL:
        _renew_last_applied(document, applied)
    managed_fields = encode(after)
    if managed_fields:
        document["metadata"] = {**document["metadata"], "managedFields": managed_fields}
    return document


def same_but_for_times(old: Document, new: Document) -> bool:
    """Whether nothing differs but when managers did something, so that nothing needs to be written."""
    if _timeless(old) != _timeless(new):
        return False
    return _without_managed_fields(old) == _without_managed_fields(new)


def _timeless(document: Document) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in document["metadata"].get("managedFields") or ()
    ]


def _check(schema: Schema, applied: Document, api_version: str) -> None:
    metadata = applied.get("metadata")
    names: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    if isinstance(names.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    errors = shape_errors(schema, applied)
    if errors:
        group, _, version = api_version.rpartition("/")
        place = f"{_name(names, 'namespace')}/{_name(names, 'name')}"
        listed = errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])
        raise unreasoned(
            f"failed to create typed patch object ({place}; {group}/{version}, "
            f"Kind={applied.get('kind', '')}): {listed}"
        )


def _name(metadata: dict[str, Any], field: str) -> str:
    value = metadata.get(field)
    return value if isinstance(value, str) else ""


class _Request(NamedTuple):
    schema: Schema
    applied: Document
    who: Manager
    now: str
    ignored: FieldSet

    def do(self, live: Document, entries: Entries, *, force: bool) -> tuple[Document, Entries]:
        """The new object and entries. Raises Conflicts unless forced."""
        key = self.who.key
        last = entries[key].fields if key in entries else NOTHING
        mine = mentioned_fields(self.schema, self.applied).without_subtrees(self.ignored)
        entries = {**entries, key: Managed(self.who, mine, entries[key].time if key in entries else "")}
        document: Document = merged(self.schema, live, self.applied)
        if last:
            document = self._pruned(document, entries, last)
        removed, changed = compare(self.schema, live or None, document)
        removed = removed.without_subtrees(self.ignored)
        changed = changed.without_subtrees(self.ignored)
        if not force:
            self._look_for_conflicts(entries, changed)
        after: Entries = {}
        for other, managed in entries.items():
            fields = stripped(managed.fields) if other == key else managed.fields - changed - removed
            if fields:
                after[other] = managed._replace(fields=fields)
        document = without_emptied(document) if last else dict(document)
        document["metadata"] = document.get("metadata") or {}
        if document != live and key in after:
            after[key] = after[key]._replace(time=self.now)
        return document, after

    def _look_for_conflicts(self, entries: Entries, changed: FieldSet) -> None:
        found = [
            Conflict(managed.manager, path)
            for managed in sorted(entries.values(), key=lambda managed: managed.manager)
            if managed.manager.key != self.who.key
            for path in (managed.fields & changed).paths()
        ]
        if found:
            raise Conflicts(found)

    def _pruned(self, document: Document, entries: Entries, last: FieldSet) -> Document:
        """Without what the manager applied last time and no longer does, unless someone else has it."""
        schema = self.schema
        last = with_parents(schema, last)
        everything = with_parents(schema, mentioned_fields(schema, document))
        pruned = without(schema, document, last)
        managed = NOTHING
        for entry in entries.values():
            managed |= entry.fields
        kept = with_parents(schema, mentioned_fields(schema, pruned)) | with_parents(schema, managed)
        pruned = without(schema, document, everything - kept)
        rest = with_parents(schema, mentioned_fields(schema, pruned))
        return without(schema, document, (everything - rest) & last)


def _without_managed_fields(document: Document) -> Document:
    metadata = document["metadata"]
    if "managedFields" not in metadata:
        return document
    return {**document, "metadata": {name: metadata[name] for name in metadata if name != "managedFields"}}


def _applied_by_client(schema: Schema, live: Document, api_version: str) -> FieldSet:
    """The fields that client-side apply set last and that are still so: kubectl may take them over."""
    try:
        last = json.loads((live.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED) or "")
    except (ValueError, RecursionError):
        return NOTHING
    if not isinstance(last, dict) or last.get("apiVersion") != api_version or shape_errors(schema, last):
        return NOTHING
    removed, changed = compare(schema, last, live)
    return mentioned_fields(schema, last) - changed - removed


def _renew_last_applied(document: Document, applied: Document) -> None:
    """Keeps the annotation of client-side apply up to date where there is one."""
    metadata = document["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    configuration = dict(applied)
    if isinstance(applied.get("metadata"), dict):
        configuration["metadata"] = own = dict(applied["metadata"])
        if LAST_APPLIED in (own.get("annotations") or {}):
            own["annotations"] = {k: v for k, v in own["annotations"].items() if k != LAST_APPLIED}
    text = json.dumps(configuration, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    annotations = {**annotations, LAST_APPLIED: text + "\n"}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > MOST_ANNOTATED:
        del annotations[LAST_APPLIED]
    document["metadata"] = {**metadata, "annotations": annotations}


def _refusal(conflicts: list[Conflict]) -> Refusal:
    causes = [
        Cause("FieldManagerConflict", path_text(path), f"conflict with {_shown(manager)}")
        for manager, path in conflicts
    ]
    if len(conflicts) == 1:
        cause = causes[0]
        return apply_conflict(f"Apply failed with 1 conflict: {cause.message}: {cause.field}", causes)
    lines = "\n".join(_listed(conflicts))
    return apply_conflict(f"Apply failed with {len(conflicts)} conflicts: {lines}", causes)


def _listed(conflicts: Iterable[Conflict]) -> Iterable[str]:
    last = None
    for manager, path in conflicts:
        if manager != last:
            yield f"conflicts with {_shown(manager)}:"
        yield f"- {path_text(path)}"
        last = manager


def _shown(manager: Manager) -> str:
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text
