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


def end_of_piece(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Where the bytes begin whose length stands here, and where they end."""
    size, position = varint(data, position)
    if size >= 1 << 63:
        raise Malformed("proto: negative length found during unmarshaling")
    if position + size > end:
        raise Malformed(CUT_SHORT)
    return position, position + size


def skip(data: bytes, position: int, end: int, tag: int) -> int:
    """Where the value ends that belongs to this tag and starts here."""
    open_groups = 0
    while True:
        wire = tag & 7
        if wire == VARINT:
            _, position = varint(data, position)
        elif wire == LENGTH:
            _, position = end_of_piece(data, position, end)
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
