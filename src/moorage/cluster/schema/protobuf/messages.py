"""Reads messages into documents as JSON has them.

What a message means is told by the shape of the value and the numbers of its fields. Each message is compiled
once, on its first use, into tables of functions that add what they find to a dict.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import EITHER, type_name
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema
from moorage.cluster.schema.protobuf.field_numbers import field_numbers
from moorage.cluster.schema.protobuf.special_values import SPECIAL, Piece, read_json, read_string
from moorage.cluster.schema.protobuf.wire import (
    CUT_SHORT,
    END_GROUP,
    FIXED64,
    LENGTH,
    VARINT,
    Malformed,
    length,
    signed32,
    signed64,
    skip,
    varint,
)

Fill = Callable[[Document, bytes, int, int], None]
"""Adds to a document what stands in the data between two places."""
Convert = Callable[[int], Any]
"""The value that a variable-length number stands for."""

_double = struct.Struct("<d")


class Message:
    """How messages of one type are read."""

    def __init__(self, name: str, package: str, numbers: Mapping[str, int]) -> None:
        self.name = name
        self.package = package
        self._field_numbers = numbers
        self._field_names = {number: name for name, number in numbers.items()}
        # By tag, which is the number of a field and the way its value is written
        self._pieces: dict[int, Fill] = {}
        self._numbers: dict[int, tuple[str, bool, Convert]] = {}

    def compile(self, shapes: Mapping[str, Schema]) -> None:
        """Makes the tables; `shapes` are those of the fields in JSON."""
        for name, number in self._field_numbers.items():
            if name.startswith("+"):
                inner = Message(name[1:], self.package, field_numbers(self.package, name[1:]))
                inner.compile(shapes)
                self._pieces[number << 3 | LENGTH] = inner.fill
            elif name in shapes:
                self._compile_field(name, number << 3, shapes[name])

    def _compile_field(self, name: str, tag: int, shape: Schema) -> None:
        repeated = shape.type == ARRAY
        value = shape.items if repeated and shape.items is not None else shape
        convert = _number(value)
        if convert is not None:
            self._numbers[tag | VARINT] = (name, repeated, convert)
            if repeated:
                self._pieces[tag | LENGTH] = _packed(name, convert)
        elif value.type == NUMBER:
            self._pieces[tag | FIXED64] = _single(name, _read_double)
        elif repeated:
            self._pieces[tag | LENGTH] = _repeated(name, _piece(value, self.package))
        elif shape.type == OBJECT and shape.values is not None:
            self._pieces[tag | LENGTH] = _map(name, shape.values, self.package)
        elif shape.type == OBJECT:
            self._pieces[tag | LENGTH] = _nested(name, message(shape, self.package).fill)
        else:
            self._pieces[tag | LENGTH] = _single(name, _piece(shape, self.package))

    def fill(self, document: Document, data: bytes, start: int, end: int) -> None:
        """Adds the fields between two places to the document."""
        pieces, numbers = self._pieces, self._numbers
        position = start
        while position < end:
            tag = data[position]  # numbers of one byte are read in place: a call would take longer
            position += 1
            if tag > 0x7F:
                tag, position = varint(data, position - 1)
            put = pieces.get(tag)
            if put is not None:
                if tag & 7 == LENGTH:
                    size = data[position]
                    position += 1
                    if size > 0x7F:
                        size, position = length(data, position - 1)
                else:
                    size = 8
                if position + size > end:
                    raise Malformed(CUT_SHORT)
                put(document, data, position, position + size)
                position += size
            elif tag in numbers:
                number, position = varint(data, position)
                name, repeated, convert = numbers[tag]
                if repeated:
                    document.setdefault(name, []).append(convert(number))
                else:
                    document[name] = convert(number)
            else:
                self._check_unknown(tag)
                position = skip(data, position, tag)
        if position > end:
            raise Malformed(CUT_SHORT)

    def _check_unknown(self, tag: int) -> None:
        number, wire = tag >> 3, tag & 7
        if wire == END_GROUP:
            raise Malformed(f"proto: {self.name}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise Malformed(f"proto: {self.name}: illegal tag {number} (wire type {tag})")
        if number in self._field_names:
            name = self._field_names[number].lstrip("+")
            raise Malformed(f"proto: wrong wireType = {wire} for field {name[0].upper()}{name[1:]}")


_messages: dict[Schema, Message] = {}


def message(schema: Schema, owner: str = "") -> Message:
    """The message of a type; `owner` is the package of the type in which it is used."""
    found = _messages.get(schema)
    if found is None:
        whole_name = type_name(schema)
        # A shape that is special in one place is a copy of its type's, and has no whole name.
        package = ".".join(whole_name.split(".")[-3:-1]) if whole_name else owner
        found = Message(schema.name, package, field_numbers(package, schema.name))
        _messages[schema] = found  # before its fields, which may refer to it
        found.compile({name: field.schema for name, field in schema.fields.items()})
    return found


def _made_up(name: str, package: str, **shapes: Schema) -> Piece:
    """A message of which the fields are numbered in this order."""
    made = Message(name, package, {field: number for number, field in enumerate(shapes, 1)})
    made.compile(shapes)
    return _object(made.fill)


# How fields are put into the document

_NO_VALUE = (None,)


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
    in_list = Schema(ARRAY, items=values)  # so that a list, too, is read as one value
    entry = _made_up("", package, key=Schema(STRING), value=in_list)

    def put(document: Document, data: bytes, start: int, end: int) -> None:
        found = entry(data, start, end)
        document.setdefault(name, {})[found.get("key", "")] = found.get("value", _NO_VALUE)[-1]

    return put


# Values


def _number(shape: Schema) -> Convert | None:
    if shape.type == BOOLEAN:
        return bool
    if shape.type == INTEGER:
        return signed32 if shape.format == "int32" else signed64
    return None


def _read_double(data: bytes, start: int, end: int) -> float:
    number: float = _double.unpack_from(data, start)[0]
    if not math.isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return number


def _piece(shape: Schema, package: str) -> Piece:
    """How to read a value that is written with its length."""
    if shape.format in SPECIAL:
        return SPECIAL[shape.format]
    if shape.type == STRING:
        return read_string
    if shape.type == ARRAY:
        return _wrapped(shape, package)
    if shape.name in EITHER and shape.values is not None:
        return _either(shape.name, shape.values, package)
    return read_json if shape.type == ANY else _object(message(shape, package).fill)


def _object(fill: Fill) -> Piece:
    def read(data: bytes, start: int, end: int) -> Any:
        document: Document = {}
        fill(document, data, start, end)
        return document

    return read


def _wrapped(shape: Schema, package: str) -> Piece:
    """A list inside a map or list: protobuf has it in a message of its own."""
    read = _made_up(shape.name, package, items=shape)
    return lambda data, start, end: read(data, start, end).get("items")


def _either(name: str, schema: Schema, package: str) -> Piece:
    """A schema of a custom resource, or what may stand for one."""
    if name.endswith("OrBool"):
        read = _made_up(name, package, allows=Schema(BOOLEAN), schema=schema)
        other, otherwise = "allows", False
    else:
        items = Schema(STRING) if name.endswith("StringArray") else schema
        read = _made_up(name, package, schema=schema, list=Schema(ARRAY, items=items))
        other, otherwise = "list", None

    def read_either(data: bytes, start: int, end: int) -> Any:
        found = read(data, start, end)
        if other == "list" and "list" in found:
            return found["list"]
        return found.get("schema", found.get(other, otherwise))

    return read_either
