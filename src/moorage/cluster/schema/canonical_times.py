"""Points in time as an API server reads and writes them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from moorage.cluster.schema.canonical import Malformed

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"

_CANONICAL = {
    SECONDS: re.compile(r"(?!0001)\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\dZ", re.ASCII),
    MICROSECONDS: re.compile(r"(?!0001)\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII),
}

# What a layout is made of, in order: what is before a number, the number there, what it matches, what it is
# called, its highest value.
_PARTS = (
    ("", "2006", r"\d{4}", "", 9999),
    ("-", "01", r"\d\d", "month", 12),
    ("-", "02", r"\d\d", "", 99),
    ("T", "15", r"\d\d?", "hour", 23),
    (":", "04", r"\d\d", "minute", 59),
    (":", "05", r"\d\d", "second", 59),
)
_FRACTION = re.compile(r"[.,]\d+", re.ASCII)
_MICROS = re.compile(r"[.,]\d{6}", re.ASCII)
_ZONE = re.compile(r"Z|([+-])(\d\d):(\d\d)", re.ASCII)


@lru_cache(maxsize=4096)
def canonical_time(text: str, layout: str) -> str | None:
    """The same moment in UTC; None for the moment that stands for none.

    >>> canonical_time("2020-01-01T02:00:00+02:00", SECONDS)
    '2020-01-01T00:00:00Z'
    """
    if _CANONICAL[layout].fullmatch(text):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return text
    return _read(text, layout)


def _read(text: str, layout: str) -> str | None:
    numbers, rest = _date_and_time(text, layout)
    micros = ""
    if layout == MICROSECONDS:
        fraction = _MICROS.match(rest)
        if fraction is None:
            raise _unreadable(text, layout, rest, ".000000")
        micros = "." + fraction.group()[1:]
    else:
        fraction = _FRACTION.match(rest)
    rest = rest[fraction.end() :] if fraction else rest
    zone = _ZONE.match(rest)
    if zone is None:
        raise _unreadable(text, layout, rest, "Z07:00")
    offset = _offset(text, zone)
    if rest := rest[zone.end() :]:
        raise Malformed(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    try:
        year, month, day, hour, minute, second = numbers
        moment = datetime(year, month, day, hour, minute, second) - offset
    except (ValueError, OverflowError):
        raise Malformed(f"parsing time {_quoted(text)}: day out of range") from None
    is_none = moment == datetime.min and not micros.strip(".0")
    return None if is_none else f"{moment.isoformat()}{micros}Z"


def _date_and_time(text: str, layout: str) -> tuple[list[int], str]:
    numbers: list[int] = []
    rest = text
    for separator, shown, pattern, name, highest in _PARTS:
        if not rest.startswith(separator):
            raise _unreadable(text, layout, rest, separator)
        rest = rest.removeprefix(separator)
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
    sign, hours, minutes = zone.groups()
    if sign is None:
        return timedelta()
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
