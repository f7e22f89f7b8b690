"""Fills in what the rules of a type say about absent fields, in an object and in all below it."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import short_name, type_named
from moorage.cluster.schema.model import ARRAY, Schema
from moorage.cluster.schema.rules import rules_of

_fillers: dict[Schema, _Filler] = {}


def fill_defaults(type_name: str, value: Document) -> None:
    """Completes an object of a built-in type in place."""
    _filler_named(type_name).fill(value)


class _Filler:
    is_empty = False

    def __init__(self, schema: Schema) -> None:
        _fillers[schema] = self  # before what is below it, which may lead back here
        self._defaults = [
            ([step.name for step in path[:-1]], path[-1].name, standard, even_empty)
            for path, standard, even_empty in rules_of(short_name(schema)).default_values()
        ]
        self._parts: dict[str, tuple[bool, _Filler]] = {}
        for name, field in schema.fields.items():
            several = field.schema.type == ARRAY
            part = field.schema.items if several else field.schema
            if part is not None and part.fields and not _filler(part).is_empty:
                self._parts[name] = several, _filler(part)
        self.is_empty = not (self._defaults or self._parts)

    def fill(self, value: Document) -> None:
        for way, name, standard, even_empty in self._defaults:
            if way or name not in value or even_empty:
                _fill(value, way, name, standard, even_empty)
        for name, part in value.items():
            if part is not None and name in self._parts:
                several, filler = self._parts[name]
                for each in part if several else (part,):
                    filler.fill(each)


def _fill(value: Document, way: list[str], name: str, standard: Any, even_empty: bool) -> None:
    for step in way:
        if step not in value:
            return
        value = value[step]
    if name not in value or (even_empty and not value[name]):
        value[name] = deepcopy(standard) if isinstance(standard, dict | list) else standard


@cache
def _filler_named(type_name: str) -> _Filler:
    return _filler(type_named(type_name))


def _filler(schema: Schema) -> _Filler:
    return _fillers.get(schema) or _Filler(schema)
