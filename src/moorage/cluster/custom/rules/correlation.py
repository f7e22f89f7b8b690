"""What a part of an object was before an update, and whether it has changed.

Parts are found again by their names: properties and entries of maps, and elements of lists that have keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from moorage.cluster.custom.rules.declared_types import values_schema
from moorage.cluster.custom.rules.values import is_same
from moorage.cluster.schema.model import MAP, Schema

_SCALARS = (bool, int, float, str)
FindOld: TypeAlias = Callable[[Any], Any]


def old_elements(schema: Schema, old: Any) -> FindOld:
    """How to find what an element of a list was; None where nobody can say."""
    if schema.list_type != MAP or not schema.list_keys or type(old) is not list:
        return lambda element: None
    by_key: dict[Any, Any] = {}
    for each in old:
        if (key := _key(schema, each)) is not None:
            by_key.setdefault(key, each)
    return lambda element: by_key.get(_key(schema, element))


def _key(schema: Schema, element: Any) -> tuple[Any, ...] | None:
    if type(element) is not dict:
        return None
    values = [element.get(name) for name in schema.list_keys]
    if not all(isinstance(value, _SCALARS) for value in values):
        return None
    return tuple([(type(value), value) for value in values])


class Correlation:
    """A part of an object beside what it was before."""

    __slots__ = ("_children", "_find_old", "_new", "_old", "_schema", "_unchanged")

    def __init__(self, schema: Schema, new: Any, old: Any) -> None:
        self._schema, self._new, self._old = schema, new, old
        self._children: dict[str | int, Correlation | None] = {}
        self._find_old: FindOld | None = None
        self._unchanged: bool | None = None

    def of_name(self, name: str) -> Correlation | None:
        """Of a property, or an entry of a map; None: it was not there, or no schema knows it."""
        if name not in self._children:
            self._children[name] = self._named(name)
        return self._children[name]

    def _named(self, name: str) -> Correlation | None:
        new, old = self._new, self._old
        if type(new) is not dict or type(old) is not dict or name not in new or name not in old:
            return None
        field = self._schema.fields.get(name)
        schema = values_schema(self._schema) if field is None else field.schema
        return None if schema is None else Correlation(schema, new[name], old[name])

    def of_place(self, place: int) -> Correlation | None:
        """Of an element of a list; None: it was not there, or nobody can say."""
        if place not in self._children:
            self._children[place] = self._at(place)
        return self._children[place]

    def _at(self, place: int) -> Correlation | None:
        if type(self._old) is not list or self._schema.items is None:
            return None
        if self._find_old is None:
            self._find_old = old_elements(self._schema, self._old)
        old = self._find_old(self._new[place])
        return None if old is None else Correlation(self._schema.items, self._new[place], old)

    def is_unchanged(self) -> bool:
        """Objects of which something has no schema count as changed."""
        if self._unchanged is None:
            self._unchanged = self._compare()
        return self._unchanged

    def _compare(self) -> bool:
        new, old = self._new, self._old
        if type(new) is not type(old):
            return False
        if type(new) is list:
            if len(new) != len(old):
                return False
            if self._schema.list_type != MAP:
                return is_same(new, old)
            return all(_is_unchanged(self.of_place(place)) for place in range(len(new)))
        if type(new) is dict:
            return len(new) == len(old) and all(_is_unchanged(self.of_name(name)) for name in new)
        return is_same(new, old)


def _is_unchanged(part: Correlation | None) -> bool:
    return part is not None and part.is_unchanged()
