"""The rules for schemas of lists that are sets, or that are merged by keys."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.custom.structure_rules import wrong_type
from moorage.cluster.schema.model import ATOMIC, MAP, SET

_LIST_TYPES = (ATOMIC, SET, MAP)
_LIST_TYPE, _MAP_KEYS, _MAP_TYPE = (
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
)  # fmt: skip


def list_type_problems(schema: Document, path: str) -> Iterator[Cause]:
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_MAP_KEYS) or []
    items = schema.get("items")
    if list_type is not None and schema.get("type") != "array":
        yield wrong_type(schema, path, f"must be array if {_LIST_TYPE} is specified")
    elif list_type == SET and isinstance(items, dict):
        yield from _set_item_problems(items, f"{path}.items")
    if list_type not in (None, *_LIST_TYPES):
        yield unsupported_value(f"{path}.{_LIST_TYPE}", list_type, _LIST_TYPES)
    if keys and list_type != MAP:
        place, detail = f"{path}.{_LIST_TYPE}", f"must be map if {_MAP_KEYS} is non-empty"
        yield required(place, detail) if list_type is None else invalid_value(place, list_type, detail)
    if list_type in (SET, MAP) and isinstance(items, dict) and items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        yield forbidden_value(f"{path}.items.nullable", detail)
    if list_type == MAP:
        if not keys:
            yield required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
        if items is None:
            yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
        elif isinstance(items, dict):
            yield from _map_item_problems(items, keys, path)


def _set_item_problems(items: Document, path: str) -> Iterator[Cause]:
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    list_type = items.get(_LIST_TYPE)
    if items.get("type") == "array" and list_type not in (None, ATOMIC):
        yield invalid_value(f"{path}.{_LIST_TYPE}", list_type, detail)
    elif items.get("type") == "object" and items.get(_MAP_TYPE) != ATOMIC:
        yield invalid_value(f"{path}.{_MAP_TYPE}", list_type, detail)


def _map_item_problems(items: Document, keys: list[str], path: str) -> Iterator[Cause]:
    kind, properties = items.get("type", ""), items.get("properties") or {}
    if kind != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{path}.items.type", kind, detail)
    for place, key in enumerate(keys):
        if kind == "object" and key not in properties:
            yield invalid_value(f"{path}.{_MAP_KEYS}", keys, "entries must all be names of item properties")
        elif kind == "object" and properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", kind, detail)
        if kind == "object" and key in keys[:place]:
            yield invalid_value(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries")
        if key in properties:
            needed = key in (items.get("required") or ())
            yield from _key_problems(properties[key], needed, f"{path}.items.properties[{key}]")


def _key_problems(declared: Document, needed: bool, path: str) -> Iterator[Cause]:
    why = f"this property is in {_MAP_KEYS}, so it"
    if not needed and declared.get("default") is None:
        yield required(f"{path}.default", f"{why} must have a default or be a required property")
    if declared.get("nullable"):
        yield forbidden_value(f"{path}.nullable", f"{why} cannot be nullable")
