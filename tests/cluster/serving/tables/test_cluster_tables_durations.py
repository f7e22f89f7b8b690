from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.serving.tables.durations import age, human_duration, seconds_since_epoch

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-(10**12), "<invalid>"),
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (70, "70s"),
        (119.9, "119s"),
        (120, "2m"),
        (123, "2m3s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 15 * MINUTE, "3h15m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (3 * DAY + 4 * HOUR, "3d4h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 35 * DAY, "2y35d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 300 * DAY, "8y"),
        (10**12, "292y"),
        (float("inf"), "292y"),
    ],
)
def test_human_duration(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T00:00:10.123456Z", 10.123456),
        ("1970-01-01T00:00:10.5Z", 10.5),
        ("1970-01-01T00:00:10.123456789Z", 10.123456),
        ("1970-01-01T01:00:10+01:00", 10),
        ("1970-01-01 00:00:10Z", None),
        ("1970-01-01T00:00:10", None),
        ("1970-13-01T00:00:10Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("yesterday", None),
    ],
)
def test_seconds_since_epoch(timestamp: str, seconds: float | None) -> None:
    assert seconds_since_epoch(timestamp) == seconds


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("1970-01-01T00:00:10Z", "90s"),
        (None, "<unknown>"),
        ("", "<unknown>"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        ("yesterday", "<unknown>"),
        (7, "<unknown>"),
        (["1970-01-01T00:00:10Z"], "<unknown>"),
    ],
)
def test_age(timestamp: Any, shown: str) -> None:
    assert age(timestamp, 100.0) == shown


@given(
    st.text() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}")
)
def test_no_timestamp_is_too_odd(timestamp: str) -> None:
    assert age(timestamp, 0.0)
