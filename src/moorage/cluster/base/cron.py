"""When something is due that recurs: schedules as crontab has them, such as `*/5 9-17 * * mon-fri`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from moorage.cluster.base.go_text import quoted

_YEARS = 5  # after which something that did not become due never will
_DAY = timedelta(days=1)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class ScheduleError(ValueError):
    """A text that is no schedule."""


class _Bounds(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int] = {}


def _named(words: str, first: int) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


_MINUTES = _Bounds(0, 59)
_HOURS = _Bounds(0, 23)
_DAYS = _Bounds(1, 31)
_MONTHS = _Bounds(1, 12, _named("jan feb mar apr may jun jul aug sep oct nov dec", 1))
_WEEKDAYS = _Bounds(0, 6, _named("sun mon tue wed thu fri sat", 0))


@dataclass(frozen=True)
class Every:
    """A schedule of `@every 90s`."""

    seconds: int

    def next(self, after: float, zone: tzinfo = UTC) -> float | None:
        return float(int(after) + self.seconds)


class _Field(NamedTuple):
    values: frozenset[int]
    is_any: bool
    """Whether it was given as a star, so that it does not limit anything."""


@dataclass(frozen=True)
class Cron:
    minutes: _Field
    hours: _Field
    days: _Field
    months: _Field
    weekdays: _Field

    def next(self, after: float, zone: tzinfo = UTC) -> float | None:
        """The first time after this one, in seconds since 1970, by the clocks of a time zone.

        A time that the clocks leave out when they are put forward is left out, and one that they show twice
        is due twice. None if it is never due, as on the 30th of February.
        """
        due = float(int(after) + 60 - int(after) % 60)
        last_year = datetime.fromtimestamp(due, zone).year + _YEARS
        while (local := datetime.fromtimestamp(due, zone)).year <= last_year:
            if local.month not in self.months.values:
                first = local.replace(day=1, hour=0, minute=0, second=0, fold=0, tzinfo=None)
                due = _later(due, (first + 32 * _DAY).replace(day=1), zone)
            elif not self._is_day(local):
                midnight = local.replace(hour=0, minute=0, second=0, fold=0, tzinfo=None)
                due = _later(due, midnight + _DAY, zone)
            elif local.hour not in self.hours.values:
                due += 3600 - local.minute * 60 - local.second
            elif local.minute not in self.minutes.values or local.second:
                due += 60 - local.second
            else:
                return due
        return None

    def _is_day(self, local: datetime) -> bool:
        """Days of the month and of the week: if both are limited, either will do."""
        by_month = local.day in self.days.values
        by_week = local.isoweekday() % 7 in self.weekdays.values
        if self.days.is_any or self.weekdays.is_any:
            return by_month and by_week
        return by_month or by_week


def _later(now: float, local: datetime, zone: tzinfo) -> float:
    return max(local.replace(tzinfo=zone).timestamp(), now + 60)


Schedule = Cron | Every


@lru_cache(maxsize=1024)
def parse_schedule(text: str) -> Schedule:
    """Raises ScheduleError with what is wrong, in the words of the library that Kubernetes uses."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = text.partition("=")[2].partition(" ")
        if not space:
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        if (problem := zone_problem(zone)) is not None:
            raise ScheduleError(f"provided bad location {zone}: {problem}")
        text = rest.strip()
    if text.startswith("@"):
        return _described(text)
    fields = text.split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    bounds = (_MINUTES, _HOURS, _DAYS, _MONTHS, _WEEKDAYS)
    return Cron(*(_field(field, within) for field, within in zip(fields, bounds, strict=True)))


def zone_of(name: str | None) -> tzinfo | None:
    """A time zone by its name, UTC without one; None if there is no such zone."""
    if name is None or name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


def zone_problem(name: str) -> str | None:
    return f"unknown time zone {name}" if zone_of(name) is None else None


def _described(text: str) -> Schedule:
    if text in _DESCRIPTORS:
        return parse_schedule(_DESCRIPTORS[text])
    if not text.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    given = text.removeprefix("@every ")
    unsigned = given.removeprefix("-") if given.startswith("-") else given.removeprefix("+")
    parts = _DURATION.findall(unsigned)
    if unsigned != "0" and (not parts or "".join(map("".join, parts)) != unsigned):
        raise ScheduleError(f"failed to parse duration {text}: {_duration_problem(given, unsigned)}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return Every(max(int(-seconds if given.startswith("-") else seconds), 1))


def _duration_problem(given: str, unsigned: str) -> str:
    rest = _DURATION.sub("", unsigned, count=1) if _DURATION.match(unsigned) else unsigned
    number = re.match(r"[0-9]+\.?[0-9]*|\.[0-9]+", rest)
    if number is None:
        return f"time: invalid duration {quoted(given)}"
    unit = re.match(r"[^0-9.]*", rest[number.end() :])
    if unit is None or not unit[0]:
        return f"time: missing unit in duration {quoted(given)}"
    return f"time: unknown unit {quoted(unit[0])} in duration {quoted(given)}"


def _field(text: str, bounds: _Bounds) -> _Field:
    values: set[int] = set()
    is_any = False
    for each in filter(None, text.split(",")):
        found, star = _range(each, bounds)
        values |= found
        is_any |= star
    return _Field(frozenset(values), is_any)


def _range(text: str, bounds: _Bounds) -> tuple[set[int], bool]:
    """The numbers that `5`, `1-5`, `*`, `*/2` or `1-5/2` stands for, and whether that is a mere star."""
    range_, *steps = text.split("/")
    first, *others = range_.split("-")
    is_star = first in ("*", "?")
    low, high = bounds.low, bounds.high
    if not is_star:
        low = high = _number(first, bounds.names)
        if len(others) == 1:
            high = _number(others[0], bounds.names)
        elif others:
            raise ScheduleError(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        high = high if others else bounds.high
        is_star = is_star and step <= 1
    elif steps:
        raise ScheduleError(f"too many slashes: {text}")
    if low < bounds.low:
        raise ScheduleError(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise ScheduleError(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return set(range(low, high + 1, step)), is_star


def _number(text: str, names: Mapping[str, int] = {}) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not _INTEGER.fullmatch(text):
        problem = f"strconv.Atoi: parsing {quoted(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {problem}")
    number = int(text) if len(text) < 40 else 2**63
    if not -(2**63) <= number < 2**63:
        problem = f"strconv.Atoi: parsing {quoted(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {problem}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
