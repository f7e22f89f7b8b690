from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.costs import fixed
from moorage.cel.declarations import Argument, Range
from moorage.cel.types import DYN, INT, STRING, list_of
from moorage.cel.values import MAX_INT, MAX_UINT, MIN_INT, Duration, Timestamp, Uint
from tests.cel.libraries.calling import call, cost, estimate, fails, function_of, known

NAN = float("nan")
FACE = "\U0001f600"


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("list_int_is_sorted_bool", ((1, 2, 2, 3),), True),
        ("list_int_is_sorted_bool", ((2, 1),), False),
        ("list_int_is_sorted_bool", ((),), True),
        ("list_string_is_sorted_bool", (("\uffff", FACE),), True),
        ("list_bool_is_sorted_bool", ((True, False),), False),
        ("list_double_is_sorted_bool", ((3.0, NAN, 1.0),), True),
        ("list_int_is_sorted_bool", ((2, "a", 1),), True),
        ("list_int_sum_int", ((1, 3),), 4),
        ("list_int_sum_int", ((),), 0),
        ("list_int_sum_int", ((MAX_INT, -1, 1),), MAX_INT),
        ("list_uint_sum_uint", ((Uint(1), Uint(2)),), 3),
        ("list_double_sum_double", ((0.5, 0.25),), 0.75),
        ("list_duration_sum_duration", ((Duration(1), Duration(2)),), Duration(3)),
        ("list_int_max_int", ((1, 3, 2),), 3),
        ("list_int_min_int", ((2, 1, 3),), 1),
        ("list_string_max_string", (("a", FACE, "\uffff"),), FACE),
        ("list_timestamp_min_timestamp", ((Timestamp(5), Timestamp(-5)),), Timestamp(-5)),
        ("list_double_max_double", ((1.0, NAN, 5.0),), 5.0),
        ("list_int_max_int", ((1, "a", 2.5),), 2.5),
        ("list_a_index_of_int", ((1, 2, 2, 3), 2), 1),
        ("list_a_index_of_int", ((1, 2), 2.0), 1),
        ("list_a_index_of_int", ((True, 1), 1), 1),
        ("list_a_index_of_int", ((), "a"), -1),
        ("list_a_last_index_of_int", (("a", "b", "b", "c"), "b"), 2),
        ("list_a_last_index_of_int", ((None, 1), None), 0),
        ("list_a_last_index_of_int", ((1,), "1"), -1),
    ],
)
def test_results(id: str, arguments: tuple[Any, ...], expected: Any) -> None:
    found = call(id, *arguments)
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, Uint)


@pytest.mark.parametrize(
    ("id", "values", "text"),
    [
        ("list_int_sum_int", (MAX_INT, 1), "integer overflow"),
        ("list_int_sum_int", (MIN_INT, -1, 1), "integer overflow"),
        ("list_uint_sum_uint", (Uint(MAX_UINT), Uint(1)), "unsigned integer overflow"),
        ("list_duration_sum_duration", (Duration(MAX_INT), Duration(1)), "integer overflow"),
        ("list_int_sum_int", (1, 1.5), "no such overload"),
        ("list_int_sum_int", (1, True), "no such overload"),
        ("list_int_min_int", (), "min called on empty list"),
        ("list_int_max_int", (), "max called on empty list"),
        ("list_int_max_int", (1, None), "no such overload"),
        ("list_int_is_sorted_bool", (1, (2,)), "no such overload"),
    ],
)
def test_errors(id: str, values: tuple[Any, ...], text: str) -> None:
    assert fails(id, values) == text


def test_a_sum_on_the_right_is_equal_to_nothing() -> None:
    one, two = call("string_to_quantity", "1"), call("string_to_quantity", "2")
    computed = call("quantity_add", one, one)
    assert call("list_a_index_of_int", (computed,), two) == 0
    assert call("list_a_index_of_int", (two,), computed) == -1


@given(st.lists(st.integers(-5, 5), min_size=1))
def test_extremes_and_order_agree_with_sorting(values: list[int]) -> None:
    assert call("list_int_min_int", values) == min(values)
    assert call("list_int_max_int", values) == max(values)
    assert call("list_int_is_sorted_bool", values) == (values == sorted(values))


def test_costs_are_those_of_everything_inside() -> None:
    assert cost("list_int_sum_int", (1, 2, 3)) == 3
    assert cost("list_string_max_string", ("x" * 9, "y" * 10, "é" * 10)) == 0 + 1 + 2
    assert cost("list_a_index_of_int", ((1, (2, b"z" * 20)), {"k" * 10: 1}), 5) == 1 + 1 + 2 + 1 + 1
    assert cost("list_int_max_int", ()) == 0


def test_estimates_go_by_the_type_of_elements() -> None:
    assert estimate("list_int_sum_int", known([1, 2, 3])).cost == fixed(3)
    strings = Argument(list_of(STRING), Range(0, 4), element_size=Range(0, 20))
    assert estimate("list_string_max_string", strings).cost == Range(0, 12)
    assert estimate("list_a_index_of_int", Argument(list_of(DYN), fixed(4)), known(1)).cost == fixed(4)
    assert estimate("list_a_index_of_int", Argument(DYN, Range(0, 64)), known(1)).cost == Range(0, 7)


def test_calls_cost_the_same_whichever_overload_they_find() -> None:
    for name in ("list_a_index_of_int", "list_int_sum_int", "string_index_of_string"):
        unresolved = function_of(name).unresolved_cost
        assert unresolved is not None
        assert unresolved([(1, "x" * 10)], None) == 2


def test_kinds_of_overloads() -> None:
    assert estimate("list_int_min_int", Argument(list_of(INT), fixed(2))).result_size is None
