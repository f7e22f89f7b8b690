"""Internet addresses as texts: which texts are one, and the text each has."""

from __future__ import annotations

import re
from typing import NamedTuple

_OCTET = r"(?:0|[1-9][0-9]{0,2})"
_DOTTED = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_GROUP = re.compile(r"[0-9A-Fa-f]{1,4}")
_MAPPED = 0xFFFF


class AddressError(ValueError):
    """A text that is not an address."""


class Address(NamedTuple):
    bits: int
    """32 or 128."""
    number: int
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4 address in the clothes of an IPv6 one."""
        return self.bits == 128 and self.number >> 32 == _MAPPED

    def __str__(self) -> str:
        if self.bits == 32:
            return ".".join(str(octet) for octet in self.number.to_bytes(4, "big"))
        groups = [self.number >> shift & 0xFFFF for shift in range(112, -1, -16)]
        start, length = _longest_zeros(groups)
        if length < 2:
            return _joined(groups)
        return f"{_joined(groups[:start])}::{_joined(groups[start + length :])}"


def parse_address(text: str) -> Address:
    """Four numbers without leading zeros, or IPv6 in any of its forms, maybe with a zone."""
    first = re.search(r"[.:%]", text)
    match first.group() if first else None:
        case ".":
            return Address(32, _dotted(text))
        case ":":
            plain, percent, zone = text.partition("%")
            if percent and not zone:
                raise AddressError("zone must be a non-empty string")
            return Address(128, _colons(plain), zone)
        case "%":
            raise AddressError("missing IPv6 address")
        case _:
            raise AddressError("unable to parse IP")


def _dotted(text: str) -> int:
    if _DOTTED.fullmatch(text) is None:
        raise AddressError("unexpected IPv4 address")
    octets = list(map(int, text.split(".")))
    if max(octets) > 255:
        raise AddressError("IPv4 field has value >255")
    return int.from_bytes(octets, "big")


def _colons(text: str) -> int:
    before, gap, after = text.partition("::")
    groups = _groups(before, may_end_dotted=not gap)
    if not gap:
        if len(groups) != 8:
            raise AddressError("address string too short or too long")
        return _number(groups)
    last = _groups(after, may_end_dotted=True)
    missing = 8 - len(groups) - len(last)
    if missing < 1:
        raise AddressError("the :: must expand to at least one field of zeros")
    return _number(groups + [0] * missing + last)


def _groups(text: str, may_end_dotted: bool) -> list[int]:
    if not text:
        return []
    *fields, last = text.split(":")
    groups = list(map(_group, fields))
    if may_end_dotted and "." in last:
        number = _dotted(last)
        return [*groups, number >> 16, number & 0xFFFF]
    return [*groups, _group(last)]


def _group(text: str) -> int:
    if _GROUP.fullmatch(text) is None:
        raise AddressError("each colon-separated field must have one to four hexadecimal digits")
    return int(text, 16)


def _number(groups: list[int]) -> int:
    number = 0
    for group in groups:
        number = number << 16 | group
    return number


def _joined(groups: list[int]) -> str:
    return ":".join(f"{group:x}" for group in groups)


def _longest_zeros(groups: list[int]) -> tuple[int, int]:
    """The first of the longest runs of zeros: where it starts, and its length."""
    best = (0, 0)
    start = 0
    for place, group in enumerate([*groups, 1]):
        if group:
            if place - start > best[1]:
                best = (start, place - start)
            start = place + 1
    return best
