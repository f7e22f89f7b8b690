"""OpenAPI v2 as protobuf, which is how Go clients ask for it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from moorage.cluster.schema.protobuf.wire import FIXED64, LENGTH, VARINT

Encode = Callable[[Any], bytes]
"""A value without its tag."""

_double = struct.Struct("<d").pack


def encode_openapi_v2(document: dict[str, Any]) -> bytes:
    return _message(_DOCUMENT, document)


def _message(fields: dict[str, tuple[int, int, Encode]], value: dict[str, Any], extensions: int = 0) -> bytes:
    """A message of the fields in the table; extensions, which begin with x-, go into one of their own."""
    found = []
    for name, item in value.items():
        if name.startswith("x-") and extensions:
            found.append(_length(extensions, _named(name, _any(item))))
        elif name in fields:
            number, wire, encode = fields[name]
            repeated = item if isinstance(item, list) and name != "default" else (item,)
            found += [_varint(number << 3 | wire) + encode(each) for each in repeated]
    return b"".join(found)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _length(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | LENGTH) + _sized(content)


def _named(name: str, content: bytes) -> bytes:
    """A name and what it stands for: all maps are lists of these."""
    return _length(1, name.encode()) + _length(2, content)


def _any(value: Any) -> bytes:
    """A value of any type, as YAML; JSON is YAML, too."""
    return _length(2, msgspec.json.encode(value) + b"\n")


def _text(number: int) -> tuple[int, int, Encode]:
    return number, LENGTH, lambda value: _sized(str(value).encode(errors="replace"))


def _flag(number: int) -> tuple[int, int, Encode]:
    return number, VARINT, lambda value: _varint(int(value))


def _whole(number: int) -> tuple[int, int, Encode]:
    return number, VARINT, lambda value: _varint(int(value) & 0xFFFF_FFFF_FFFF_FFFF)


def _number(number: int) -> tuple[int, int, Encode]:
    return number, FIXED64, _double


def _inside(number: int, encode: Encode) -> tuple[int, int, Encode]:
    """A message in a field."""
    return number, LENGTH, lambda value: _sized(encode(value))


def _map(number: int, encode: Encode, member: int = 1) -> tuple[int, int, Encode]:
    """A message that holds nothing but a map."""

    def entries(value: dict[str, Any]) -> Iterable[bytes]:
        return (_length(member, _named(str(name), encode(item))) for name, item in value.items())

    return _inside(number, lambda value: b"".join(entries(value)))


def _schema(value: dict[str, Any]) -> bytes:
    return _message(_SCHEMA, value, extensions=31)


def _items(value: dict[str, Any]) -> bytes:
    return _length(1, _schema(value))


def _additional(value: dict[str, Any] | bool) -> bytes:
    return (
        _varint(2 << 3 | VARINT) + _varint(value) if isinstance(value, bool) else _length(1, _schema(value))
    )


def _type(value: str) -> bytes:
    return _length(1, value.encode())


def _operation(value: dict[str, Any]) -> bytes:
    return _message(_OPERATION, value, extensions=13)


def _parameter(value: dict[str, Any]) -> bytes:
    """One in the body, the path or the query; each has a message of its own in others."""
    if value["in"] == "body":
        return _length(1, _length(1, _message(_BODY, value)))
    place, fields = (4, _IN_PATH) if value["in"] == "path" else (3, _IN_QUERY)
    return _length(1, _length(2, _length(place, _message(fields, value))))


def _response(value: dict[str, Any]) -> bytes:
    return _length(1, _message(_RESPONSE, value))


_SCHEMA = {
    "$ref": _text(1),
    "format": _text(2),
    "title": _text(3),
    "description": _text(4),
    "default": _inside(5, _any),
    "multipleOf": _number(6),
    "maximum": _number(7),
    "exclusiveMaximum": _flag(8),
    "minimum": _number(9),
    "exclusiveMinimum": _flag(10),
    "maxLength": _whole(11),
    "minLength": _whole(12),
    "pattern": _text(13),
    "maxItems": _whole(14),
    "minItems": _whole(15),
    "uniqueItems": _flag(16),
    "maxProperties": _whole(17),
    "minProperties": _whole(18),
    "required": _text(19),
    "enum": _inside(20, _any),
    "additionalProperties": _inside(21, _additional),
    "type": _inside(22, _type),
    "items": _inside(23, _items),
    "properties": _map(25, _schema),
}
_BODY = {"name": _text(2), "in": _text(3), "required": _flag(4), "schema": _inside(5, _schema)}
_IN_PATH = {
    "required": _flag(1),
    "in": _text(2),
    "name": _text(4),
    "type": _text(5),
    "uniqueItems": _flag(19),
}
_IN_QUERY = {
    "required": _flag(1),
    "in": _text(2),
    "name": _text(4),
    "type": _text(6),
    "uniqueItems": _flag(20),
}
_RESPONSE = {"description": _text(1), "schema": _inside(2, _items)}
_OPERATION = {
    "produces": _text(6),
    "consumes": _text(7),
    "parameters": _inside(8, _parameter),
    "responses": _map(9, _response),
}
_ITEM = {
    "get": _inside(2, _operation),
    "put": _inside(3, _operation),
    "post": _inside(4, _operation),
    "delete": _inside(5, _operation),
    "patch": _inside(8, _operation),
    "parameters": _inside(9, _parameter),
}
_DOCUMENT = {
    "swagger": _text(1),
    "info": _inside(2, lambda value: _message({"title": _text(1), "version": _text(2)}, value)),
    "paths": _map(8, lambda value: _message(_ITEM, value), member=2),
    "definitions": _map(9, _schema),
}
