"""What protobuf messages are made of: values with a tag before them that says how they are written.

Reading beyond the end of the body raises IndexError, so that not every byte costs a check.
"""

from __future__ import annotations

import base64
import math
import struct

from moorage.cluster.schema.canonical import Malformed

VARINT = 0
FIXED64 = 1
LENGTH = 2
START_GROUP = 3
END_GROUP = 4
FIXED32 = 5

CUT_SHORT = "unexpected EOF"
_LONGEST_VARINT = 10
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}
_double = struct.Struct("<d")


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The unsigned number of 64 bits that starts here, and where it ends."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    number = 0
    for index in range(_LONGEST_VARINT):
        byte = data[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, position + index + 1
    raise Malformed("proto: integer overflow")


def extent(data: bytes, position: int, tag: int) -> tuple[int, int]:
    """Where the value that follows this tag starts and ends; that may be beyond the end of the message."""
    wire = tag & 7
    if wire == LENGTH:
        size, start = varint(data, position)
        if size >= 1 << 63:
            raise Malformed("proto: negative length found during unmarshaling")
        return start, start + size
    if wire == VARINT:
        return position, varint(data, position)[1]
    if wire in _FIXED_SIZES:
        return position, position + _FIXED_SIZES[wire]
    if wire != START_GROUP:
        raise Malformed(f"proto: illegal wireType {wire}")
    end = position
    while True:
        inner, end = varint(data, end)
        if inner & 7 == END_GROUP:
            return position, end
        _, end = extent(data, end, inner)


# Single values, each from where it starts to where it ends


def read_bool(data: bytes, start: int, end: int) -> bool:
    return bool(varint(data, start)[0])


def read_int64(data: bytes, start: int, end: int) -> int:
    number, _ = varint(data, start)
    return number if number < 1 << 63 else number - (1 << 64)


def read_int32(data: bytes, start: int, end: int) -> int:
    """What is left of the number in 32 bits."""
    number, _ = varint(data, start)
    return number if number < 1 << 31 else ((number & 0xFFFF_FFFF) ^ 1 << 31) - (1 << 31)


def read_double(data: bytes, start: int, end: int) -> float:
    number: float = _double.unpack_from(data, start)[0]
    if not math.isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return number


def read_string(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode()


def read_raw(data: bytes, start: int, end: int) -> bytes:
    return data[start:end]


def read_base64(data: bytes, start: int, end: int) -> str:
    return base64.b64encode(data[start:end]).decode()
