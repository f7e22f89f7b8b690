"""Reads messages into documents as JSON has them.

What a message means is told by the shape of the value and the numbers of its fields. Each message is compiled
once, on its first use, into a function that adds the fields it finds to a dict.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from moorage.cluster.protobuf import moments
from moorage.cluster.protobuf.field_numbers import field_numbers
from moorage.cluster.protobuf.wire import (
    CUT_SHORT,
    END_GROUP,
    FIXED64,
    LENGTH,
    VARINT,
    Malformed,
    end_of_piece,
    skip,
    varint,
)
from moorage.cluster.schema.builtin import EITHER, type_name
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema
from moorage.cluster.store import Document

Fill = Callable[[Document, bytes, int, int], None]
"""Adds to a document what stands in the data between two places."""
Piece = Callable[[bytes, int, int], Any]
"""The value that stands in the data between two places; None for none."""
Convert = Callable[[int], Any]
"""The value that a variable-length number stands for."""


def message(schema: Schema, owner: str = "") -> Fill:
    """The function that reads objects of this shape; `owner` is the package of the type they stand in."""
    found = _messages.get(schema)
    if found is not None:
        return found

    def later(document: Document, data: bytes, start: int, end: int) -> None:
        _messages[schema](document, data, start, end)

    _messages[schema] = later
    whole_name = type_name(schema)
    # A shape that is special in one place is a copy of its type's, which has no whole name.
    package = ".".join(whole_name.split(".")[-3:-1]) if whole_name else owner
    made = _Message(schema.name, package)
    made.add(field_numbers(package, schema.name), {name: field.schema for name, field in schema.fields.items()})
    _messages[schema] = made.fill
    return made.fill


_messages: dict[Schema, Fill] = {}


class _Message:
    def __init__(self, name: str, package: str = "") -> None:
        self._name = name
        self._package = package
        self._names: dict[int, str] = {}
        # By tag, which is the number of a field and how its value is written
        self._pieces: dict[int, Fill] = {}
        self._numbers: dict[int, tuple[str, bool, Convert]] = {}

    def add(self, numbers: Mapping[str, int], shapes: Mapping[str, Schema]) -> _Message:
        for name, number in numbers.items():
            self._names[number] = name
            if name.startswith("+"):
                inner = _Message(name[1:], self._package)
                inner.add(field_numbers(self._package, name[1:]), shapes)
                self._pieces[number << 3 | LENGTH] = inner.fill
            elif name in shapes:
                self._add_field(name, number << 3, shapes[name])
        return self

    def _add_field(self, name: str, tag: int, shape: Schema) -> None:
        repeated = shape.type == ARRAY
        values = shape.items if repeated and shape.items is not None else shape
        convert = _number(values)
        if convert is not None:
            self._numbers[tag | VARINT] = (name, repeated, convert)
            if repeated:
                self._pieces[tag | LENGTH] = _packed(name, convert)
        elif values.type == NUMBER:
            self._pieces[tag | FIXED64] = _single(name, _double)
        elif repeated:
            self._pieces[tag | LENGTH] = _repeated(name, _piece(values, self._package))
        elif shape.type == OBJECT and shape.values is not None:
            self._pieces[tag | LENGTH] = _map(name, shape.values, self._package)
        elif shape.type == OBJECT:
            self._pieces[tag | LENGTH] = _nested(name, message(shape, self._package))
        else:
            self._pieces[tag | LENGTH] = _single(name, _piece(shape, self._package))

    def fill(self, document: Document, data: bytes, start: int, end: int) -> None:
        pieces, numbers = self._pieces, self._numbers
        position = start
        while position < end:
            tag, position = varint(data, position)
            wire = tag & 7
            if wire == LENGTH:
                put = pieces.get(tag)
                if put is None:
                    self._check_unknown(tag)
                begin, position = end_of_piece(data, position, end)
                if put is not None:
                    put(document, data, begin, position)
            elif wire == VARINT and tag in numbers:
                number, position = varint(data, position)
                name, repeated, convert = numbers[tag]
                if repeated:
                    document.setdefault(name, []).append(convert(number))
                else:
                    document[name] = convert(number)
            elif wire == FIXED64 and tag in pieces:
                position += 8
                if position <= end:
                    pieces[tag](document, data, position - 8, position)
            else:
                self._check_unknown(tag)
                position = skip(data, position, end, tag)
        if position > end:
            raise Malformed(CUT_SHORT)

    def _check_unknown(self, tag: int) -> None:
        number, wire = tag >> 3, tag & 7
        if wire == END_GROUP:
            raise Malformed(f"proto: {self._name}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise Malformed(f"proto: {self._name}: illegal tag {number} (wire type {tag})")
        if number in self._names:
            name = self._names[number].lstrip("+")
            raise Malformed(f"proto: wrong wireType = {wire} for field {name[0].upper()}{name[1:]}")


# How fields are put into the document


def _single(name: str, read: Piece) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        value = read(data, start, end)
        if value is not None:
            document[name] = value

    return put


def _nested(name: str, fill: Fill) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        fill(document.setdefault(name, {}), data, start, end)

    return put


def _repeated(name: str, read: Piece) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        document.setdefault(name, []).append(read(data, start, end))

    return put


def _packed(name: str, convert: Convert) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        values = document.setdefault(name, [])
        while start < end:
            number, start = varint(data, start)
            values.append(convert(number))
        if start > end:
            raise Malformed(CUT_SHORT)

    return put


def _map(name: str, values: Schema, package: str) -> Fill:
    entry = _Message("", package).add({"key": 1, "value": 2}, {"key": Schema(STRING), "value": values}).fill

    def put(document: Document, data: bytes, start: int, end: int) -> None:
        found: Document = {}
        entry(found, data, start, end)
        document.setdefault(name, {})[found.get("key", "")] = found.get("value")

    return put


# Values


def _number(shape: Schema) -> Convert | None:
    if shape.type == BOOLEAN:
        return bool
    if shape.type == INTEGER:
        return _int32 if shape.format == "int32" else _int64
    return None


def _int32(number: int) -> int:
    return number if number < 1 << 31 else ((number & 0xFFFF_FFFF) ^ 1 << 31) - (1 << 31)


def _int64(number: int) -> int:
    return number if number < 1 << 63 else number - (1 << 64)


def _double(data: bytes, start: int, end: int) -> float:
    number: float = struct.unpack_from("<d", data, start)[0]
    if not math.isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return number


def _piece(shape: Schema, package: str) -> Piece:
    """How to read a value that is written with its length."""
    if shape.format in _SPECIAL:
        return _SPECIAL[shape.format]
    if shape.type == STRING:
        return _string
    if shape.name in EITHER and shape.values is not None:
        return _either(shape.name, shape.values, package)
    if shape.type == ANY:
        return _any
    if shape.type == ARRAY:
        return _wrapped(shape, package)
    return _object(message(shape, package))


def _object(fill: Fill) -> Piece:
    def read(data: bytes, start: int, end: int) -> Any:
        document: Document = {}
        fill(document, data, start, end)
        return document

    return read


def _wrapped(shape: Schema, package: str) -> Piece:
    """A list in a map or list, where there can be only a message that holds it."""
    read = _object(_Message(shape.name, package).add({"items": 1}, {"items": shape}).fill)
    return lambda data, start, end: read(data, start, end).get("items", [])


def _string(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode()


def _bytes(data: bytes, start: int, end: int) -> str:
    return base64.b64encode(data[start:end]).decode()


def _of_fields(name: str, **shapes: Schema) -> Piece:
    """A small message of which the fields are numbered in this order."""
    numbers = {field: number for number, field in enumerate(shapes, 1)}
    return _object(_Message(name).add(numbers, shapes).fill)


_INT32, _INT64, _TEXT = Schema(INTEGER, "int32"), Schema(INTEGER, "int64"), Schema(STRING)

_read_quantity = _of_fields("Quantity", string=_TEXT)
_read_int_or_string = _of_fields("IntOrString", type=_INT64, intVal=_INT32, strVal=_TEXT)
_read_time = _of_fields("Timestamp", seconds=_INT64, nanos=_INT32)
_read_raw = _of_fields("RawExtension", raw=Schema(STRING, "byte"))
