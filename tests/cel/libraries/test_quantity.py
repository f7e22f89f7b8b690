from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.quantities import parse_quantity
from moorage.cel.costs import fixed
from moorage.cel.libraries.amounts import Quantity
from moorage.cel.values import MAX_INT, MIN_INT, EvaluationError
from tests.cel.libraries.calling import call, cost, estimate, fails, known


def quantity(text: str) -> Quantity:
    found = call("string_to_quantity", text)
    assert isinstance(found, Quantity)
    return found


def exact(amount: Quantity) -> Fraction:
    return amount.number * Fraction(10) ** amount.scale


@pytest.mark.parametrize(
    "text", ["0", "1.5Gi", "100m", "1e3", "1E3", "-1Ki", "+5", ".5", "5.", "1E", "Mi", "+", ".", "1e-12"]
)
def test_quantities(text: str) -> None:
    assert call("is_quantity_string", text) is True
    assert exact(quantity(text)) == parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "quantities must match the regular expression"),
        ("lots", "quantities must match the regular expression"),
        (" 1", "quantities must match the regular expression"),
        ("1 ", "quantities must match the regular expression"),
        ("1.2.3", "quantities must match the regular expression"),
        ("１", "quantities must match the regular expression"),
        ("200K", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1mi", "unable to parse quantity's suffix"),
        ("e-10", "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_not_a_quantity(text: str, reason: str) -> None:
    assert call("is_quantity_string", text) is False
    assert fails("string_to_quantity", text).startswith(reason)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("200M", "0.2G", 0),
        ("50M", "50Mi", -1),
        ("50Mi", "50M", 1),
        ("0", "-0", 0),
        ("-1", "1n", -1),
        ("-2", "-1", -1),
        ("1e400", "1e399", 1),
        ("1e-12", "1n", 0),
        ("9999999999999999999", "1e19", -1),
        ("10Ei", "9223372036854775807", 0),
        ("-10Ei", "-9223372036854775807", 0),
    ],
)
def test_order(left: str, right: str, expected: int) -> None:
    one, other = quantity(left), quantity(right)
    assert call("quantity_compare_to", one, other) == expected
    assert call("quantity_compare_to", other, one) == -expected
    assert call("quantity_is_greater_than", one, other) is (expected > 0)
    assert call("quantity_is_less_than", one, other) is (expected < 0)
    assert (one == other) is (expected == 0)
    assert expected or hash(one) == hash(other)


@pytest.mark.parametrize(
    ("text", "integer"),
    [
        ("50k", 50_000),
        ("10Ti", 10 * 2**40),
        ("9e18", 9 * 10**18),
        ("-5", -5),
        ("0e400", 0),
        # what is stored with decimals, or as a number of any length, is no integer
        ("1.0", None),
        ("1000m", None),
        ("100Ti", None),
        ("1Ei", None),
        ("1.5Gi", None),
        ("1e19", None),
        ("1e30", None),
        ("1000000000000000000", None),
    ],
)
def test_integers(text: str, integer: int | None) -> None:
    assert call("quantity_is_integer", quantity(text)) is (integer is not None)
    if integer is None:
        assert fails("quantity_get_int", quantity(text)) == "cannot convert value to integer"
    else:
        assert call("quantity_get_int", quantity(text)) == integer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5Gi", 1610612736.0),
        ("100m", 0.1),
        ("3n", 3 * 1e-9),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("1" + "0" * 400, math.inf),
        ("1e-400", 1e-9),
        ("123456789012345678901234567890", float(123456789012345678901234567890 * 10**9) * 1e-9),
    ],
)
def test_approximations(text: str, expected: float) -> None:
    assert call("quantity_get_float", quantity(text)) == expected


def test_no_number_of_infinitely_much_is_no_number() -> None:
    assert math.isnan(call("quantity_get_float", quantity("0e400")))


def test_signs() -> None:
    assert [call("quantity_sign", quantity(text)) for text in ("-1n", "0", "1Ei")] == [-1, 0, 1]


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("50k", "20k", "70k", "30k"),
        ("1", "1n", "1000000001n", "999999999n"),
        ("1Gi", "1G", "2073741824", "73741824"),
        ("0", "5", "5", "-5"),
        ("9e18", "9e18", "18e18", "0"),
        ("1Ei", "1n", "1152921504606846976.000000001", "1152921504606846975.999999999"),
    ],
)
def test_sums(left: str, right: str, total: str, difference: str) -> None:
    one, other = quantity(left), quantity(right)
    assert call("quantity_add", one, other) == quantity(total)
    assert call("quantity_sub", one, other) == quantity(difference)
    assert one == quantity(left)


def test_sums_with_integers() -> None:
    assert call("quantity_add_int", quantity("50k"), 20) == quantity("50020")
    assert call("quantity_sub_int", quantity("50k"), -20) == quantity("50020")
    most = call("quantity_add_int", quantity("0"), MAX_INT)
    assert call("quantity_get_int", most) == MAX_INT
    assert call("quantity_is_integer", call("quantity_add_int", most, 1)) is False
    # the negative of the lowest number is that number again
    assert call("quantity_get_int", call("quantity_sub_int", quantity("0"), MIN_INT)) == MIN_INT


def test_a_sum_is_compared_on_the_left_only() -> None:
    two = quantity("2")
    computed = call("quantity_add_int", quantity("1"), 1)
    assert computed.equals(two) is True
    assert two.equals(two) is True
    for left, right in ((two, computed), (computed, computed), (two, "2")):
        with pytest.raises(EvaluationError, match="no such overload"):
            left.equals(right)


AMOUNTS = st.from_regex(
    r"[+-]?[0-9]{1,20}(\.[0-9]{0,10})?(|[numkMGTPE]|[KMGTPE]i|e-?[0-9]{1,2})", fullmatch=True
)


@given(AMOUNTS, AMOUNTS)
def test_arithmetic_is_exact(left: str, right: str) -> None:
    one, other = quantity(left), quantity(right)
    assert exact(one) == parse_quantity(left)
    assert exact(call("quantity_add", one, other)) == exact(one) + exact(other)
    assert exact(call("quantity_sub", one, other)) == exact(one) - exact(other)
    order = (exact(one) > exact(other)) - (exact(one) < exact(other))
    assert call("quantity_compare_to", one, other) == order


def test_costs() -> None:
    assert cost("string_to_quantity", "12345678901") == 2
    assert cost("is_quantity_string", "") == 0
    assert cost("quantity_add", quantity("1"), quantity("2")) == 1
    assert estimate("string_to_quantity", known("12345678901")) == (fixed(2), None)
    assert estimate("quantity_add", known("1"), known("1")) == (fixed(1), None)
