from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from moorage.api.meta import Quantity
from moorage.api.quantities import MAX_INT64, QuantityError, milli, parse, value

PROPERTY = settings(max_examples=150, deadline=None)
NANO = Fraction(1, 10**9)
DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}
BINARY = {
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
MULTIPLIERS = DECIMAL | BINARY


def reference(text: str) -> Fraction | None:
    """The value of a quantity in units, or None where the text is none. Slow and plain."""
    text = text.strip()
    if text == "":
        return None
    negative = text[0] == "-"
    if text[0] in "+-":
        text = text[1:]
    end = 0
    while end < len(text) and text[end] in "0123456789.":
        end += 1
    number, suffix = text[:end], text[end:]
    if number.count(".") > 1:
        return None
    whole, _, fraction = number.partition(".")
    multiplier = _multiplier(suffix)
    if multiplier is None:
        return None
    units = Fraction(int(whole or "0")) + Fraction(int(fraction or "0"), 10 ** len(fraction))
    units = ceil(units * multiplier / NANO) * NANO
    if suffix in BINARY:
        units = min(units, Fraction(2**63 - 1))
    return -units if negative else units


def _multiplier(suffix: str) -> Fraction | None:
    if suffix in MULTIPLIERS:
        return MULTIPLIERS[suffix]
    if suffix[0] not in "eE":
        return None
    sign, digits = (suffix[1], suffix[2:]) if suffix[1:2] in ("+", "-") else ("+", suffix[1:])
    if not digits or any(digit not in "0123456789" for digit in digits):
        return None
    return Fraction(10) ** (int(digits) if sign == "+" else -int(digits))


def exact_text(number: Fraction) -> str:
    """A decimal text of a fraction that has one, without an exponent."""
    with localcontext() as context:
        context.prec = 400
        text = format(Decimal(number.numerator) / Decimal(number.denominator), "f")
    assert Fraction(text) == number
    return text


digits = st.text("0123456789", max_size=25)
exponents = st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 40)
)
quantity_texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "+", "-"]),
    digits,
    st.one_of(st.just(""), st.builds(".{}".format, digits)),
    st.one_of(st.sampled_from(sorted(MULTIPLIERS)), exponents),
).filter(bool)


@pytest.mark.parametrize(
    ("text", "in_milli", "in_units"),
    [
        ("100m", 100, 1),
        ("0.1", 100, 1),
        ("1500u", 2, 1),
        ("1n", 1, 1),
        ("0.5n", 1, 1),
        ("12e-3", 12, 1),
        ("0", 0, 0),
        ("1.5Gi", 1610612736000, 1610612736),
        ("0.1Ki", 102400, 103),
        ("1e3", 1000000, 1000),
        ("1E3", 1000000, 1000),
        ("1k", 1000000, 1000),
        ("1E", None, 10**18),
        ("1Ei", None, 1152921504606846976),
        ("9Ei", None, 9223372036854775807),
    ],
)
def test_check_values(text: str, in_milli: int | None, in_units: int) -> None:
    assert value(parse(text)) == in_units
    if in_milli is not None:
        assert milli(parse(text)) == in_milli


def test_check_value_of_a_sum() -> None:
    total = parse("0.5m") + parse("0.5m")
    assert (milli(total), value(total)) == (1, 1)


@pytest.mark.parametrize(("suffix", "multiplier"), MULTIPLIERS.items())
@pytest.mark.parametrize("count", ["1", "7", "2.5", "-3"])
def test_suffixes(count: str, suffix: str, multiplier: Fraction) -> None:
    expected = Fraction(count) * multiplier / NANO
    if suffix == "n" and count == "2.5":
        expected = Fraction(3)
    assert parse(count + suffix) == min(expected, MAX_INT64 * 10**9)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1e3", 10**12),
        ("1E3", 10**12),
        ("1e+3", 10**12),
        ("1E-3", 10**6),
        ("1e03", 10**12),
        ("2E", 2 * 10**27),
        ("1.5e2", 150 * 10**9),
        ("+5", 5 * 10**9),
        ("-5", -5 * 10**9),
        ("007", 7 * 10**9),
        ("000.500", 5 * 10**8),
        ("+", 0),
        ("-", 0),
        (".", 0),
        ("-.", 0),
        ("1.", 10**9),
        (".5", 5 * 10**8),
        ("1.G", 10**18),
        ("m", 0),
        ("Ki", 0),
        ("E", 0),
        ("e3", 0),
        (" 1 ", 10**9),
        ("\t100m\n", 10**8),
    ],
)
def test_syntax(text: str, nanos: int) -> None:
    assert parse(text) == nanos


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "1K",
            "K",
            "1e",
            "e",
            "1e+",
            "1 Gi",
            "1. 5",
            "1ki",
            "1KI",
            "1kI",
            "1mi",
            "1i",
            "1mm",
            "1Kim",
        ),
        *(
            "1.2.3",
            "..",
            "--1",
            "+-1",
            "1-",
            "1e1.5",
            "1e3m",
            "1,5",
            "1_000",
            "0x10",
            "abc",
            "NaN",
            "inf",
            "1e 3",
        ),
        *("١", "1²", "Ｋi", "1\x001", "1d", "1g", "1t", "1p"),
    ],
)
def test_what_is_not_a_quantity(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        parse(text)


@pytest.mark.parametrize(
    ("number", "nanos"),
    [
        (0, 0),
        (3, 3 * 10**9),
        (-3, -3 * 10**9),
        (10**30, 10**39),
        (0.1, 10**8),
        (1.5, 1500000000),
        (1e3, 10**12),
        (1e22, 10**31),
        (1e-9, 1),
        (1e-12, 1),
        (-1e-12, -1),
    ],
)
def test_numbers_are_read_as_their_text(number: int | float, nanos: int) -> None:
    assert parse(number) == nanos


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_are_no_quantity(number: float) -> None:
    with pytest.raises(QuantityError):
        parse(number)


@pytest.mark.parametrize("equal", [1, 1.0])
def test_a_boolean_is_never_a_quantity(equal: Quantity) -> None:
    parse(equal)
    with pytest.raises(QuantityError):
        parse(True)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0.1n", 1),
        ("1e-30", 1),
        ("0.0000000001", 1),
        ("1.0000000001", 10**9 + 1),
        ("-0.1n", -1),
        ("-1.0000000001", -(10**9) - 1),
        ("0.0000000000", 0),
        ("0.1Ki", 102_400_000_000),
        ("0.000000000001Ki", 2),
    ],
)
def test_finer_than_a_nano_rounds_away_from_zero(text: str, nanos: int) -> None:
    assert parse(text) == nanos


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("7Ei", 7 * 2**60),
        ("7.9999Ei", ceil(Fraction("7.9999") * 2**60)),
        ("8Ei", 2**63 - 1),
        ("9Ei", 2**63 - 1),
        ("-9Ei", -(2**63 - 1)),
        ("9007199254740992Ki", 2**63 - 1),
        ("9007199254740991Ki", 2**63 - 1024),
        ("99999999999999999999999999999999Ki", 2**63 - 1),
        ("9223372036854775808", 2**63),
        ("10E", 10**19),
        ("1e30", 10**30),
    ],
)
def test_only_binary_suffixes_are_capped(text: str, units: int) -> None:
    assert value(parse(text)) == units


@pytest.mark.parametrize(
    ("nanos", "in_milli", "in_units"),
    [
        (0, 0, 0),
        (1, 1, 1),
        (10**6, 1, 1),
        (10**6 + 1, 2, 1),
        (10**9, 1000, 1),
        (10**9 + 1, 1001, 2),
        (-1, 0, 0),
        (-(10**6) - 1, -1, 0),
        (-(10**9), -1000, -1),
        (-(10**9) - 1, -1000, -1),
    ],
)
def test_conversions_round_up(nanos: int, in_milli: int, in_units: int) -> None:
    assert (milli(nanos), value(nanos)) == (in_milli, in_units)


@pytest.mark.parametrize(
    "text", ["1e401", "1e-401", "1E999999999999", "1" * 1001, "0." + "0" * 1001, "1" * 70_000]
)
def test_absurd_sizes_are_refused_at_once(text: str) -> None:
    with pytest.raises(QuantityError) as raised:
        parse(text)
    assert len(str(raised.value)) < 250


def test_an_error_fits_on_one_line() -> None:
    with pytest.raises(QuantityError) as raised:
        parse("1\n2" * 30_000)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250


@PROPERTY
@given(quantity_texts)
@example("-0.1n")
@example("0.3Ei")
def test_reads_what_the_reference_reads(text: str) -> None:
    expected = reference(text)
    assert expected is not None
    assert parse(text) * NANO == expected


@PROPERTY
@given(st.text("0019.+-eEinumkKMGTP ", max_size=8))
def test_accepts_what_the_reference_accepts(text: str) -> None:
    assume(not any(letter in text and len(text.split(letter)[-1]) > 3 for letter in "eE"))
    expected = reference(text)
    if expected is None:
        with pytest.raises(QuantityError):
            parse(text)
    else:
        assert parse(text) * NANO == expected


@PROPERTY
@given(st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(sorted(MULTIPLIERS)))
def test_every_suffix_round_trips(nanos: int, suffix: str) -> None:
    assert parse(exact_text(nanos * NANO / MULTIPLIERS[suffix]) + suffix) == nanos


@PROPERTY
@given(st.lists(quantity_texts, max_size=8))
def test_sums_never_round(texts: list[str]) -> None:
    assert sum(map(parse, texts)) * NANO == _sum(reference(text) for text in texts)


def _sum(parts: Iterable[Fraction | None]) -> Fraction:
    total = Fraction(0)
    for part in parts:
        assert part is not None
        total += part
    return total


@PROPERTY
@given(quantity_texts)
def test_conversions_round_up_whatever_the_text(text: str) -> None:
    expected = reference(text)
    assert expected is not None
    assert value(parse(text)) == ceil(expected)
    assert milli(parse(text)) == ceil(expected * 1000)


@PROPERTY
@given(st.one_of(st.integers(-(10**30), 10**30), st.floats(-1e20, 1e20, allow_nan=False)))
def test_numbers_agree_with_their_decimal_text(number: int | float) -> None:
    expected = reference(repr(number))
    assert expected is not None
    assert parse(number) * NANO == expected
