"""Items that appear twice in lists whose items must be different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.cluster.base.errors import Cause
from moorage.cluster.custom.wording import as_json, duplicate, invalid
from moorage.cluster.schema.model import MAP, SET, Schema


def has_unique_lists(schema: Schema) -> bool:
    """Whether there is anything to look for in objects of this shape."""
    if schema.list_type in (SET, MAP):
        return True
    parts = [field.schema for field in schema.fields.values()]
    parts += [part for part in (schema.values, schema.items) if part is not None]
    return any(map(has_unique_lists, parts))


def duplicates(schema: Schema, value: Any, field: str = "") -> Iterator[Cause]:
    """What lists of type `set` and `map` have more than once."""
    if type(value) is dict:
        for name, each in value.items():
            known = schema.fields.get(name)
            if known is not None:
                yield from duplicates(known.schema, each, f"{field}.{name}" if field else name)
            elif schema.values is not None:
                yield from duplicates(schema.values, each, f"{field}[{name}]")
    elif type(value) is list:
        if schema.list_type == SET:
            yield from (duplicate(f"{field}[{place}]", value[place]) for place in _repeated(value))
        elif schema.list_type == MAP:
            yield from _duplicate_keys(schema, value, field)
        if schema.items is not None:
            for place, each in enumerate(value):
                yield from duplicates(schema.items, each, f"{field}[{place}]")


def _duplicate_keys(schema: Schema, value: list[Any], field: str) -> Iterator[Cause]:
    for place, each in enumerate(value):
        if each is not None and type(each) is not dict:
            yield invalid(f"{field}[{place}]", each, "must be an object for an array of list-type map")
            return
    keys = [{name: each[name] for name in schema.list_keys if name in each} if each else {} for each in value]
    yield from (duplicate(f"{field}[{place}]", keys[place]) for place in _repeated(keys))


def _repeated(items: Iterable[Any]) -> Iterator[int]:
    """Where each item that is there more than once is there the second time."""
    times: dict[str, int] = {}
    for place, item in enumerate(items):
        key = item if type(item) is str else f"\0{as_json(item)}"
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            yield place
