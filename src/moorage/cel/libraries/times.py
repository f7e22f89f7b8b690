"""Parts of timestamps and durations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.evaluation.operators import SECOND
from moorage.cel.evaluation.text import civil_date, days_since_1970
from moorage.cel.types import DURATION, INT, STRING, TIMESTAMP
from moorage.cel.values import Duration, EvaluationError, Timestamp


def _offset(time: Timestamp, zone: str) -> int:
    """Of a time zone at a time, in seconds east: of a name, or of `+01:30`."""
    hours, colon, minutes = zone.partition(":")
    if colon:
        sign = -1 if zone.startswith("-") else 1
        return (_number(hours) * 60 + sign * _number(minutes)) * 60
    if zone in ("", "UTC", "Local"):
        return 0
    from zoneinfo import ZoneInfo  # late: hardly anybody asks

    try:
        found = ZoneInfo(zone)
    except (OSError, KeyError, ValueError):
        raise EvaluationError(f"unknown time zone {zone}") from None
    # years at both ends of the calendar are taken for near ones, as the zone is then the same
    seconds = min(max(time.nanos // SECOND, -62000000000), 253000000000)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(found).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _local(time: Timestamp, zone: str) -> tuple[int, int]:
    """Days since 1970 and seconds of the day."""
    return divmod(time.nanos // SECOND + _offset(time, zone), 86400)


def _year(time: Timestamp, zone: str = "") -> int:
    return civil_date(_local(time, zone)[0])[0]


def _month(time: Timestamp, zone: str = "") -> int:
    return civil_date(_local(time, zone)[0])[1] - 1


def _day_of_year(time: Timestamp, zone: str = "") -> int:
    days = _local(time, zone)[0]
    return days - days_since_1970(civil_date(days)[0], 1, 1)


def _day_of_month(time: Timestamp, zone: str = "") -> int:
    return civil_date(_local(time, zone)[0])[2] - 1


def _date(time: Timestamp, zone: str = "") -> int:
    return civil_date(_local(time, zone)[0])[2]


def _day_of_week(time: Timestamp, zone: str = "") -> int:
    return (_local(time, zone)[0] + 4) % 7


def _hours(time: Timestamp, zone: str = "") -> int:
    return _local(time, zone)[1] // 3600


def _minutes(time: Timestamp, zone: str = "") -> int:
    return _local(time, zone)[1] // 60 % 60


def _seconds(time: Timestamp, zone: str = "") -> int:
    return _local(time, zone)[1] % 60


def _milliseconds(time: Timestamp, zone: str = "") -> int:
    _local(time, zone)
    return time.nanos % SECOND // 1_000_000


def _in_units(nanos: int) -> Callable[[Duration], int]:
    """Rounded as doubles are, then cut off."""

    def part(duration: Duration) -> int:
        whole, rest = divmod(abs(duration.nanos), nanos)
        amount = int(whole + rest / nanos)
        return -amount if duration.nanos < 0 else amount

    return part


def _in_milliseconds(duration: Duration) -> int:
    amount = abs(duration.nanos) // 1_000_000
    return -amount if duration.nanos < 0 else amount


def _parts(
    name: str, id: str, call: Callable[..., Any], of_duration: Callable[[Duration], int] | None = None
) -> Function:
    with_zone = "timestamp_to_seconds_tz" if id == "seconds" else f"timestamp_to_{id}_with_tz"
    overloads = [
        Overload(f"timestamp_to_{id}", (TIMESTAMP,), INT, call),
        Overload(with_zone, (TIMESTAMP, STRING), INT, call),
    ]
    if of_duration is not None:
        overloads.append(Overload(f"duration_to_{id}", (DURATION,), INT, of_duration))
    return Function(name, tuple(overloads))


LIBRARY = Library(
    (
        _parts("getFullYear", "year", _year),
        _parts("getMonth", "month", _month),
        _parts("getDayOfYear", "day_of_year", _day_of_year),
        _parts("getDayOfMonth", "day_of_month", _day_of_month),
        _parts("getDate", "day_of_month_1_based", _date),
        _parts("getDayOfWeek", "day_of_week", _day_of_week),
        _parts("getHours", "hours", _hours, _in_units(3600 * SECOND)),
        _parts("getMinutes", "minutes", _minutes, _in_units(60 * SECOND)),
        _parts("getSeconds", "seconds", _seconds, _in_units(SECOND)),
        _parts("getMilliseconds", "milliseconds", _milliseconds, _in_milliseconds),
    )
)
