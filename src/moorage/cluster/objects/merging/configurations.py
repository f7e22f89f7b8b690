"""Putting an applied configuration into a live document, and taking fields out of it."""

from __future__ import annotations

from typing import Any, Final

from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.field_sets import FieldSet, Tree, is_member
from moorage.cluster.objects.merging.shapes import Keyless, is_granular_list, is_granular_map, item_step, part
from moorage.cluster.schema.model import Schema

EMPTIED_MAP: Final[dict[str, Any]] = {}
EMPTIED_LIST: Final[list[Any]] = []
"""What stands for a map or list out of which everything was taken, until `without_emptied`."""

_MISSING: Final = object()


def merged(schema: Schema, live: Any, applied: Any) -> Any:
    """The live value with everything the applied one says; neither is changed."""
    if is_granular_map(schema) and isinstance(live, dict) and (isinstance(applied, dict) or applied is None):
        if not live or not applied:
            return live or applied
        result = dict(live)
        for name, value in applied.items():
            result[name] = merged(part(schema, name), live[name], value) if name in live else value
        return result
    if is_granular_list(schema) and isinstance(live, list) and (isinstance(applied, list) or applied is None):
        if not live or not applied:
            return live or applied
        return _merged_list(schema, live, applied)
    return applied


def _merged_list(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    """The items of both lists.

    Items of both come in the order of the applied list; those of the live list alone stay behind what they
    follow there; new ones come before what follows them in the applied list.
    """
    assert schema.items is not None
    try:
        live_steps = [item_step(schema, item) for item in live]
        wanted = {item_step(schema, item): item for item in applied}
    except Keyless:
        return applied
    by_step: dict[str, Any] = {}
    for step, item in zip(live_steps, live, strict=True):
        by_step[step] = _MISSING if step in by_step else item  # which of several is meant, nobody knows
    shared = [step for step in wanted if step in by_step]
    steps = list(wanted)
    result: list[Any] = []
    done: set[str] = set()
    at_live = at_wanted = 0

    def take_wanted(step: str) -> None:
        done.add(step)
        mine = by_step.get(step, _MISSING)
        assert schema.items is not None
        result.append(wanted[step] if mine is _MISSING else merged(schema.items, mine, wanted[step]))
        if shared and shared[0] == step:
            del shared[0]

    while at_live < len(live) or at_wanted < len(steps):
        if at_live < len(live):
            step = live_steps[at_live]
            if step not in wanted:
                result.append(live[at_live])
                at_live += 1
                continue
            if at_wanted < len(steps) and step == steps[at_wanted]:
                take_wanted(step)
                at_live += 1
                at_wanted += 1
                continue
            if shared and shared[0] != step and at_wanted < len(steps):
                at_live += 1
                continue
            if step in done:
                at_live += 1
        if at_wanted < len(steps):
            take_wanted(steps[at_wanted])
            at_wanted += 1
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


def without(schema: Schema, document: Document, fields: FieldSet) -> Document:
    """The document without these fields and items."""
    result = _without(schema, document, fields.tree)
    assert isinstance(result, dict)
    return result


def _without(schema: Schema, value: Any, tree: Tree) -> Any:
    if isinstance(value, dict):
        if not is_granular_map(schema):
            return value
        rest = {}
        for name, inner in value.items():
            below = tree.get(f"f:{name}")
            if below is None:
                rest[name] = inner
            elif not is_member(below):
                rest[name] = _without(part(schema, name), inner, below)
        return rest or EMPTIED_MAP
    if isinstance(value, list):
        if not is_granular_list(schema):
            return value
        assert schema.items is not None
        items = []
        for item in value:
            below = _of_item(schema, item, tree)
            if below is None:
                items.append(item)
            elif not is_member(below):
                items.append(_without(schema.items, item, below))
        return items or EMPTIED_LIST
    return value


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
