"""Values as text: what `string()` and messages show."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isinf, isnan
from typing import Any

from moorage.cel.evaluation.operators import SECOND
from moorage.cel.types import Type
from moorage.cel.values import Duration, Optional, Timestamp, Uint


def double_text(number: float) -> str:
    """The shortest digits that give the number back; from a million on and below 0.0001 with an exponent."""
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    exponent += len(digits) - 1 if any(digits) else -exponent
    prefix = "-" if sign else ""
    if -4 <= exponent < 6 or text == "0":
        return prefix + _positional(text, exponent)
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{prefix}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def plain_double_text(number: float) -> str:
    """The shortest digits that give the number back, never with an exponent."""
    if isnan(number) or isinf(number):
        return double_text(number)
    text = format(Decimal(repr(number)), "f")
    return text[:-2] if text.endswith(".0") else text


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return digits[: exponent + 1] + "." + digits[exponent + 1 :]


def duration_text(duration: Duration) -> str:
    return plain_double_text(duration_seconds(duration)) + "s"


def duration_seconds(duration: Duration) -> float:
    whole, rest = divmod(abs(duration.nanos), SECOND)
    seconds = whole + rest / 1e9
    return -seconds if duration.nanos < 0 else seconds


def timestamp_text(time: Timestamp) -> str:
    seconds, nanos = divmod(time.nanos + time.offset * SECOND, SECOND)
    days, seconds = divmod(seconds, 86400)
    year, month, day = civil_date(days)
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    zone = "Z"
    if time.offset:
        minutes = abs(time.offset) // 60
        zone = f"{'-' if time.offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"


def civil_date(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970, in the Gregorian calendar for all times."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    month = month_from_march + (3 if month_from_march < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * month_from_march + 2) // 5 + 1


def days_since_1970(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def value_text(value: Any) -> str:
    """For messages."""
    if isinstance(value, str):
        return value
    if value is None:
        return "0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{value_text(key)}: {value_text(entry)}" for key, entry in value.items()) + "}"
        )
    if isinstance(value, Optional):
        return f"optional({value_text(value.value)})" if value.has_value else "optional.none()"
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Type):
        return value.name
    return str(value)


_ORIGINAL_NAMES = {
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Optional: "*types.Optional",
    Type: "*types.Type",
}


def original_name(value: Any) -> str:
    """Of the class that the original has for such values, which some of its messages show."""
    if (name := _ORIGINAL_NAMES.get(value.__class__)) is not None:
        return name
    if isinstance(value, (tuple, list)):
        return "*types.baseList"
    return "*types.baseMap" if isinstance(value, Mapping) else f"cel.{value.__class__.__name__}"
