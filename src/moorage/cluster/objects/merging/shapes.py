"""How values of a schema are taken apart: which are one whole, and which have parts of their own."""

from __future__ import annotations

from typing import Any, Final

from moorage.cluster.objects.merging.field_sets import key_step, value_step
from moorage.cluster.schema.model import ABSENT, ANY, ARRAY, ATOMIC, MAP, OBJECT, Schema

UNKNOWN: Final = Schema(ANY)
"""Of what no schema describes: objects have parts, lists are one whole."""


class Keyless(Exception):
    """An item that cannot be told from the others of its list."""


def is_granular(schema: Schema, value: Any) -> bool:
    """Whether a value is a map or a list that has parts of its own."""
    if isinstance(value, dict):
        return (schema.type == OBJECT or schema.type == ANY) and schema.map_type != ATOMIC
    if isinstance(value, list):
        return schema.type == ARRAY and schema.list_type != ATOMIC and schema.items is not None
    return False


def part(schema: Schema, name: str) -> Schema:
    """The schema of a field or of a map's value."""
    field = schema.fields.get(name)
    if field is not None:
        return field.schema
    return schema.values or UNKNOWN


def implied(schema: Schema, name: str) -> Any:
    """What an object of a built-in type has in a field that is absent from its document, or ABSENT."""
    field = schema.fields.get(name)
    if field is None or field.omits_zero or not schema.name:
        return ABSENT
    return field.default


def item_step(schema: Schema, item: Any) -> str:
    """The step from a granular list to one of its items. Raises Keyless."""
    if schema.list_type != MAP:
        if isinstance(item, dict):
            raise Keyless("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise Keyless("not supported: associative list with lists as elements")
        if item is None:
            raise Keyless("associative list without keys has an element that's an explicit null")
        return value_step(item)
    if item is None:
        raise Keyless("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Keyless("associative list with keys may not have non-map elements")
    keys = {}
    for name in schema.list_keys:
        value = item[name] if name in item else _default_key(schema, name)
        if value is not ABSENT:
            keys[name] = value
    if not keys:
        listed = " ".join(f'"{name}"' for name in schema.list_keys)
        raise Keyless(
            f"associative list with keys has an element that omits all key fields [{listed}]"
            " (and doesn't have default values for any key fields)"
        )
    return key_step(keys)


def _default_key(schema: Schema, name: str) -> Any:
    field = schema.items.fields.get(name) if schema.items else None
    return ABSENT if field is None or field.default is None else field.default
