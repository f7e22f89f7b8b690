"""Server-side apply: a configuration is merged into an object, and its manager has the fields in it."""

from __future__ import annotations

import json
from itertools import groupby

from moorage.cluster.base import parts
from moorage.cluster.base.errors import Cause, Refusal, bad_request, unreasoned
from moorage.cluster.base.go_text import as_json, by_name, quoted
from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging import configurations, managed_fields
from moorage.cluster.objects.merging.configurations import shape_errors, with_parents, without
from moorage.cluster.objects.merging.field_sets import NOTHING, FieldSet, path_text
from moorage.cluster.objects.merging.fields import compare, mentioned_fields
from moorage.cluster.objects.merging.managed_fields import UPDATE, Entries, Managed, Manager
from moorage.cluster.schema.model import Schema

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST_ANNOTATED = 256 * 1024  # bytes of all annotations of an object
KUBECTL = "kubectl"
"""The manager whose applies look after the annotation of client-side applies."""


def apply(
    schema: Schema,
    live: Document | None,
    applied: Document,
    who: Manager,
    *,
    force: bool,
    now: str,
    ignored: FieldSet | None = None,
) -> Document:
    """The live object (None: there is none yet) with a configuration applied and its managedFields set.

    The configuration is to be as the client sent it, without defaults. `ignored` is as for `track`. The
    result is not yet conformed and defaulted; nulls of the configuration are still in it.
    """
    _check(schema, applied, who.api_version)
    if ignored is None:
        ignored = managed_fields.reset_fields(str(applied.get("kind", "")), who.subresource)
    entries = managed_fields.stored_entries(live["metadata"].get("managedFields")) if live else {}
    before = managed_fields.without_managed_fields(live) if live else {}
    if live and not entries:
        first = Manager(BEFORE_FIRST_APPLY, UPDATE, who.api_version, who.subresource)
        entries = managed_fields.after_update(schema, None, before, entries, first, now, ignored)
    mine = mentioned_fields(schema, applied).without_subtrees(ignored)
    last = entries.get(who.key, Managed(who, NOTHING, ""))
    merged: Document = configurations.merged(schema, before, applied)
    if last.fields:
        others = (managed.fields for key, managed in entries.items() if key != who.key)
        merged = _pruned(schema, merged, last.fields, [mine, *others])
    removed, changed = (
        fields.without_subtrees(ignored) for fields in compare(schema, before or None, merged)
    )
    if not force:
        forgiven = _applied_by_client(schema, before, who.api_version) if who.name == KUBECTL else NOTHING
        _refuse_conflicts(entries, who, changed, forgiven)
    after = {
        key: managed._replace(fields=managed.fields - changed - removed) for key, managed in entries.items()
    }
    document: Document = configurations.without_emptied(merged)
    document["metadata"] = document.get("metadata") or {}
    after[who.key] = Managed(who, managed_fields.stripped(mine), now if document != before else last.time)
    if who.name == KUBECTL:
        _renew_last_applied(document, applied)
    listed = managed_fields.encode({key: managed for key, managed in after.items() if managed.fields})
    if listed:
        document["metadata"] = {**document["metadata"], "managedFields": listed}
    return document


def same_but_for_times(old: Document, new: Document) -> bool:
    """Whether nothing differs but when managers did something, so that nothing needs to be written."""
    return _timeless(old) == _timeless(new)


def _timeless(document: Document) -> Document:
    metadata = document["metadata"]
    entries = [{**entry, "time": None} for entry in metadata.get("managedFields") or ()]
    return {**document, "metadata": {**metadata, "managedFields": entries}}


def _check(schema: Schema, applied: Document, api_version: str) -> None:
    if isinstance(parts.value(applied, "metadata", "managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    errors = shape_errors(schema, applied)
    if errors:
        group, _, version = api_version.rpartition("/")
        place = "/".join(parts.text(applied, "metadata", name) for name in ("namespace", "name"))
        listed = errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])
        raise unreasoned(
            f"failed to create typed patch object ({place}; {group}/{version}, "
            f"Kind={applied.get('kind', '')}): {listed}"
        )


def _pruned(schema: Schema, document: Document, last: FieldSet, managed: list[FieldSet]) -> Document:
    """Without what the manager applied last time and no longer does, unless someone else has it."""
    last = with_parents(schema, last)
    everything = with_parents(schema, mentioned_fields(schema, document))
    kept = with_parents(schema, mentioned_fields(schema, without(schema, document, last.tree)))
    for fields in managed:
        kept |= with_parents(schema, fields)
    pruned: Document = without(schema, document, (everything - kept).tree)
    rest = with_parents(schema, mentioned_fields(schema, pruned))
    result: Document = without(schema, document, ((everything - rest) & last).tree)
    return result


def _applied_by_client(schema: Schema, live: Document, api_version: str) -> FieldSet:
    """The fields that client-side apply set last and that are still so: kubectl may take them over."""
    try:
        last = json.loads(parts.text(live, "metadata", "annotations", LAST_APPLIED))
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
    annotations = {**annotations, LAST_APPLIED: as_json(by_name(configuration)) + "\n"}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > MOST_ANNOTATED:
        del annotations[LAST_APPLIED]
    document["metadata"] = {**metadata, "annotations": annotations}


def _refuse_conflicts(entries: Entries, who: Manager, changed: FieldSet, forgiven: FieldSet) -> None:
    conflicts = [
        (managed.manager, path)
        for managed in sorted(entries.values(), key=lambda managed: managed.manager)
        if managed.manager.key != who.key
        for path in (managed.fields & changed).paths()
        if path not in forgiven
    ]
    causes = [
        Cause("FieldManagerConflict", path_text(path), f"conflict with {_shown(manager)}")
        for manager, path in conflicts
    ]
    if len(causes) == 1:
        told = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = []
        for manager, found in groupby(conflicts, key=lambda conflict: conflict[0]):
            lines += [f"conflicts with {_shown(manager)}:", *(f"- {path_text(path)}" for _, path in found)]
        told = f"{len(conflicts)} conflicts: " + "\n".join(lines)
    if causes:
        details = {"causes": [cause._asdict() for cause in causes]}
        raise Refusal(409, "Conflict", f"Apply failed with {told}", details)


def _shown(manager: Manager) -> str:
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text
