"""Configurations to apply: whether they have the right shape, and how they change a live document."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from moorage.cluster.base.go_text import shown, shown_as_source, type_name
from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.field_sets import FieldSet, Tree, is_member, path_text
from moorage.cluster.objects.merging.fields import EMPTIED_LIST, Keyless, is_granular, item_step, part
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, OBJECT, STRING, Schema

EMPTIED_MAP: Final[dict[str, Any]] = {}
"""What stands for a map out of which everything was taken, until `without_emptied`."""
_MISSING: Final = object()
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    OBJECT: ((dict,), "map"),
    ARRAY: ((list,), "list"),
    STRING: ((str,), "string"),
    BOOLEAN: ((bool,), "boolean"),
}


def merged(schema: Schema, live: Any, applied: Any) -> Any:
    """The live value with everything the applied one says; neither is changed."""
    if not is_granular(schema, live) or (applied is not None and type(applied) is not type(live)):
        return applied
    if not live or not applied:
        return live or applied
    if isinstance(live, list):
        return _merged_list(schema, live, applied)
    result = dict(live)
    for name, value in applied.items():
        result[name] = merged(part(schema, name), live[name], value) if name in live else value
    return result


def _merged_list(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    """The items of both lists.

    Items of both come in the order of the applied list; those of the live list alone stay behind what they
    follow there; new ones come before what follows them in the applied list.
    """
    assert schema.items is not None
    try:
        live_left = deque((item_step(schema, item), item) for item in live)
        wanted = {item_step(schema, item): item for item in applied}
    except Keyless:
        return applied
    by_step: dict[str, Any] = {}
    for step, item in live_left:
        by_step[step] = _MISSING if step in by_step else item  # which of several is meant, nobody knows
    wanted_left = deque(wanted)
    shared = deque(step for step in wanted if step in by_step)
    result: list[Any] = []
    while live_left or wanted_left:
        following = wanted_left[0] if wanted_left else None
        if live_left:
            step, item = live_left[0]
            if step not in wanted:
                result.append(item)
                live_left.popleft()
                continue
            comes_later = bool(shared) and step not in (shared[0], following)
            if comes_later or step == following or not shared:
                live_left.popleft()
            if comes_later:
                continue
        if following is not None:
            mine = by_step.get(following, _MISSING)
            item = wanted[wanted_left.popleft()]
            result.append(item if mine is _MISSING else merged(schema.items, mine, item))
            if shared and shared[0] == following:
                shared.popleft()
    return result


def with_parents(schema: Schema, fields: FieldSet) -> FieldSet:
    """The set, and with each path the named fields on the way to it."""
    return FieldSet(_with_parents(schema, fields.tree))


def _with_parents(schema: Schema, tree: Tree) -> Tree:
    result: Tree = {}
    for step, below in tree.items():
        if step == "." or not below:
            result[step] = below
            continue
        if step.startswith("f:"):
            name = step[2:]
            inner = _with_parents(part(schema, name), below)
            if name in schema.fields:
                inner = {".": {}, **inner}
        else:
            inner = _with_parents(schema.items or schema, below)
        result[step] = inner
    return result


def without(schema: Schema, value: Any, tree: Tree) -> Any:
    """The value without these fields and items."""
    if not is_granular(schema, value):
        return value
    if isinstance(value, dict):
        kept = {
            name: _kept(part(schema, name), inner, tree.get(f"f:{name}")) for name, inner in value.items()
        }
        return {name: inner for name, inner in kept.items() if inner is not _MISSING} or EMPTIED_MAP
    assert schema.items is not None
    items = [_kept(schema.items, item, _of_item(schema, item, tree)) for item in value]
    return [item for item in items if item is not _MISSING] or EMPTIED_LIST


def _kept(schema: Schema, value: Any, tree: Tree | None) -> Any:
    """What is left of a value without the fields of this entry."""
    if tree is None:
        return value
    return _MISSING if is_member(tree) else without(schema, value, tree)


def _of_item(schema: Schema, item: Any, tree: Tree) -> Tree | None:
    try:
        return tree.get(item_step(schema, item))
    except Keyless:
        return None


def without_emptied(value: Any) -> Any:
    """The value without the maps and lists that `without` left empty."""
    if isinstance(value, dict):
        return {
            name: without_emptied(inner)
            for name, inner in value.items()
            if inner is not EMPTIED_MAP and inner is not EMPTIED_LIST
        }
    if isinstance(value, list):
        return [without_emptied(item) for item in value]
    return value


def shape_errors(schema: Schema, document: Document) -> list[str]:
    """Where a configuration does not have the shape of its kind."""
    return list(_errors(schema, document, ""))


def _errors(schema: Schema, value: Any, path: str) -> Iterator[str]:
    wanted = "" if value is None else _wanted(schema, value)
    if wanted:
        yield f"{path}: expected {wanted}, got {_got(wanted, value)}"
    elif schema.type == OBJECT:
        yield from _map_errors(schema, value or {}, path)
    elif schema.type == ARRAY:
        yield from _list_errors(schema, value or [], path)


def _wanted(schema: Schema, value: Any) -> str:
    """What should stand in the place of a value; empty if it is right."""
    if schema.type == ANY or schema.format == "quantity":
        return "any scalar" if schema.format and isinstance(value, (dict, list)) else ""
    types, words = _TYPES.get(schema.type, ((int, float), "numeric (int or float)"))
    return "" if type(value) in types else words


def _got(wanted: str, value: Any) -> str:
    if wanted == "string":
        return f"&value.valueUnstructured{{Value:{shown_as_source(value)}}}"
    return type_name(value) if wanted.startswith("numeric") else f"&{{{shown(value)}}}"


def _map_errors(schema: Schema, value: Document, path: str) -> Iterator[str]:
    closed = schema.fields and not schema.keeps_unknown and schema.values is None
    for name, inner in value.items():
        if closed and name not in schema.fields:
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _errors(part(schema, name), inner, f"{path}.{name}")


def _list_errors(schema: Schema, value: list[Any], path: str) -> Iterator[str]:
    granular = is_granular(schema, value)
    seen: set[str] = set()
    for position, item in enumerate(value):
        place = f"[{position}]"
        if granular:
            try:
                step = item_step(schema, item)
            except Keyless as problem:
                yield f"{path}: element {position}: {problem}"
                return
            place = path_text((step,))
            if step in seen:
                yield f"{path}: duplicate entries for key {place}"
            seen.add(step)
        if schema.items is not None:
            yield from _errors(schema.items, item, path + place)
