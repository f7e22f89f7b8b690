"""What protobuf messages are made of: variable-length numbers, and fields that can be skipped."""

from __future__ import annotations

VARINT = 0
FIXED64 = 1
LENGTH = 2
START_GROUP = 3
END_GROUP = 4
FIXED32 = 5

CUT_SHORT = "unexpected EOF"
_LONGEST_VARINT = 10
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}


class Malformed(ValueError):
    """A message that cannot be read; the text is the API's.

    Reading beyond the end of the body raises IndexError instead, so that not every byte costs a check.
    """


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


def length(data: bytes, position: int) -> tuple[int, int]:
    """The number of bytes that a value has, and where it begins."""
    size, position = varint(data, position)
    if size >= 1 << 63:
        raise Malformed("proto: negative length found during unmarshaling")
    return size, position


def skip(data: bytes, position: int, tag: int) -> int:
    """Where the value ends that belongs to this tag and starts here; that may be beyond the end."""
    open_groups = 0
    while True:
        wire = tag & 7
        if wire == VARINT:
            _, position = varint(data, position)
        elif wire == LENGTH:
            size, position = length(data, position)
            position += size
        elif wire in _FIXED_SIZES:
            position += _FIXED_SIZES[wire]
        elif wire == START_GROUP:
            open_groups += 1
        elif wire == END_GROUP:
            open_groups -= 1
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        if open_groups <= 0:
            return position
        tag, position = varint(data, position)


def flat_fields(data: bytes, start: int, end: int) -> dict[int, int | bytes]:
    """The fields of a message without looking into them, by number; of several with one number, the last."""
    found: dict[int, int | bytes] = {}
    position = start
    while position < end:
        tag, position = varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not number or wire == END_GROUP:
            raise Malformed(f"proto: illegal tag {number} (wire type {tag})")
        if wire == VARINT:
            found[number], position = varint(data, position)
        elif wire == LENGTH:
            size, position = length(data, position)
            found[number] = data[position : position + size]
            position += size
        else:
            position = skip(data, position, tag)
    if position > end:
        raise Malformed(CUT_SHORT)
    return found


def text(fields: dict[int, int | bytes], number: int) -> str:
    return piece(fields, number).decode()


def piece(fields: dict[int, int | bytes], number: int) -> bytes:
    value = fields.get(number, b"")
    if isinstance(value, int):
        raise Malformed(f"proto: wrong wireType = {VARINT} for field {number}")
    return value


def int64(fields: dict[int, int | bytes], number: int) -> int:
    value = fields.get(number, 0)
    if isinstance(value, bytes):
        raise Malformed(f"proto: wrong wireType = {LENGTH} for field {number}")
    return signed64(value)


def signed64(number: int) -> int:
    return number if number < 1 << 63 else number - (1 << 64)


def signed32(number: int) -> int:
    """What is left of a number in 32 bits."""
    return number if 0 <= number < 1 << 31 else ((number & 0xFFFF_FFFF) ^ 1 << 31) - (1 << 31)
