"""Quantities, times and binary data; the expected values are a real API server's answers."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import quantities
from moorage.cluster.schema.canonical import (
    MICROSECONDS,
    SECONDS,
    Malformed,
    binary_data,
    canonical_time,
    quantity,
)

FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [
        ("0", "0"), ("00", "0"), ("0Ki", "0"), ("-0", "0"), (".", "0"), ("Ki", "0"), ("e3", "0"),
        (2, "2"), (0.5, "500m"), ("0.5", "500m"), (".5", "500m"), ("2.50", "2500m"), ("1.0", "1"),
        ("1000m", "1"), ("1500m", "1500m"), ("100m", "100m"), ("0.1m", "100u"), ("250", "250"), ("  5 ", "5"),
        ("1024Mi", "1Gi"), ("1025Mi", "1025Mi"), ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"), ("16Ki", "16Ki"),
        ("0.1Gi", "107374182400m"), ("1.1Ki", "1126400m"), ("9Ei", "9223372036854775807"),
        ("5e3", "5e3"), ("1E3", "1E3"), ("1E", "1E"), ("1000e3", "1e6"), ("1e30", "1e30"), ("1e-10", "1e-9"),
        ("12345678901234567890123m", "12345678901234567890123m"),
        # Written as they were given, for the original does not look closer at these.
        ("1.500", "1.500"), ("+5", "+5"), ("1.", "1."), ("1.G", "1.G"),
    ],
)  # fmt: skip
def test_quantities(given_: str | int | float, canonical: str) -> None:
    assert quantity(given_) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORM), ("abc", FORM), ("5 m", FORM), ("1KI", FORM), ("1.2.3", FORM), ("1Q", FORM), (True, FORM),
        ("1mm", SUFFIX), ("1e", SUFFIX), ("1Mi5", SUFFIX), ("--5", SUFFIX), ("5+", SUFFIX), ("1i", SUFFIX),
    ],
)  # fmt: skip
def test_what_is_not_a_quantity(text: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        quantity(text)
    assert str(refused.value) == message


@given(st.integers(-(10**30), 10**30), st.sampled_from(["", "n", "m", "k", "E", "Ki", "Ei", "e5", "e-5"]))
def test_the_canonical_form_is_the_same_amount_and_stays(number: int, suffix: str) -> None:
    once = quantity(f"{number}{suffix}")
    assert quantities.parse(once) == quantities.parse(f"{number}{suffix}")
    assert quantity(once) == once


def test_huge_numbers_are_quantities_or_refused() -> None:
    assert quantity(10**400) == f"1{'0' * 382}E"
    assert quantity(1e308).endswith("e306")
    for number in (10**5000, float("inf"), float("nan")):
        with pytest.raises(Malformed):
            quantity(number)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00.123456+02:00", "2019-12-31T22:00:00Z"),
        ("2020-01-01T0:00:00Z", "2020-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times(text: str, canonical: str | None) -> None:
    assert canonical_time(text, SECONDS) == canonical


def test_times_with_microseconds() -> None:
    assert canonical_time("2020-01-01T00:00:00.123456+02:00", MICROSECONDS) == "2019-12-31T22:00:00.123456Z"
    assert canonical_time("0001-01-01T00:00:00.000000Z", MICROSECONDS) is None
    assert canonical_time("0001-01-01T00:00:10.000000Z", MICROSECONDS) == "0001-01-01T00:00:10.000000Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zz", 'parsing time "zz" as "2006-01-02T15:04:05Z07:00": cannot parse "zz" as "2006"'),
        ("2020", 'parsing time "2020" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-"'),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", 'parsing time "2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T25:00:00Z", 'parsing time "2020-01-01T25:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zx", 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
        (
            "2020-01-01T00:00:00+25:00",
            'parsing time "2020-01-01T00:00:00+25:00": time zone offset hour out of range',
        ),
        (
            "2020-01-01T00:00:00é",
            'parsing time "2020-01-01T00:00:00\\xc3\\xa9" as "2006-01-02T15:04:05Z07:00":'
            ' cannot parse "\\xc3\\xa9" as "Z07:00"',
        ),
    ],
)
def test_what_is_not_a_time(text: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        canonical_time(text, SECONDS)
    assert str(refused.value) == message


def test_microseconds_must_be_there() -> None:
    with pytest.raises(Malformed) as refused:
        canonical_time("2020-01-01T00:00:00Z", MICROSECONDS)
    assert str(refused.value) == (
        'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00":'
        ' cannot parse "Z" as ".000000"'
    )


@given(st.text(max_size=30), st.sampled_from([SECONDS, MICROSECONDS]))
def test_any_text_is_a_time_or_refused(text: str, layout: str) -> None:
    with suppress(Malformed):
        canonical_time(text, layout)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("YQ==", "YQ=="), ("YQ==\n", "YQ=="), ("Y\nQ==", "YQ=="), ("YR==", "YQ=="), ("", ""), ("YWJj", "YWJj")],
)
def test_binary_data(text: str, canonical: str) -> None:
    assert binary_data(text) == canonical


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        ("YQ", 0), ("YQ==YQ==", 4), ("abc!", 3), ("abcdYQ", 4), ("abcdYQ=", 7), ("abcd=", 4), ("====", 0),
        ("a", 0), ("abcdabcd!bcd", 8), ("a\nb", 1), ("-_8=", 0), ("é", 0), ("ab=c", 2),
    ],
)  # fmt: skip
def test_what_is_not_binary_data(text: str, byte: int) -> None:
    with pytest.raises(Malformed) as refused:
        binary_data(text)
    assert str(refused.value) == f"illegal base64 data at input byte {byte}"
