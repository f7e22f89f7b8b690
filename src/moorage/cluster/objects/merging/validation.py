"""Whether an applied configuration has the shape of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.go_text import shown, shown_as_source, type_name
from moorage.cluster.base.store import Document
from moorage.cluster.objects.merging.field_sets import path_text
from moorage.cluster.objects.merging.shapes import Keyless, is_granular_list, item_step
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema


def shape_errors(schema: Schema, document: Document) -> list[str]:
    """What is wrong with a configuration, each with its path."""
    return list(_errors(schema, document, ""))


def _errors(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if schema.type == OBJECT:
        if isinstance(value, dict):
            yield from _map_errors(schema, value, path)
        else:
            yield f"{path}: expected map, got &{{{shown(value)}}}"
    elif schema.type == ARRAY:
        if isinstance(value, list):
            yield from _list_errors(schema, value, path)
        else:
            yield f"{path}: expected list, got &{{{shown(value)}}}"
    elif schema.type == ANY:
        if schema.format and isinstance(value, (dict, list)):
            yield f"{path}: expected any scalar, got &{{{shown(value)}}}"
    else:
        yield from _scalar_errors(schema, value, path)


def _scalar_errors(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if schema.type == STRING and schema.format == "quantity":
        if isinstance(value, (dict, list)):
            yield f"{path}: expected any scalar, got &{{{shown(value)}}}"
    elif schema.type == STRING:
        if not isinstance(value, str):
            source = shown_as_source(value)
            yield f"{path}: expected string, got &value.valueUnstructured{{Value:{source}}}"
    elif schema.type == BOOLEAN:
        if not isinstance(value, bool):
            yield f"{path}: expected boolean, got &{{{shown(value)}}}"
    elif schema.type in (INTEGER, NUMBER) and (
        isinstance(value, bool) or not isinstance(value, (int, float))
    ):
        yield f"{path}: expected numeric (int or float), got {type_name(value)}"


def _map_errors(schema: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    free = schema.keeps_unknown or not schema.fields
    for name, inner in value.items():
        field = schema.fields.get(name)
        if field is not None:
            yield from _errors(field.schema, inner, f"{path}.{name}")
        elif schema.values is not None:
            yield from _errors(schema.values, inner, f"{path}.{name}")
        elif not free:
            yield f"{path}.{name}: field not declared in schema"
            return


def _list_errors(schema: Schema, value: list[Any], path: str) -> Iterator[str]:
    granular = is_granular_list(schema)
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
