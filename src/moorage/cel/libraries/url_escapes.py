"""Percent escapes in the parts of a URL: which bytes need one where."""

from __future__ import annotations

import re
from collections.abc import Set

from moorage.cel.libraries.quoting import printable

_UNRESERVED = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"

PATH = frozenset(_UNRESERVED + b"$&+,/:;=@")
HOST = frozenset(_UNRESERVED + b"!$&'()*+,;=:[]<>\"")
USER = frozenset(_UNRESERVED + b"$&+,;=")
FRAGMENT = frozenset(_UNRESERVED + b"$&+,/:;=?@!()*")

_LEFT_ALONE = frozenset(b"!$&'()*+,;=:@[]%")
"""What escaping would escape in some parts, but is no mistake if it is written there."""
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")


class UrlError(ValueError):
    """A text that is not a URL."""


def unescaped(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    return _ESCAPE.sub(lambda escape: bytes([_byte(text, escape)]), text)


def unescaped_query(text: bytes) -> bytes:
    return unescaped(text.replace(b"+", b" "))


def unescaped_host(text: bytes, is_zone: bool = False) -> bytes:
    """In hosts only bytes beyond ASCII have escapes, and percent signs; in zones all that a host may have."""
    for escape in _ESCAPE.finditer(text):
        byte = _byte(text, escape)
        is_allowed = byte in HOST or byte == 0x20 if is_zone else byte >= 0x80
        if not is_allowed and byte != 0x25:
            raise _invalid(escape.group())
    for byte in _ESCAPE.sub(b"", text):
        if byte < 0x80 and byte not in HOST:
            raise UrlError(f"invalid character {printable(chr(byte))} in host name")
    return unescaped(text)


def escaped(text: bytes, allowed: Set[int]) -> bytes:
    return b"".join(bytes([byte]) if byte in allowed else b"%%%02X" % byte for byte in text)


def is_escaped(text: bytes, allowed: Set[int]) -> bool:
    """Whether it can stay as it is written."""
    return all(byte in allowed or byte in _LEFT_ALONE for byte in text)


def _byte(text: bytes, escape: re.Match[bytes]) -> int:
    if escape.group(1) is None:
        raise _invalid(text[escape.start() : escape.start() + 3])
    return int(escape.group(1), 16)


def _invalid(escape: bytes) -> UrlError:
    return UrlError(f"invalid URL escape {printable(escape.decode(errors='replace'))}")
