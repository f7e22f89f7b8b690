"""Items that appear twice in lists whose items must be different."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.errors import Cause, duplicate_value, invalid_value
from moorage.cluster.custom.values import parts
from moorage.cluster.custom.wording import by_name, shown
from moorage.cluster.schema.model import MAP, SET, Schema


def duplicates(schema: Schema, value: Any, field: str = "") -> Iterator[Cause]:
    """What lists of type `set` and `map` have more than once."""
    if type(value) is list and schema.list_type == SET:
        yield from _repeated(value, field)
    elif type(value) is list and schema.list_type == MAP:
        yield from _duplicate_keys(schema, value, field)
    for shape, inner, place in parts(schema, value, field):
        yield from duplicates(shape, inner, place)


def _duplicate_keys(schema: Schema, value: list[Any], field: str) -> Iterator[Cause]:
    for place, each in enumerate(value):
        if each is not None and type(each) is not dict:
            detail = "must be an object for an array of list-type map"
            yield invalid_value(f"{field}[{place}]", by_name(each), detail)
            return
    keys = [{name: each[name] for name in schema.list_keys if name in each} if each else {} for each in value]
    yield from _repeated(keys, field)


def _repeated(items: list[Any], field: str) -> Iterator[Cause]:
    """Each item that is there more than once, where it is there the second time."""
    times: dict[str, int] = {}
    for place, item in enumerate(items):
        key = shown(item)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            yield duplicate_value(f"{field}[{place}]", by_name(item))
