"""The header fields of HTTP/2, in the least form: nothing is remembered from one request to the next.

Requests name all fields in plain bytes. Of answers only the status and Retry-After are read; the server has
been told to keep no table (a size of 0), so all else may be passed over.
"""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = {
    ":authority": 1,
    ":method": 2,
    ":path": 4,
    ":scheme": 6,
    "accept": 19,
    "authorization": 23,
    "content-length": 28,
    "content-type": 31,
    "user-agent": 58,
}
"""Where those names stand in the table that all of HTTP/2 knows."""

_NEVER_INDEXED = 0x10  # secrets may be among them: no proxy is to keep them in a table
_HUFFMAN = 0x80
_STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
_OK = 0x88
_CREATED = (bytes.fromhex("0e821003"), bytes.fromhex("08821003"))
"""How nearly all answers begin: status 200, and 201 as Go's servers write it."""
_RETRY_AFTER = 53
_RETRY_AFTER_NAMES = (b"retry-after", bytes.fromhex("b0a9b3d2c39525b3"))
_LAST_STATIC = 61

# Digits are all that is ever read of values.
_SHORT_DIGITS = {0b00000: "0", 0b00001: "1", 0b00010: "2"}
_LONG_DIGITS = {0b011001 + at: digit for at, digit in enumerate("3456789")}


def encoded(fields: Iterable[tuple[str, str]]) -> bytes:
    """Fields in the form of a header block; names are in lower case."""
    block = bytearray()
    for name, value in fields:
        index = _NAMES.get(name, 0)
        block += _integer(index, 4, _NEVER_INDEXED)
        if not index:
            block += _text(name)
        block += _text(value)
    return bytes(block)


def text_field(name: str) -> bytes:
    """What stands before the value of a field, for those who write the value with `length`."""
    return _integer(_NAMES[name], 4, _NEVER_INDEXED)


def length(size: int) -> bytes:
    """How long the text is that follows."""
    return _integer(size, 7)


def status_and_wait(block: bytes) -> tuple[int, float | None]:
    """The status of an answer, and the seconds after which to try again where it says so.

    Raises ValueError or IndexError for what is not a header block, or one that needs a table.
    """
    if block[0] == _OK or block[:4] in _CREATED:
        return (200 if block[0] == _OK else 201), None
    at = 0
    while block[at] & 0xE0 == 0x20:  # how large the table is: it is empty
        _, at = _read_integer(block, at, 5)
    status = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _read_integer(block, at, 7)
            value = b""
            if not 0 < index <= _LAST_STATIC:
                raise ValueError("the server uses a table that it was told not to")
            if not status:
                status = _STATUSES.get(index, 0)
        else:
            index, at = _read_integer(block, at, 6 if first & 0x40 else 4)
            name = b""
            if not index:
                name, _, at = _read_text(block, at)
            value, is_huffman, at = _read_text(block, at)
            if (not status and index in _STATUSES) or name == b":status":
                status = int(_digits(value, is_huffman))
            elif index == _RETRY_AFTER or name in _RETRY_AFTER_NAMES:
                digits = _digits(value, is_huffman)
                return status, float(digits) if digits else None
        if not status:
            raise ValueError("an answer begins with its status")
        if status < 300:
            break
    return status, None


def _text(value: str) -> bytes:
    raw = value.encode("latin-1")
    return _integer(len(raw), 7) + raw


def _integer(value: int, bits: int, flags: int = 0) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((flags | value,))
    written = bytearray((flags | most,))
    value -= most
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _read_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 28:
            raise ValueError("a number is too large")


def _read_text(block: bytes, at: int) -> tuple[bytes, bool, int]:
    """The bytes as they stand there, and whether they are in Huffman's code."""
    is_huffman = bool(block[at] & _HUFFMAN)
    size, at = _read_integer(block, at, 7)
    if at + size > len(block):
        raise ValueError("a text is cut short")
    return block[at : at + size], is_huffman, at + size


def _digits(raw: bytes, is_huffman: bool) -> str:
    """A number as text; empty if it is something else."""
    if not is_huffman:
        text = raw.decode("latin-1")
        return text if text.isascii() and text.isdigit() else ""
    bits, left, found = int.from_bytes(raw), 8 * len(raw), ""
    while left >= 5:
        if left < 8 and bits & (1 << left) - 1 == (1 << left) - 1:
            break  # filled up with ones
        if digit := _SHORT_DIGITS.get(bits >> left - 5 & 0x1F):
            found, left = found + digit, left - 5
        elif left >= 6 and (digit := _LONG_DIGITS.get(bits >> left - 6 & 0x3F)):
            found, left = found + digit, left - 6
        else:
            return ""
    return found
