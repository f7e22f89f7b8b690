"""Reads messages into documents as JSON has them.

What a message means is told by the shape of the value and the numbers of its fields. Each message is compiled
once, on its first use, into a table of functions that add what they find to a dict.

The numbers are recorded: a file holds the types of one Go package, a line for each: its name, then
`field=number`. A field that starts with `+` is a message of its own whose fields JSON has in the type itself;
its name is that of the message. `tools/record_protobuf.py` writes these files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import EITHER, type_name
from moorage.cluster.schema.canonical import Malformed
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema
from moorage.cluster.schema.protobuf import wire
from moorage.cluster.schema.protobuf.wire import CUT_SHORT, LENGTH, VARINT, extent, varint

Fill = Callable[[Document, bytes, int, int], None]
"""Adds to a document what stands in the data between two places."""
Read = Callable[[bytes, int, int], Any]
"""The value that stands in the data between two places; None for none."""
DATA = Path(__file__).with_name("data")


def field_numbers(package: str, type_name: str) -> dict[str, int]:
    """The fields of a type, such as PodSpec of core.v1. Raises LookupError if it is not recorded."""
    _, *fields = _lines(package)[type_name].split(" ")
    return {name: int(number) for name, _, number in (field.partition("=") for field in fields)}


@cache
def _lines(package: str) -> dict[str, str]:
    lines = (DATA / f"{package}.txt").read_text().splitlines()
    return {line.partition(" ")[0]: line for line in lines}


class Message:
    """How messages of one type are read."""

    def __init__(self, name: str, package: str, numbers: Mapping[str, int]) -> None:
        self.name = name
        self.package = package
        self._numbers = numbers
        # By tag, which is the number of a field and the way its value is written
        self._fields: dict[int, Fill] = {}

    def compile(self, shapes: Mapping[str, Schema]) -> None:
        """Makes the table; `shapes` are those of the fields in JSON."""
        for name, number in self._numbers.items():
            if name.startswith("+"):
                inner = Message(name[1:], self.package, field_numbers(self.package, name[1:]))
                inner.compile(shapes)
                self._fields[number << 3 | LENGTH] = inner.fill
            elif name in shapes:
                self._compile_field(name, number << 3, shapes[name])

    def _compile_field(self, name: str, tag: int, shape: Schema) -> None:
        if shape.type == OBJECT:
            put = _nested(name, shape, self.package) if shape.values is None else _map(name, shape.values)
            self._fields[tag | LENGTH] = put
        elif shape.type == ARRAY and shape.items is not None:
            way, read = _value(shape.items, self.package)
            self._fields[tag | way] = _repeated(name, read)
            if way == VARINT:
                self._fields[tag | LENGTH] = _packed(name, read)
        else:
            way, read = _value(shape, self.package)
            self._fields[tag | way] = _single(name, read)

    def fill(self, document: Document, data: bytes, start: int, end: int) -> None:
        """Adds the fields between two places to the document."""
        position = start
        while position < end:
            tag, position = varint(data, position)
            put = self._fields.get(tag)
            if put is None:
                self._check_unknown(tag)
            start, position = extent(data, position, tag)
            if position > end:
                raise Malformed(CUT_SHORT)
            if put is not None:
                put(document, data, start, position)

    def read(self, data: bytes, start: int, end: int) -> Document:
        document: Document = {}
        self.fill(document, data, start, end)
        return document

    def _check_unknown(self, tag: int) -> None:
        number, way = tag >> 3, tag & 7
        if way == wire.END_GROUP:
            raise Malformed(f"proto: {self.name}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise Malformed(f"proto: {self.name}: illegal tag {number} (wire type {tag})")
        for field, known in self._numbers.items():
            if number == known:
                name = field.lstrip("+")
                raise Malformed(f"proto: wrong wireType = {way} for field {name[0].upper()}{name[1:]}")


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


def made_up(name: str, **shapes: Schema) -> Message:
    """A message that is no type of its own in JSON; its fields are numbered in this order."""
    made = Message(name, "", {field: number for number, field in enumerate(shapes, 1)})
    made.compile(shapes)
    return made


# How fields are put into the document


def _single(name: str, read: Read) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        value = read(data, start, end)
        if value is not None:
            document[name] = value

    return put


def _nested(name: str, shape: Schema, package: str) -> Fill:
    inner = message(shape, package)

    def put(document: Document, data: bytes, start: int, end: int) -> None:
        inner.fill(document.setdefault(name, {}), data, start, end)

    return put


def _repeated(name: str, read: Read) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        document.setdefault(name, []).append(read(data, start, end))

    return put


def _packed(name: str, read: Read) -> Fill:
    def put(document: Document, data: bytes, start: int, end: int) -> None:
        values = document.setdefault(name, [])
        while start < end:
            values.append(read(data, start, end))
            _, start = varint(data, start)
        if start > end:
            raise Malformed(CUT_SHORT)

    return put


def _map(name: str, values: Schema) -> Fill:
    in_list = Schema(ARRAY, items=values)  # so that a list, too, is read as one value
    entry = made_up("", key=TEXT, value=in_list)

    def put(document: Document, data: bytes, start: int, end: int) -> None:
        found = entry.read(data, start, end)
        document.setdefault(name, {})[found.get("key", "")] = found.get("value", (None,))[-1]

    return put


# Values

TEXT = Schema(STRING)
RAW = Schema(STRING, "raw")
_INT64 = Schema(INTEGER)
_INT32 = Schema(INTEGER, "int32")


def _value(shape: Schema, package: str) -> tuple[int, Read]:
    """How a value is written, and the function that reads it."""
    found = _SCALARS.get(shape.format) or _SCALARS.get(shape.type)
    if found is not None:
        return found
    if shape.type == ARRAY:
        # A list inside a map or list: protobuf has it in a message of its own.
        return _converted(lambda found: found.get("items"), made_up(shape.name, items=shape))
    if shape.name in EITHER and shape.values is not None:
        return _either(shape.name, shape.values)
    return _JSON if shape.type == ANY else (LENGTH, message(shape, package).read)


def _converted(convert: Callable[[Document], Any], written: Message) -> tuple[int, Read]:
    """A message that JSON does not have as an object."""
    return LENGTH, lambda data, start, end: convert(written.read(data, start, end))


def _either(name: str, schema: Schema) -> tuple[int, Read]:
    """A schema of a custom resource, or what may stand for one."""
    if name.endswith("OrBool"):
        written = made_up(name, allows=Schema(BOOLEAN), schema=schema)
        return _converted(lambda found: found.get("schema", found.get("allows", False)), written)
    items = TEXT if name.endswith("StringArray") else schema
    written = made_up(name, schema=schema, list=Schema(ARRAY, items=items))
    return _converted(lambda found: found.get("list", found.get("schema")), written)


def _json(found: Document) -> Any:
    try:
        return msgspec.json.decode(found["raw"]) if found.get("raw") else None
    except msgspec.DecodeError as error:
        raise Malformed(f"json parse error: {error}") from None


def _int_or_string(found: Document) -> Any:
    return found.get("strVal", "") if found.get("type") else found.get("intVal", 0)


def _time(found: Document, timespec: str = "seconds") -> str | None:
    if not found:
        return None
    since = timedelta(seconds=found.get("seconds", 0), microseconds=int(found.get("nanos", 0) / 1000))
    return f"{(datetime(1970, 1, 1) + since).isoformat(timespec=timespec)}Z"


_SCALARS: dict[str, tuple[int, Read]] = {
    BOOLEAN: (VARINT, wire.read_bool),
    INTEGER: (VARINT, wire.read_int64),
    "int32": (VARINT, wire.read_int32),
    NUMBER: (wire.FIXED64, wire.read_double),
    STRING: (LENGTH, wire.read_string),
    "byte": (LENGTH, wire.read_base64),
    "raw": (LENGTH, wire.read_raw),
}
"""By the format of the shape, or else by its type."""

_JSON = _converted(_json, made_up("JSON", raw=RAW))
_SCALARS |= {
    "quantity": _converted(lambda found: found.get("string", "0"), made_up("Quantity", string=TEXT)),
    "int-or-string": _converted(
        _int_or_string, made_up("IntOrString", type=_INT64, intVal=_INT32, strVal=TEXT)
    ),
    "date-time": _converted(_time, made_up("Time", seconds=_INT64)),
    "micro-time": _converted(
        partial(_time, timespec="microseconds"), made_up("MicroTime", seconds=_INT64, nanos=_INT32)
    ),
}
