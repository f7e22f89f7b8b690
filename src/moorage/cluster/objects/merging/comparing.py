"""Which fields a document has, and which differ between two."""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.configurations import EMPTIED_LIST
from moorage.cluster.objects.merging.field_sets import LEAF, NOTHING, FieldSet, Tree, entry, in_order
from moorage.cluster.objects.merging.shapes import (
    Keyless,
    implied,
    is_granular_list,
    is_granular_map,
    item_step,
    part,
)
from moorage.cluster.schema.model import ABSENT, Schema


class Comparison(NamedTuple):
    """The fields that are gone, and those that are new or have other values."""

    removed: FieldSet
    changed: FieldSet


def compare(schema: Schema, old: Document | None, new: Document) -> Comparison:
    """What is different in `new`; everything if there is no old document."""
    removed, changed = _map_differences(schema, old or {}, new)
    return Comparison(FieldSet(removed) if removed else NOTHING, FieldSet(changed) if changed else NOTHING)


def mentioned_fields(schema: Schema, document: Document) -> FieldSet:
    """The fields an applied configuration says something about: all leaves, items and keys of maps."""
    return FieldSet(_mentioned_children(schema, document))


Differences = tuple[Tree | None, Tree | None]
"""The entries of removed and of changed fields."""


def _differences(schema: Schema, old: Any, new: Any) -> Differences:
    """Of two values that are not equal. Null is a map or a list without anything in it."""
    if (isinstance(old, dict) or old is None) and (isinstance(new, dict) or new is None):
        if (old or new) and is_granular_map(schema):
            removed, changed = _map_differences(schema, old or {}, new or {})
            return removed or None, changed or None
    elif (isinstance(old, list) or old is None) and (isinstance(new, list) or new is None):
        if (old or new) and is_granular_list(schema):
            return _list_differences(schema, old or [], new or [])
    elif isinstance(old, (dict, list)) or isinstance(new, (dict, list)):
        gone = {step: below for step, below in whole(schema, old).items() if step != "."}
        return gone or None, whole(schema, new)
    return None, LEAF


def _map_differences(schema: Schema, old: Document, new: Document) -> tuple[Tree, Tree]:
    removed: Tree = {}
    changed: Tree = {}
    for name, value in new.items():
        before = old[name] if name in old else implied(schema, name)
        if before is value or before == value:
            continue
        below = part(schema, name)
        if before is ABSENT:
            changed[f"f:{name}"] = whole(below, value)
            continue
        gone, other = _differences(below, before, value)
        if gone is not None:
            removed[f"f:{name}"] = gone
        if other is not None:
            changed[f"f:{name}"] = other
    if len(old) > len(new) or not old.keys() <= new.keys():
        for name, before in old.items():
            if name in new:
                continue
            value = implied(schema, name)
            if value is ABSENT:
                removed[f"f:{name}"] = whole(part(schema, name), before)
            elif value != before:
                gone, other = _differences(part(schema, name), before, value)
                if gone is not None:
                    removed[f"f:{name}"] = gone
                if other is not None:
                    changed[f"f:{name}"] = other
    return removed, in_order(changed)


def _list_differences(schema: Schema, old: list[Any], new: list[Any]) -> Differences:
    assert schema.items is not None
    try:
        before, after = _by_step(schema, old), _by_step(schema, new)
    except Keyless:
        return None, LEAF
    removed: Tree = {}
    changed: Tree = {}
    for step, items in after.items():
        others = before.get(step, ())
        if items == others:
            continue
        if len(items) > 1:
            changed[step] = LEAF
            if len(others) == 1:
                removed[step] = whole(schema.items, others[0])
        elif len(others) == 1:
            gone, other = _differences(schema.items, others[0], items[0])
            if gone is not None:
                removed[step] = gone
            if other is not None:
                changed[step] = other
        else:
            changed[step] = whole(schema.items, items[0])
            if others:
                removed[step] = LEAF
    for step, items in before.items():
        if step not in after:
            removed[step] = whole(schema.items, items[0]) if len(items) == 1 else LEAF
    return removed or None, in_order(changed) or None


def _by_step(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    """The items of a list by the step that leads to them; several for one step are duplicates."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item_step(schema, item), []).append(item)
    return found


def whole(schema: Schema, value: Any) -> Tree:
    """The entry of a value that is new with everything in it."""
    if isinstance(value, dict):
        if not value or not is_granular_map(schema):
            return LEAF
        fields, others = schema.fields, schema.values
        tree: Tree = {".": LEAF}
        for name in sorted(value):
            inner = value[name]
            if isinstance(inner, (dict, list)):
                field = fields.get(name)
                below = field.schema if field is not None else others or part(schema, name)
                tree[f"f:{name}"] = whole(below, inner)
            else:
                tree[f"f:{name}"] = LEAF
        return tree
    if isinstance(value, list) and value and is_granular_list(schema):
        assert schema.items is not None
        children: Tree = {}
        try:
            for item in value:
                step = item_step(schema, item)
                children[step] = LEAF if step in children else whole(schema.items, item)
        except Keyless:
            return LEAF
        return {".": LEAF, **in_order(children)}
    return LEAF


def _mentioned_children(schema: Schema, value: Any) -> Tree:
    children: Tree = {}
    if isinstance(value, dict):
        for name in sorted(value):
            inner = value[name]
            member = name not in schema.fields or inner == {}
            found = _mentioned(part(schema, name), inner, member)
            if found is not None:
                children[f"f:{name}"] = found
        return children
    assert schema.items is not None
    for item in value:
        step = item_step(schema, item)
        found = LEAF if step in children else _mentioned(schema.items, item, True)
        children[step] = LEAF if found is None else found
    return in_order(children)


def _mentioned(schema: Schema, value: Any, member: bool) -> Tree | None:
    if value is EMPTIED_LIST:
        return LEAF
    if isinstance(value, dict):
        granular = is_granular_map(schema)
    elif isinstance(value, list):
        granular = is_granular_list(schema)
    else:
        granular = False
    if not granular:
        return LEAF
    try:
        return entry(member, _mentioned_children(schema, value))
    except Keyless:
        return LEAF
