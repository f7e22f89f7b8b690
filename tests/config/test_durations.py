from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.durations import Duration, DurationError


@pytest.mark.parametrize(
    ("text", "nanoseconds", "shown"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("15s", 15_000_000_000, "15s"),
        ("1m30s", 90_000_000_000, "1m30s"),
        ("600s", 600_000_000_000, "10m0s"),
        ("1h", 3_600_000_000_000, "1h0m0s"),
        ("1.5h", 5_400_000_000_000, "1h30m0s"),
        ("100ms", 100_000_000, "100ms"),
        ("1500ms", 1_500_000_000, "1.5s"),
        (".5s", 500_000_000, "500ms"),
        ("5.s", 5_000_000_000, "5s"),
        ("1us", 1000, "1µs"),
        ("1µs2ns", 1002, "1.002µs"),
        ("3ns", 3, "3ns"),
        ("-1m", -60_000_000_000, "-1m0s"),
        ("+2s", 2_000_000_000, "2s"),
        ("0" * 30 + "2s", 2_000_000_000, "2s"),
        ("0." + "5" * 5000 + "s", 555_555_555, "555.555555ms"),
    ],
)
def test_reads_and_prints_as_go_does(text: str, nanoseconds: int, shown: str) -> None:
    assert Duration.parse(text).nanoseconds == nanoseconds
    assert str(Duration(nanoseconds)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("soon", 'time: invalid duration "soon"'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("1s 2s", 'time: unknown unit "s " in duration "1s 2s"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
        ('"', 'time: invalid duration "\\""'),
        ("µ", r'time: invalid duration "\xc2\xb5"'),
        ("1é", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ("1\t", r'time: unknown unit "\x09" in duration "1\x09"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
    ],
)
def test_refuses_with_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        Duration.parse(text)
    assert str(caught.value) == message


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_printed_is_read_back(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))).nanoseconds == nanoseconds


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        Duration.parse(text)
    except DurationError as error:
        assert str(error).startswith("time: ")


def test_compares_by_length() -> None:
    assert Duration.parse("60s") == Duration.parse("1m")
    assert Duration.parse("59s") < Duration.parse("1m")
    assert Duration.parse("1m").seconds == 60
    assert {Duration(1), Duration(1)} == {Duration(1)}
    assert repr(Duration.of_seconds(90)) == "Duration('1m30s')"
