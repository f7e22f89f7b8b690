"""Says what is wrong with a document, in the words of Go's JSON decoder."""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.cluster.base.go_text import json_type
from moorage.cluster.schema import canonical_times as times
from moorage.cluster.schema.builtin import embedding_struct
from moorage.cluster.schema.canonical import Malformed, binary_data, quantity
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema

_LAYOUTS = {"date-time": times.SECONDS, "micro-time": times.MICROSECONDS}
_GO_TYPES = {STRING: "string", BOOLEAN: "bool", INTEGER: "int64", NUMBER: "float64"}
_GO_FORMATS = {"byte": "[]uint8", "int32": "int32"}
_LONGEST_NUMBER = 100


class _Place(NamedTuple):
    """Where the decoder is: the struct it fills, the names of the fields that led there, and the path."""

    struct: str
    fields: tuple[str, ...]
    path: str


_TOP = _Place("", (), "")


class Mistakes:
    """Everything that is wrong with a document of this shape.

    Decoding goes on after a value of a wrong type, and the first of those is reported, but it stops at a text
    that cannot be read, and that is reported then.
    """

    def __init__(self, schema: Schema, document: Any, place: _Place = _TOP) -> None:
        self.unknown: list[str] = []
        self._first = ""
        self._fatal = ""
        try:
            self._check(schema, document, place)
        except Malformed as error:
            self._fatal = str(error)

    @property
    def message(self) -> str:
        return self._fatal or self._first

    def _check(self, schema: Schema, value: Any, place: _Place) -> None:
        if value is None:
            return
        if schema.format in ("quantity", "int-or-string", *_LAYOUTS):
            _check_text(schema, value, place)
        elif schema.type == ARRAY and schema.items is not None:
            self._check_list(schema, schema.items, value, place)
        elif schema.type == OBJECT:
            self._check_object(schema, value, place)
        elif schema.type == ANY and schema.values is not None:
            _check_either(schema, schema.values, value, place)
        elif schema.type == ANY:
            return
        elif problem := _scalar_problem(schema, value):
            self._remember(_mismatch(problem, go_type(schema), place))
        elif schema.format == "byte":
            try:
                binary_data(value)
            except Malformed as error:
                self._remember(str(error))

    def _check_list(self, schema: Schema, items: Schema, value: Any, place: _Place) -> None:
        if not isinstance(value, list):
            self._remember(_mismatch(json_type(value), go_type(schema), place))
            return
        for index, item in enumerate(value):
            self._check(items, item, place._replace(path=f"{place.path}[{index}]"))

    def _check_object(self, schema: Schema, value: Any, place: _Place) -> None:
        if not isinstance(value, dict):
            self._remember(_mismatch(json_type(value), go_type(schema), place))
            return
        for name, item in value.items():
            path = f"{place.path}.{name}" if place.path else str(name)
            if schema.values is not None:
                self._check(schema.values, item, place._replace(path=path))
                continue
            field = schema.fields.get(name)
            if field is not None:
                inside = embedding_struct(field)
                fields = (*place.fields, *inside.split("."), name) if inside else (*place.fields, name)
                self._check(field.schema, item, _Place(schema.name, fields, path))
            elif not schema.keeps_unknown:
                self.unknown.append(path)

    def _remember(self, problem: str) -> None:
        self._first = self._first or problem


def go_type(schema: Schema) -> str:
    """The type's name in Go, as messages give it."""
    if schema.name:
        return schema.name if "." in schema.name or "[" in schema.name else f"v1.{schema.name}"
    if schema.type == ARRAY and schema.items is not None:
        return "[]" + go_type(schema.items)
    if schema.type == OBJECT:
        return "map[string]" + (go_type(schema.values) if schema.values is not None else "interface {}")
    return _GO_FORMATS.get(schema.format) or _GO_TYPES.get(schema.type, "interface {}")


def _scalar_problem(schema: Schema, value: Any) -> str:
    """What stands there instead of the right type; empty if it is right."""
    kind = json_type(value)
    if schema.type in (STRING, BOOLEAN):
        return "" if kind == {STRING: "string", BOOLEAN: "bool"}[schema.type] else kind
    if kind != "number":
        return kind
    if schema.type == NUMBER:
        return "" if _is_finite(value) else _number(value)
    limit = 2**31 if schema.format == "int32" else 2**63
    return "" if isinstance(value, int) and -limit <= value < limit else _number(value)


def _is_finite(value: int | float) -> bool:
    try:
        return float("-inf") < float(value) < float("inf")
    except OverflowError:
        return False


def _number(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 3 * _LONGEST_NUMBER:
        return "number"  # too long to be shown
    return f"number {value!r}"


def _check_either(schema: Schema, otherwise: Schema, value: Any, place: _Place) -> None:
    """What is inside is decoded by itself: a mistake ends everything, and what is unknown is not reported."""
    if schema.name.endswith("OrBool") and not isinstance(value, dict | bool):
        raise Malformed("boolean or JSON schema expected")
    shape = otherwise
    if isinstance(value, list):
        shape = Schema(ARRAY, items=Schema(STRING) if schema.name.endswith("StringArray") else otherwise)
    if isinstance(value, list | dict) and (message := Mistakes(shape, value, place).message):
        raise Malformed(message)


def _check_text(schema: Schema, value: Any, place: _Place) -> None:
    """Values with a syntax of their own; a mistake in one ends everything."""
    if schema.format == "quantity":
        quantity(value if isinstance(value, str | int | float) else "")
    elif schema.format == "int-or-string":
        problem = "" if isinstance(value, str) else _scalar_problem(Schema(INTEGER, "int32"), value)
        if problem:
            raise Malformed(_mismatch(problem, "int32", place))
    elif not isinstance(value, str):
        raise Malformed(_mismatch(json_type(value), "string", place))
    else:
        times.canonical_time(value, _LAYOUTS[schema.format])


def _mismatch(found: str, wanted: str, place: _Place) -> str:
    if not place.fields:
        return f"json: cannot unmarshal {found} into Go value of type {wanted}"
    where = ".".join((place.struct, *place.fields))
    return f"json: cannot unmarshal {found} into Go struct field {where} of type {wanted}"
