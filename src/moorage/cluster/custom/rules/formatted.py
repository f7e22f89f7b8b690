"""Strings with a format as the values that they stand for."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from moorage.cel.evaluation.conversions import duration_of_string, timestamp_of_string
from moorage.cel.values import Duration, EvaluationError, Failure, Timestamp
from moorage.cluster.base.go_text import quoted
from moorage.cluster.custom.formats import loose_duration

_LOCAL_TIME = "2006-01-02T15:04:05"
_PARTS = tuple(re.findall("[0-9]+|[^0-9]", _LOCAL_TIME))
_FRACTION = re.compile("[.,][0-9]+")
_FOREIGN = re.compile("[^A-Za-z0-9_=-]")


def _duration(text: str) -> Any:
    try:
        return duration_of_string(text)
    except EvaluationError:
        nanos = loose_duration(text)
    if nanos is None:
        return Failure(f"Invalid duration {text}: unable to parse {text} as duration")
    return Duration(nanos)


def _date(text: str) -> Any:
    try:
        return timestamp_of_string(f"{text}T00:00:00Z")
    except EvaluationError:
        return Failure(f"Invalid date formatted string {text}: parsing time {quoted(text)}")


def _date_time(text: str) -> Any:
    try:
        return timestamp_of_string(text) if text else Timestamp(0)
    except EvaluationError:
        return Failure(f"Invalid date-time formatted string {text}: {_time_problem(text)}")


def _time_problem(text: str) -> str:
    """Where a text is not like the last of the forms that are tried."""
    rest = text
    for part in _PARTS:
        found, after = rest[: len(part)], rest[len(part) :]
        fits = found.isascii() and found.isdigit() if part.isdigit() else found == part
        if not fits or len(found) < len(part):
            what = f"cannot parse {quoted(rest)} as {quoted(part)}"
            return f"parsing time {quoted(text)} as {quoted(_LOCAL_TIME)}: {what}"
        rest = after
    if fraction := _FRACTION.match(rest):
        rest = rest[fraction.end() :]
    return f"parsing time {quoted(text)}: extra text: {quoted(rest)}"


def _bytes(text: str) -> Any:
    """In the alphabet for addresses, whatever was checked before."""
    foreign = _FOREIGN.search(text)
    try:
        if foreign is None:
            return base64.urlsafe_b64decode(text)
    except ValueError:
        pass
    place = len(text) // 4 * 4 if foreign is None else foreign.start()
    return Failure(f"Invalid byte formatted string {text}: illegal base64 data at input byte {place}")


FORMATTED: dict[str, Callable[[str], Any]] = {
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "byte": _bytes,
}
"""By format: the value, or a Failure."""
