"""Values of an object as expressions see them: by their schema.

Lists that are sets, or that have keys, are equal to others in any order, and adding to them leaves nothing
twice. A property that is null is not there. What a value is made of is looked at when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from moorage.cel.evaluation.operators import equals, find, no_such_overload
from moorage.cel.values import (
    MISSING,
    DeclaredList,
    DeclaredMap,
    Duration,
    EvaluationError,
    Failure,
    Fault,
    Timestamp,
)
from moorage.cluster.base.go_text import as_float, is_integer, type_name
from moorage.cluster.custom.rules.declared_types import values_schema, with_metadata
from moorage.cluster.custom.rules.formatted import FORMATTED
from moorage.cluster.custom.rules.names import escaped, unescaped
from moorage.cluster.custom.structural import INT_OR_STRING
from moorage.cluster.schema.model import ARRAY, BOOLEAN, INTEGER, MAP, NUMBER, OBJECT, SET, STRING, Schema

Key: TypeAlias = tuple[Any, ...]
_FOREIGN_TYPES = {Timestamp: "time.Time", Duration: "time.Duration", bytes: "[]uint8", tuple: "[]ref.Val"}


def value_of(raw: Any, schema: Schema) -> Any:
    """The value, or a Failure where the schema does not allow it."""
    if raw is None:
        if schema.nullable:
            return None
        return Failure("invalid data, got null for schema with nullable=false")
    if schema.format == INT_OR_STRING:
        if type(raw) is str or is_integer(raw):
            return raw
        return Failure("invalid data, expected XIntOrString value to be either a string or integer")
    convert = _BY_TYPE.get(schema.type)
    if convert is not None:
        return convert(raw, schema)
    if schema.keeps_unknown:
        return Preserved(raw)
    return Failure(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with "
        "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
    )


def _object(raw: Any, schema: Schema) -> Any:
    if type(raw) is not dict:
        return Failure("invalid data, expected a map for the provided schema with type=object")
    return MapValue(raw, with_metadata(schema) if schema.embedded else schema)


def _array(raw: Any, schema: Schema) -> Any:
    if type(raw) is not list:
        return Failure("invalid data, expected an array for the provided schema with type=array")
    if schema.items is None:
        return Failure("invalid array type, expected Items with a non-empty Schema")
    if schema.list_type == MAP:
        return KeyedList(raw, schema)
    return (SetList if schema.list_type == SET else ListValue)(raw, schema)


def _string(raw: Any, schema: Schema) -> Any:
    if type(raw) is not str:
        return _unexpected("string", raw)
    convert = FORMATTED.get(schema.format)
    return raw if convert is None else convert(raw)


def _number(raw: Any, schema: Schema) -> Any:
    return as_float(raw) if type(raw) in (int, float) else _unexpected("float", raw)


def _integer(raw: Any, schema: Schema) -> Any:
    return raw if is_integer(raw) else _unexpected("int", raw)


def _boolean(raw: Any, schema: Schema) -> Any:
    return raw if type(raw) is bool else _unexpected("bool", raw)


def _unexpected(wanted: str, raw: Any) -> Failure:
    found = _FOREIGN_TYPES.get(type(raw)) or type_name(raw)
    return Failure(f"invalid data, expected {wanted}, got {found}")


_BY_TYPE = {
    OBJECT: _object,
    ARRAY: _array,
    STRING: _string,
    NUMBER: _number,
    INTEGER: _integer,
    BOOLEAN: _boolean,
}


class Preserved:
    """Something that no schema describes; it can only be compared as a part of something else."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def equals(self, other: Any) -> bool:
        return is_same(self.raw, raw_of(other))


def raw_of(value: Any) -> Any:
    """What a value is without its schema; times, durations and bytes remain what they are."""
    return value.raw if isinstance(value, (DeclaredMap, DeclaredList, Preserved)) else value


def is_same(left: Any, right: Any) -> bool:
    """Whether two parts of documents are the same; 1 is neither 1.0 nor true."""
    if type(left) is not type(right):
        return False
    if type(left) is dict:
        return left.keys() == right.keys() and all(is_same(left[name], right[name]) for name in left)
    if type(left) is list:
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)


def _are_equal(left: Any, right: Any) -> bool:
    """Of parts of what is compared; raises EvaluationError where they cannot be."""
    if isinstance(left, Failure):
        raise EvaluationError(left.message)
    if isinstance(right, Failure):
        return False
    if isinstance(left, (DeclaredMap, DeclaredList, Preserved)):
        return left.equals(right)
    return equals(left, right)


class MapValue(DeclaredMap):
    """A map or an object."""

    __slots__ = ("_found", "_schema", "_values", "raw")

    def __init__(self, raw: dict[str, Any], schema: Schema) -> None:
        self.raw = raw
        self._schema = schema
        self._values = None if schema.fields else values_schema(schema)
        self._found: dict[str, Any] = {}

    def _schema_of(self, name: str) -> Schema | None:
        field = self._schema.fields.get(name)
        return self._values if field is None else field.schema

    def find(self, key: Any) -> Any:
        if type(key) is not str:
            return Failure("no such overload")
        if key not in self._found:
            self._found[key] = self._look_up(key)
        return self._found[key]

    def _look_up(self, key: str) -> Any:
        name: str | None = key
        if self._schema.fields:
            name = unescaped(key)
        if name is None or name not in self.raw:
            return MISSING
        raw = self.raw[name]
        if raw is None and self._schema.fields:
            return MISSING
        schema = self._schema_of(name)
        return MISSING if schema is None else value_of(raw, schema)

    def __iter__(self) -> Iterator[str]:
        for name in self.raw:
            if self._schema_of(name) is not None:
                yield (escaped(name) or name) if self._schema.fields else name

    def equals(self, other: Any) -> bool:
        if not isinstance(other, (Mapping, DeclaredMap)):
            raise no_such_overload()
        if len(self) != len(other):
            return False
        for name, raw in self.raw.items():
            if self._schema_of(name) is not None:
                mine, theirs = self.find(name), find(other, name)
                if (mine is MISSING) != (theirs is MISSING):
                    return False
                if mine is not MISSING and not _are_equal(mine, theirs):
                    return False
            elif not isinstance(other, DeclaredMap):
                raise no_such_overload()
            elif name in other.raw and not is_same(raw, other.raw[name]):
                return False
        return True


class ListValue(DeclaredList):
    """A list in which the order counts."""

    _schema: Schema

    def __new__(cls, raw: list[Any], schema: Schema) -> ListValue:
        items = schema.items
        assert items is not None
        found = super().__new__(cls, [value_of(each, items) for each in raw])
        found.raw, found._schema = raw, schema
        found.has_failures = any(isinstance(each, Failure) for each in found)
        return found

    def equals(self, other: Any) -> bool:
        """An element that cannot be compared with the other one decides, too."""
        return len(self) == len(_as_list(other)) and all(map(_are_equal, self, other))

    def contains(self, element: Any) -> bool:
        problem: EvaluationError | None = None
        for each in self:
            try:
                if _are_equal(each, element):
                    return True
            except Fault:
                raise
            except EvaluationError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return False

    def plus(self, other: Any) -> ListValue:
        return type(self)([*self.raw, *map(raw_of, _as_list(other))], self._schema)


class SetList(ListValue):
    """A list that is a set."""

    def equals(self, other: Any) -> bool:
        if len(self) != len(_as_list(other)):
            return False
        members = {_key(each) for each in self.raw}
        return all(_key(raw_of(each)) in members for each in other)

    def plus(self, other: Any) -> ListValue:
        members = {_key(each) for each in self.raw}
        joined = [*self.raw]
        for each in map(raw_of, _as_list(other)):
            if (key := _key(each)) not in members:
                members.add(key)
                joined.append(each)
        return SetList(joined, self._schema)


class KeyedList(ListValue):
    """A list of objects that are told apart by keys."""

    def equals(self, other: Any) -> bool:
        if len(self) != len(_as_list(other)):
            return False
        by_key = dict(zip(map(self._key_of, self.raw), self, strict=True))
        for each in other:
            mine = by_key.get(self._key_of(raw_of(each)), MISSING)
            if mine is MISSING or not _are_equal(mine, each):
                return False
        return True

    def plus(self, other: Any) -> ListValue:
        """What both have is as the other has it, where this has it."""
        joined = [*self.raw]
        places = {self._key_of(each): place for place, each in enumerate(self.raw)}
        for each in map(raw_of, _as_list(other)):
            place = places.get(self._key_of(each))
            if place is None:
                joined.append(each)
            else:
                joined[place] = each
        return KeyedList(joined, self._schema)

    def _key_of(self, element: Any) -> Key:
        if type(element) is not dict:
            return ("", id(element))  # like no other
        # The original looks for properties of these names, which those that need escaping do not have.
        return tuple([_key(element.get(escaped(name) or name)) for name in self._schema.list_keys])


def _as_list(other: Any) -> Any:
    if isinstance(other, (tuple, list)):
        return other
    raise no_such_overload()


def _key(raw: Any) -> Key:
    """What makes two members of a set the same one."""
    if isinstance(raw, (dict, list, bytes, tuple)):
        found = _FOREIGN_TYPES.get(type(raw)) or type_name(raw)
        raise Fault(f"internal error: runtime error: hash of unhashable type {found}")
    return type(raw), raw
