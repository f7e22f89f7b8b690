from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.cron import Cron, ScheduleError, parse_schedule, zone_of

TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(lambda each: each.replace(tzinfo=UTC))


def next_after(schedule: str, text: str, zone: str = "UTC") -> str:
    place = ZoneInfo(zone)
    after = datetime.fromisoformat(text)
    after = after if after.tzinfo else after.replace(tzinfo=place)
    due = parse_schedule(schedule).next(after.timestamp(), place)
    return "never" if due is None else datetime.fromtimestamp(due, place).isoformat()


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-07-09T14:45:00", "2026-07-09T14:46:00+00:00"),
        ("* * * * *", "2026-07-09T14:45:59", "2026-07-09T14:46:00+00:00"),
        ("*/15 * * * *", "2026-07-09T14:45:00", "2026-07-09T15:00:00+00:00"),
        ("20-35/15 * * * *", "2026-07-09T14:45:00", "2026-07-09T15:20:00+00:00"),
        ("5/20 * * * *", "2026-07-09T14:25:00", "2026-07-09T14:45:00+00:00"),
        ("0 0 1 * *", "2026-07-09T14:45:00", "2026-08-01T00:00:00+00:00"),
        ("0 0 29 feb ?", "2026-07-09T14:45:00", "2028-02-29T00:00:00+00:00"),
        ("0 0 31 2 *", "2026-07-09T14:45:00", "never"),
        ("0 9 * * Mon-FRI", "2026-07-10T14:45:00", "2026-07-13T09:00:00+00:00"),
        ("0 0 13 * fri", "2026-07-09T14:45:00", "2026-07-10T00:00:00+00:00"),
        ("0 0 */13 * fri", "2026-07-09T14:45:00", "2026-07-10T00:00:00+00:00"),
        ("0 0 */1 * fri", "2026-07-09T14:45:00", "2026-07-10T00:00:00+00:00"),
        ("59 23 31 12 *", "2026-07-09T14:45:00", "2026-12-31T23:59:00+00:00"),
        ("@hourly", "2026-07-09T14:45:00", "2026-07-09T15:00:00+00:00"),
        ("@daily", "2026-07-09T14:45:00", "2026-07-10T00:00:00+00:00"),
        ("@midnight", "2026-07-09T14:45:00", "2026-07-10T00:00:00+00:00"),
        ("@weekly", "2026-07-09T14:45:00", "2026-07-12T00:00:00+00:00"),
        ("@monthly", "2026-07-09T14:45:00", "2026-08-01T00:00:00+00:00"),
        ("@yearly", "2026-07-09T14:45:00", "2027-01-01T00:00:00+00:00"),
        ("@every 1h30m", "2026-07-09T14:45:07", "2026-07-09T16:15:07+00:00"),
        ("@every 10ms", "2026-07-09T14:45:07", "2026-07-09T14:45:08+00:00"),
    ],
)
def test_when_something_is_due_next(schedule: str, after: str, due: str) -> None:
    assert next_after(schedule, after) == due


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("0 9 * * *", "2026-07-09T12:00:00", "2026-07-10T09:00:00-04:00"),
        # The clocks are put forward: half past two is left out.
        ("30 2 * * *", "2026-03-07T12:00:00", "2026-03-09T02:30:00-04:00"),
        ("0 * * * *", "2026-03-08T01:59:00", "2026-03-08T03:00:00-04:00"),
        # They are put back: half past one comes twice.
        ("30 1 * * *", "2026-10-31T12:00:00", "2026-11-01T01:30:00-04:00"),
        ("30 1 * * *", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"),
        ("0 0 * * *", "2026-03-08T01:00:00", "2026-03-09T00:00:00-04:00"),
    ],
)
def test_the_clocks_of_a_time_zone(schedule: str, after: str, due: str) -> None:
    assert next_after(schedule, after, "America/New_York") == due


def test_a_midnight_that_does_not_exist() -> None:
    """In Beirut the clocks are put forward at midnight."""
    assert next_after("0 0 * * *", "2026-03-28T12:00:00", "Asia/Beirut") == "2026-03-30T00:00:00+03:00"
    assert next_after("0 * * * *", "2026-03-28T23:30:00", "Asia/Beirut") == "2026-03-29T01:00:00+03:00"


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(st.one_of(ranges, st.just("*")), st.integers(1, 20)).map(
        lambda each: "/".join(map(str, each))
    )
    one = st.one_of(st.just("*"), number.map(str), ranges, steps)
    return st.lists(one, min_size=1, max_size=3).map(",".join)


@given(st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)), TIMES)
def test_nothing_that_is_due_is_passed_over(texts: tuple[str, ...], after: datetime) -> None:
    schedule = parse_schedule(" ".join(texts))
    assert isinstance(schedule, Cron)
    due = schedule.next(after.timestamp())
    first = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    for minute in range(1500):
        moment = first + timedelta(minutes=minute)
        if is_due(schedule, moment):
            assert due == moment.timestamp()
            return
    assert due is None or due >= (first + timedelta(minutes=1500)).timestamp()


def is_due(schedule: Cron, moment: datetime) -> bool:
    by_month, by_week = (
        moment.day in schedule.days.values,
        moment.isoweekday() % 7 in schedule.weekdays.values,
    )
    either = schedule.days.is_any or schedule.weekdays.is_any
    return (
        moment.minute in schedule.minutes.values
        and moment.hour in schedule.hours.values
        and moment.month in schedule.months.values
        and (by_month and by_week if either else by_month or by_week)
    )


@given(st.text(max_size=20))
def test_any_text_is_a_schedule_or_is_refused_with_a_reason(text: str) -> None:
    try:
        parse_schedule(text)
    except ScheduleError as problem:
        assert str(problem)


def test_time_zones() -> None:
    assert zone_of(None) is UTC
    assert str(zone_of("Asia/Tokyo")) == "Asia/Tokyo"
    for name in ("Nowhere", "America", "../etc/passwd", "/etc/passwd", "a\0b"):
        assert zone_of(name) is None
