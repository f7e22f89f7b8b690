"""How long ago something was, in as few letters as people need."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "y": 365 * 24 * 3600}
_FORMS = (
    (120, "s", ""),
    (10 * 60, "m", "s"),
    (3 * 3600, "m", ""),
    (8 * 3600, "h", "m"),
    (48 * 3600, "h", ""),
    (8 * 24 * 3600, "d", "h"),
    (2 * 365 * 24 * 3600, "d", ""),
    (8 * 365 * 24 * 3600, "y", "d"),
)
"""Up to how many seconds which unit is used, and which smaller one beside it."""
_LONGEST = float(2**63 // 10**9)  # the original counts nanoseconds in 64 bits
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_NO_TIME = "0001-01-01T00:00:00Z"


def human_duration(seconds: float) -> str:
    """Two or three significant figures, in the unit that suits: 45s, 2m3s, 5h, 3d4h, 2y35d.

    Clocks differ: what lies less than two seconds in the future is now.
    """
    whole = int(min(seconds, _LONGEST))
    if whole < -1:
        return INVALID
    forms = ((unit, smaller) for limit, unit, smaller in _FORMS if whole < limit)
    unit, smaller = next(forms, ("y", ""))
    large, rest = divmod(max(whole, 0), _UNITS[unit])
    small = rest // _UNITS[smaller] if smaller else 0
    return f"{large}{unit}{small}{smaller}" if small else f"{large}{unit}"


def seconds_since_epoch(timestamp: str) -> float | None:
    """The time a text such as 2026-01-31T12:00:00Z stands for, or None if it is not of that form."""
    if not _TIMESTAMP.fullmatch(timestamp):
        return None
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        return None


def is_no_time(timestamp: Any) -> bool:
    """Whether this is what stands for no time at all."""
    return not timestamp or timestamp == _NO_TIME


def age(timestamp: Any, now: float) -> str:
    """How long before `now`, in seconds since the epoch, a timestamp is."""
    if not isinstance(timestamp, str) or is_no_time(timestamp):
        return UNKNOWN
    then = seconds_since_epoch(timestamp)
    return UNKNOWN if then is None else human_duration(now - then)
