"""Strings and numbers as other types: what `int()`, `timestamp()` and their like accept."""

from __future__ import annotations

import re
from math import isinf, isnan
from typing import Any

from moorage.cel.evaluation.operators import MAX_SECONDS, MIN_SECONDS, SECOND, type_of_value
from moorage.cel.evaluation.text import days_since_1970, double_text, duration_text, timestamp_text
from moorage.cel.types import Type
from moorage.cel.values import MAX_INT, MAX_UINT, MIN_INT, Duration, EvaluationError, Timestamp, Uint

_INT = re.compile(r"([+-]?)0*([0-9]{1,19})\Z")
_UINT = re.compile(r"0*([0-9]{1,20})\Z")
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_DOUBLE = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?\Z"
    r"|[+-]?(?:inf|infinity)\Z|nan\Z",
    re.ASCII | re.IGNORECASE,
)
_HEXADECIMAL = re.compile(
    r"[+-]?0x(?:[0-9a-f_]+\.?[0-9a-f_]*|\.[0-9a-f_]+)p[+-]?[0-9]+\Z", re.ASCII | re.IGNORECASE
)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def conversion_error(value: Any, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_of_value(value).name}' to '{target}'")


def int_of_string(text: str) -> int:
    if (match := _INT.match(text)) and MIN_INT <= (number := int("".join(match.groups()))) <= MAX_INT:
        return number
    raise conversion_error(text, "int")


def uint_of_string(text: str) -> Uint:
    if (match := _UINT.match(text)) and (number := int(match[1])) <= MAX_UINT:
        return Uint(number)
    raise conversion_error(text, "uint")


def double_of_string(text: str) -> float:
    """Not what is too large for a double."""
    if _DOUBLE.match(text):
        number = float(text)
        if not isinf(number) or "n" in text.lower():
            return number
    elif _HEXADECIMAL.match(text):
        try:
            return float.fromhex(text.replace("_", ""))
        except (OverflowError, ValueError):
            pass
    raise conversion_error(text, "double")


def bool_of_string(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise conversion_error(text, "bool")


def int_of_double(number: float) -> int:
    if isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(number)


def uint_of_double(number: float) -> Uint:
    if isnan(number) or not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


def int_of_uint(number: Uint) -> int:
    if number > MAX_INT:
        raise EvaluationError("integer overflow")
    return int(number)


def uint_of_int(number: int) -> Uint:
    if number < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def int_of_timestamp(time: Timestamp) -> int:
    return time.nanos // SECOND


def int_of_duration(duration: Duration) -> int:
    return duration.nanos


def double_of_number(number: int) -> float:
    return float(int(number))


def timestamp_of_int(seconds: int) -> Timestamp:
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(seconds * SECOND)


def duration_of_int(number: int) -> Duration:
    """Declared, but nothing is converted so."""
    raise conversion_error(number, "google.protobuf.Duration")


_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))\Z"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def timestamp_of_string(text: str) -> Timestamp:
    """As in RFC 3339, a little more leniently: hours of one digit, a comma before the fraction."""
    if not (match := _TIMESTAMP.match(text)):
        raise conversion_error(text, "google.protobuf.Timestamp")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, zone_hours, zone_minutes = match.groups()[6:]
    leap_day = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (
        1 <= month <= 12
        and 1 <= day <= _DAYS[month - 1] + leap_day
        and hour < 24
        and minute < 60
        and second < 60
    ):
        raise conversion_error(text, "google.protobuf.Timestamp")
    offset = 0
    if sign:
        if int(zone_hours) > 24 or int(zone_minutes) > 60:
            raise conversion_error(text, "google.protobuf.Timestamp")
        offset = (int(zone_hours) * 60 + int(zone_minutes)) * (-60 if sign == "-" else 60)
    seconds = days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(seconds * SECOND + int((fraction or "0")[:9].ljust(9, "0")), offset)


_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")


def duration_of_string(text: str) -> Duration:
    """As `1h15m30.5s`; a sign comes first."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    nanos = position = 0
    while match := _DURATION.match(rest, position):
        whole, fraction, unit = match.groups()
        if unit not in _UNITS or not (whole or fraction) or len(whole.lstrip("0")) > 19:
            break
        nanos += int(whole.lstrip("0") or "0") * _UNITS[unit] + _fraction(fraction or "", _UNITS[unit])
        if nanos > 2**63:
            break
        position = match.end()
    if not rest or position < len(rest):
        raise conversion_error(text, "google.protobuf.Duration")
    if text[0] == "-":
        return Duration(-nanos)
    if nanos > MAX_INT:
        raise conversion_error(text, "google.protobuf.Duration")
    return Duration(nanos)


def _fraction(digits: str, unit: int) -> int:
    """Of a unit, rounded as doubles are; digits that no longer fit 63 bits count for nothing."""
    number, scale = 0, 1.0
    for digit in digits:
        larger = number * 10 + int(digit)
        if number > MAX_INT // 10 or larger > 2**63:
            break
        number, scale = larger, scale * 10
    return int(number * (unit / scale)) if number else 0


def bytes_of_string(text: str) -> bytes:
    """Strings from elsewhere may hold bytes that are no text."""
    return text.encode(errors="surrogateescape")


def string_of_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def string_of(value: Any) -> str:
    """Of any value that has a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytes):
        return string_of_bytes(value)
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Type):
        return value.name
    if value is None:
        return "null"
    raise conversion_error(value, "string")
