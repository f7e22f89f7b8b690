"""Go durations: the text form Kubernetes uses for spans of time, such as `15s` or `1m30s`."""

from __future__ import annotations

import re
from functools import total_ordering

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_STEP = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_SECOND = _UNITS["s"]
_MOST_DIGITS = 19  # that 64 bits can hold


class DurationError(ValueError):
    """A text that is no Go duration; the message is Go's."""


@total_ordering
class Duration:
    """A span of time that prints as Go prints it; `Duration(0)` is false."""

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int = 0) -> None:
        self.nanoseconds = nanoseconds

    @classmethod
    def of_seconds(cls, seconds: int) -> Duration:
        return cls(seconds * _SECOND)

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Reads `1m30s` and the like; raises DurationError."""
        return cls(_parse(text))

    @property
    def seconds(self) -> float:
        return self.nanoseconds / _SECOND

    def __str__(self) -> str:
        return _format(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __lt__(self, other: Duration) -> bool:
        return self.nanoseconds < other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)


def _parse(text: str) -> int:
    shown = _quoted(text)
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f"time: invalid duration {shown}")
    total = 0
    while rest:
        step = _STEP.match(rest)
        whole, fraction, unit = step.groups() if step else ("", None, "")
        if not whole and not fraction:
            raise DurationError(f"time: invalid duration {shown}")
        if not unit:
            raise DurationError(f"time: missing unit in duration {shown}")
        if unit not in _UNITS:
            raise DurationError(f"time: unknown unit {_quoted(unit)} in duration {shown}")
        size = _UNITS[unit]
        whole = whole.lstrip("0")
        if len(whole) > _MOST_DIGITS:
            raise DurationError(f"time: invalid duration {shown}")
        total += int(whole or "0") * size
        if fraction:
            fraction = fraction[:_MOST_DIGITS]
            total += int(fraction) * size // 10 ** len(fraction)
        if total >= 2**63:
            raise DurationError(f"time: invalid duration {shown}")
        rest = rest[step.end() :] if step else ""
    return -total if text.startswith("-") else total


def _quoted(text: str) -> str:
    """As Go quotes a duration: what is not printable ASCII stands there byte by byte."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"')
    if shown.isascii() and shown.isprintable():
        return f'"{shown}"'
    found = (
        chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}" for byte in shown.encode(errors="replace")
    )
    return f'"{"".join(found)}"'


def _format(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    sign, amount = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if amount < _SECOND:
        unit = "ns" if amount < _UNITS["us"] else "µs" if amount < _UNITS["ms"] else "ms"
        return f"{sign}{_decimal(amount, _UNITS[unit])}{unit}"
    minutes, rest = divmod(amount, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, _SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
