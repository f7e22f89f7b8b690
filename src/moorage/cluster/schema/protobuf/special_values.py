"""Messages that are not objects in JSON: texts, numbers, moments, and JSON itself."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from moorage.cluster.schema.protobuf.wire import Malformed, flat_fields, int64, piece, signed32, text

_EPOCH = datetime(1970, 1, 1)
_decode = msgspec.json.Decoder().decode

Piece = Callable[[bytes, int, int], Any]
"""The value that stands in the data between two places; None for none."""


def read_string(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode()


def read_json(data: bytes, start: int, end: int) -> Any:
    """What is written as JSON in the one field of a message."""
    raw = piece(flat_fields(data, start, end), 1)
    try:
        return _decode(raw) if raw else None
    except msgspec.DecodeError as error:
        raise Malformed(f"json parse error: {error}") from None


def _bytes(data: bytes, start: int, end: int) -> str:
    return base64.b64encode(data[start:end]).decode()


def _quantity(data: bytes, start: int, end: int) -> str:
    fields = flat_fields(data, start, end)
    return text(fields, 1) if 1 in fields else "0"


def _int_or_string(data: bytes, start: int, end: int) -> int | str:
    fields = flat_fields(data, start, end)
    return text(fields, 3) if int64(fields, 1) else signed32(int64(fields, 2))


def _time(data: bytes, start: int, end: int) -> str | None:
    if start == end:
        return None
    return _moment(int64(flat_fields(data, start, end), 1)).isoformat() + "Z"


def _micro_time(data: bytes, start: int, end: int) -> str | None:
    if start == end:
        return None
    fields = flat_fields(data, start, end)
    moment = _moment(int64(fields, 1), int(signed32(int64(fields, 2)) / 1000))
    return moment.isoformat(timespec="microseconds") + "Z"


def _moment(seconds: int, microseconds: int = 0) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None


SPECIAL: dict[str, Piece] = {
    "byte": _bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "date-time": _time,
    "micro-time": _micro_time,
}
"""By the format of the shape."""
