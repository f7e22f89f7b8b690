"""Fills in what the rules of a type say about absent fields, in an object and in all below it."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import short_name, type_named
from moorage.cluster.schema.model import ARRAY, Schema
from moorage.cluster.schema.rules import rules_of

_fillers: dict[Schema, _Filler] = {}


def fill_defaults(type_name: str, value: Document) -> None:
    """Completes an object of a built-in type in place."""
    _filler_named(type_name).fill(value)


class _Default(NamedTuple):
    way: list[str]
    name: str
    value: Any
    even_empty: bool


class _Filler:
    is_empty = False

    def __init__(self, schema: Schema) -> None:
        _fillers[schema] = self  # before what is below it, which may lead back here
        self._defaults = [
            _Default([step.name for step in way], last.name, standard, even_empty)
            for (*way, last), standard, even_empty in rules_of(short_name(schema)).default_values()
        ]
        self._parts: list[tuple[str, bool, _Filler]] = []
        for name, field in schema.fields.items():
            several = field.schema.type == ARRAY
            part = field.schema.items if several else field.schema
            if part is not None and part.fields and not _filler(part).is_empty:
                self._parts.append((name, several, _filler(part)))
        self.is_empty = not (self._defaults or self._parts)

    def fill(self, value: Document) -> None:
        for way, name, standard, even_empty in self._defaults:
            owner = _reached(value, way) if way else value
            if owner is not None and (name not in owner or (even_empty and not owner[name])):
                owner[name] = deepcopy(standard) if standard.__class__ in (dict, list) else standard
        for name, several, filler in self._parts:
            part = value.get(name)
            if part is not None:
                if several:
                    for each in part:
                        filler.fill(each)
                else:
                    filler.fill(part)


def _reached(value: Document | None, way: list[str]) -> Document | None:
    for name in way:
        value = None if value is None else value.get(name)
    return value


@cache
def _filler_named(type_name: str) -> _Filler:
    return _filler(type_named(type_name))


def _filler(schema: Schema) -> _Filler:
    return _fillers.get(schema) or _Filler(schema)
