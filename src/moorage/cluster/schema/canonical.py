"""Quantities, binary data and points in time in the one form in which an API server writes them."""

from __future__ import annotations

import base64
import re
import string
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import takewhile

from moorage.api import quantities
from moorage.api.quantity_texts import binary_text, canonical_text, decimal_text


class Malformed(ValueError):
    """A text that cannot be read; the message is the API's."""


# Quantities

_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORM = f"quantities must match the regular expression '{_PATTERN}'"
_FORM = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?[eEinumkKMGTP]*[-+]?[0-9]*", re.ASCII)

_LONGEST = 2000


@lru_cache(maxsize=65536, typed=True)
def quantity(value: str | int | float) -> str:
    """The canonical text of a quantity.

    >>> quantity("0.5"), quantity("1024Mi"), quantity(2)
    ('500m', '1Gi', '2')
    """
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() > _LONGEST):
        raise Malformed(_WRONG_FORM)
    text = value.strip() if isinstance(value, str) else repr(value)
    if not text or _FORM.fullmatch(text) is None:
        raise Malformed(_WRONG_FORM)
    try:
        return canonical_text(text)
    except quantities.QuantityError:
        raise Malformed("unable to parse quantity's suffix") from None


def amount_text(nanos: int, like: str) -> str:
    """An amount as text of the family of another one: of powers of two, or of ten."""
    return binary_text(nanos) if like.endswith("i") else decimal_text(nanos)


# Binary data

_ALPHABET = f"{string.ascii_letters}{string.digits}+/".encode()
_PADDING = ord("=")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)


def binary_data(text: str) -> str:
    """Base64 without line breaks, and with zeros where the last character has bits to spare."""
    bare = text.replace("\n", "").replace("\r", "")
    good = _BASE64.match(bare)
    if good is None or good.end() < len(bare):
        raise Malformed(f"illegal base64 data at input byte {_bad_byte(text)}")
    return base64.b64encode(base64.b64decode(bare)).decode() if bare.endswith("=") else bare


def _bad_byte(text: str) -> int:
    """Where decoding stops: at a character that does not belong, or at the start of what is cut short."""
    data = text.encode(errors="replace")
    places = [place for place, byte in enumerate(data) if byte not in b"\r\n"]
    good = sum(1 for _ in takewhile(lambda place: data[place] in _ALPHABET, places))
    held = good % 4
    if good == len(places):
        return len(data) - held
    index, *rest = places[good:]
    if data[index] != _PADDING or held < 2:
        return index
    if held == 2:
        if not rest:
            return len(data)
        if data[rest[0]] != _PADDING:
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else index


# Points in time

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"

_CANONICAL = {
    SECONDS: re.compile(r"(?!0001)\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\dZ", re.ASCII),
    MICROSECONDS: re.compile(r"(?!0001)\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII),
}

# What a layout is made of, in order: what is before a number, the number there, what it matches, what it is
# called, its highest value.
_TIME_PARTS = (
    ("", "2006", r"\d{4}", "", 9999),
    ("-", "01", r"\d\d", "month", 12),
    ("-", "02", r"\d\d", "", 99),
    ("T", "15", r"\d\d?", "hour", 23),
    (":", "04", r"\d\d", "minute", 59),
    (":", "05", r"\d\d", "second", 59),
)
_FRACTIONS = {
    SECONDS: re.compile(r"(?:[.,]\d+)?()", re.ASCII),
    MICROSECONDS: re.compile(r"[.,](\d{6})", re.ASCII),
}
_ZONE = re.compile(r"Z|([+-])(\d\d):(\d\d)", re.ASCII)


@lru_cache(maxsize=4096)
def canonical_time(text: str, layout: str) -> str | None:
    """The same moment in UTC; None for the moment that stands for none.

    >>> canonical_time("2020-01-01T02:00:00+02:00", SECONDS)
    '2020-01-01T00:00:00Z'
    """
    if _CANONICAL[layout].fullmatch(text):
        with suppress(ValueError):
            datetime.fromisoformat(text)
            return text
    return _read_time(text, layout)


def _read_time(text: str, layout: str) -> str | None:
    numbers, rest = _date_and_time(text, layout)
    fraction = _FRACTIONS[layout].match(rest)
    if fraction is None:
        raise _unreadable(text, layout, rest, ".000000")
    rest = rest[fraction.end() :]
    zone = _ZONE.match(rest)
    if zone is None:
        raise _unreadable(text, layout, rest, "Z07:00")
    offset = _offset(text, zone)
    if rest := rest[zone.end() :]:
        raise Malformed(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    year, month, day, hour, minute, second = numbers
    try:
        moment = datetime(year, month, day, hour, minute, second) - offset
    except (ValueError, OverflowError):
        raise Malformed(f"parsing time {_quoted(text)}: day out of range") from None
    if moment == datetime.min and not fraction[1].strip("0"):
        return None
    return f"{moment.isoformat()}{'.' if fraction[1] else ''}{fraction[1]}Z"


def _date_and_time(text: str, layout: str) -> tuple[list[int], str]:
    numbers: list[int] = []
    rest = text
    for separator, shown, pattern, name, highest in _TIME_PARTS:
        if not rest.startswith(separator):
            raise _unreadable(text, layout, rest, separator)
        rest = rest[len(separator) :]
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            raise _unreadable(text, layout, rest, shown)
        number = int(match.group())
        if number > highest or (name == "month" and not number):
            raise Malformed(f"parsing time {_quoted(text)}: {name} out of range")
        numbers.append(number)
        rest = rest[match.end() :]
    return numbers, rest


def _offset(text: str, zone: re.Match[str]) -> timedelta:
    sign, hours, minutes = zone.groups(default="0")
    for number, name, highest in ((hours, "hour", 24), (minutes, "minute", 60)):
        if int(number) > highest:
            raise Malformed(f"parsing time {_quoted(text)}: time zone offset {name} out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if sign == "-" else offset


def _unreadable(text: str, layout: str, rest: str, part: str) -> Malformed:
    return Malformed(
        f'parsing time {_quoted(text)} as "{layout}": cannot parse {_quoted(rest)} as {_quoted(part)}'
    )


def _quoted(text: str) -> str:
    shown = "".join(map(_shown, text.encode(errors="replace")))
    return f'"{shown}"'


def _shown(byte: int) -> str:
    if not 0x20 <= byte < 0x80:
        return f"\\x{byte:02x}"
    return f"\\{byte:c}" if byte in b'"\\' else f"{byte:c}"
