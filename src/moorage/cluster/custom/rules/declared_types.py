"""The type that a schema gives to values in expressions, and how large such values can be.

A value can be as large as its schema allows, or as a request can be that brings it. How small it can be
tells how many of its kind there can be in one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from moorage.cel import types
from moorage.cel.declarations import Range
from moorage.cel.types import Type
from moorage.cluster.custom.rules.names import RESERVED, escaped
from moorage.cluster.custom.structural import INT_OR_STRING, META_FIELDS, rules_of
from moorage.cluster.schema.model import (
    ABSENT,
    ARRAY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Field,
    Schema,
)

LARGEST_REQUEST = 3 * 2**20
_LONGEST_STRING = LARGEST_REQUEST - 2  # without its quotes
_BYTES_PER_LETTER = 4
_FORMATTED = {"duration": (types.DURATION, 3, 32), "date": (types.TIMESTAMP, 12, 12)}
_FORMATTED["date-time"] = (types.TIMESTAMP, 21, 32)
"""The types of strings with a format, with the least and the largest size."""


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredType:
    """What is known of all values of a schema."""

    scalar: Type | None = None
    """None: it is a list, a map or an object."""
    max_elements: int = 0
    """Of strings in bytes, of lists and maps in entries."""
    min_size: int = 2
    """In bytes of JSON."""
    key: DeclaredType | None = None
    """Of a map."""
    element: DeclaredType | None = None
    """Of a list or a map."""
    fields: dict[str, DeclaredType] | None = None
    """Of an object, by escaped names."""

    def size_of(self, path: Sequence[str]) -> Range | None:
        """The size of what a path leads to that begins with a variable of this type."""
        found: DeclaredType | None = self
        for name in path[1:]:
            assert found is not None
            if name in ("@items", "@values"):
                found = found.element
            elif name == "@keys":
                found = found.key
            else:
                found = (found.fields or {}).get(name)
            if found is None:
                return None
        assert found is not None
        return Range(0, found.max_elements)

    def max_count(self) -> int:
        """How many of them there can be in a request."""
        return LARGEST_REQUEST // (self.min_size + 1)


_TEXT = DeclaredType(types.STRING)
_PLAIN = {
    BOOLEAN: DeclaredType(types.BOOL, min_size=4),
    NUMBER: DeclaredType(types.DOUBLE, min_size=1),
    INTEGER: DeclaredType(types.INT, min_size=1),
}


def with_metadata(schema: Schema) -> Schema:
    """The schema of a whole object with those fields that rules can see of every one."""
    fields = schema.fields
    metadata = fields["metadata"].schema if "metadata" in fields else Schema()
    known = [
        *(fields[name].schema.type if name in fields else "" for name in META_FIELDS),
        *(metadata.fields[name].schema.type if name in metadata.fields else "" for name in _METADATA_NAMES),
    ]
    return schema if known == _COMPLETE else replace(schema, fields={**fields, **_META})


_METADATA_NAMES = ("name", "generateName")
_COMPLETE = [STRING, STRING, OBJECT, STRING, STRING]
_META = {name: Field(Schema(type=STRING)) for name in META_FIELDS}
_META["metadata"] = Field(
    Schema(type=OBJECT, fields={name: Field(Schema(type=STRING)) for name in _METADATA_NAMES})
)


def values_schema(schema: Schema) -> Schema | None:
    """The schema of a map's values, if there is one: they may also just be allowed."""
    values = schema.values
    if values is None or not (values.type or values.format or values.keeps_unknown):
        return None
    return values


def declared_type(schema: Schema, *, whole: bool) -> DeclaredType | None:
    """None: expressions do not see values of this schema."""
    if schema.format == INT_OR_STRING:
        longest = rules_of(schema).get("maxLength")
        size = _LONGEST_STRING if longest is None else max(longest, 0) * _BYTES_PER_LETTER
        return DeclaredType(types.DYN, size, 1)
    if schema.type == ARRAY:
        return _list_type(schema)
    if schema.type == OBJECT:
        return _object_type(with_metadata(schema) if whole else schema)
    return _string_type(schema) if schema.type == STRING else _PLAIN.get(schema.type)


def _list_type(schema: Schema) -> DeclaredType | None:
    items = schema.items
    element = None if items is None else declared_type(items, whole=items.embedded)
    if element is None:
        return None
    most = rules_of(schema).get("maxItems")
    count = (LARGEST_REQUEST - 2) // (element.min_size + 1) if most is None else max(most, 0)
    return DeclaredType(max_elements=count, element=element)


def _object_type(schema: Schema) -> DeclaredType | None:
    values = values_schema(schema)
    if values is not None:
        element = declared_type(values, whole=values.embedded)
        if element is None:
            return None
        most = rules_of(schema).get("maxProperties")
        count = (LARGEST_REQUEST - 2) // (element.min_size + 6) if most is None else max(most, 0)
        return DeclaredType(max_elements=count, key=_TEXT, element=element)
    needed = rules_of(schema).needs
    fields: dict[str, DeclaredType] = {}
    min_size = 2
    for name, field in schema.fields.items():
        declared = declared_type(field.schema, whole=field.schema.embedded)
        if declared is None:
            continue
        if (spelled := escaped(name)) is not None:
            fields[spelled] = declared
        if name in needed and field.default is ABSENT:
            min_size += len(name.encode()) + declared.min_size + 4
    return DeclaredType(min_size=min_size, fields=fields)


def _string_type(schema: Schema) -> DeclaredType:
    rules = rules_of(schema)
    longest = rules.get("maxLength")
    if schema.format == "byte":
        return DeclaredType(types.BYTES, _LONGEST_STRING if longest is None else max(longest, 0))
    if schema.format in _FORMATTED:
        type_, least, most = _FORMATTED[schema.format]
        return DeclaredType(type_, most, least)
    if longest is not None:
        return DeclaredType(types.STRING, max(longest, 0) * _BYTES_PER_LETTER)
    if allowed := rules.get("enum"):
        sizes = [len(each.encode()) for each in allowed if isinstance(each, str)]
        return DeclaredType(types.STRING, max(sizes, default=0))
    return DeclaredType(types.STRING, _LONGEST_STRING)


class Objects(dict[str, dict[str, Type]]):
    """The types of objects by name, each with the types of its fields; filled by `named`."""

    def named(self, declared: DeclaredType, name: str) -> Type:
        """The type in the terms of expressions. Objects are named by the way that leads to them."""
        if declared.scalar is not None:
            return declared.scalar
        if declared.key is not None and declared.element is not None:
            return types.map_of(types.STRING, self.named(declared.element, f"{name}.@elem"))
        if declared.element is not None:
            return types.list_of(self.named(declared.element, f"{name}.@idx"))
        fields = {
            field: self.named(inner, f"{name}.{field}") for field, inner in (declared.fields or {}).items()
        }
        for word in RESERVED & {field.strip("_") for field in fields}:
            if f"__{word}__" in fields:
                fields.setdefault(word, fields[f"__{word}__"])
        self[name] = fields
        return Type(name)
