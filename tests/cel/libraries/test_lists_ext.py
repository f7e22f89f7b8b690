from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.costs import fixed
from moorage.cel.declarations import UNKNOWN, Argument, Range
from moorage.cel.types import INT, list_of
from moorage.cel.values import MAX_INT, Duration, Failure, Uint
from tests.cel.libraries.calling import call, cost, estimate, fails, function_of, known, overload_of


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("list_slice", ((1, 2, 3, 4), 1, 3), (2, 3)),
        ("list_slice", ((1, 2), 2, 2), ()),
        ("list_slice", ((), 0, 0), ()),
        ("list_flatten", ((1, (2, 3), (), ((4,),)),), (1, 2, 3, (4,))),
        ("list_flatten", ((),), ()),
        ("list_flatten_int", ((1, (2, (3, (4,)))), 2), (1, 2, 3, (4,))),
        ("list_flatten_int", (((1,),), 0), ((1,),)),
        ("list_flatten_int", ((("a", {"k": (1,)}),), MAX_INT), ("a", {"k": (1,)})),
        ("list_int_sort", ((3, 1, 2),), (1, 2, 3)),
        ("list_int_sort", ((),), ()),
        ("list_string_sort", (("b", "\U0001f600", "a"),), ("a", "b", "\U0001f600")),
        ("list_bool_sort", ((True, False),), (False, True)),
        ("list_google.protobuf.Duration_sort", ((Duration(2), Duration(1)),), (Duration(1), Duration(2))),
        ("list_int_sortByAssociatedKeys", (("foo", "bar", "baz"), (3, 1, 2)), ("bar", "baz", "foo")),
        ("list_int_sortByAssociatedKeys", (("a", "b", "c"), (1, 0, 1)), ("b", "a", "c")),
        ("lists_range", (3,), (0, 1, 2)),
        ("lists_range", (-3,), ()),
        ("list_reverse", ((5, 3, 1),), (1, 3, 5)),
        ("list_distinct", ((1, 2, 2, 3, 1),), (1, 2, 3)),
        ("list_distinct", ((1, Uint(1), 1.0, True, "1"),), (1, True, "1")),
        ("list_distinct", (((1,), (1.0,), None, None),), ((1,), None)),
        ("list_distinct", ((),), ()),
    ],
)
def test_results(id: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert call(id, *arguments) == expected


@pytest.mark.parametrize(
    ("id", "arguments", "text"),
    [
        ("list_slice", ((1,), -1, 1), "cannot slice(-1, 1), negative indexes not supported"),
        (
            "list_slice",
            ((1,), 1, 0),
            "cannot slice(1, 0), start index must be less than or equal to end index",
        ),
        ("list_slice", ((1,), 0, 2), "cannot slice(0, 2), list is length 1"),
        ("list_flatten_int", ((1,), -1), "level must be non-negative"),
        ("list_flatten", ("text",), "no such overload: string.flatten()"),
        ("list_int_sort", ("text",), "no such overload: sort"),
        ("list_int_sort", (((1,), (2,)),), "list elements must be comparable"),
        ("list_int_sort", ((1, 2.0),), "list elements must have the same type"),
        ("list_int_sort", ((1, None),), "list elements must have the same type"),
        ("lists_range", (MAX_INT,), f"lists.range({MAX_INT}) is too long"),
    ],
)
def test_errors(id: str, arguments: tuple[Any, ...], text: str) -> None:
    assert fails(id, *arguments) == text


def test_keys_are_as_many_as_values() -> None:
    assert "but got 2 and 1 elements" in fails("list_int_sortByAssociatedKeys", (1, 2), (1,))


@given(st.lists(st.text(max_size=3)))
def test_sorting_agrees_with_isSorted_and_reversing_twice_changes_nothing(values: list[str]) -> None:
    in_order = call("list_string_sort", values)
    assert sorted(values) == list(in_order)
    assert call("list_string_is_sorted_bool", in_order)
    assert call("list_reverse", call("list_reverse", values)) == tuple(values)


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("list_slice", ((1, 2, 3), 0, 2), 2 + 11),
        ("list_slice", ((1, 2, 3), 2, 0), 1 + 11),
        ("list_flatten", (((1, 2, 3), (4,)),), 2 + 11),
        ("list_flatten_int", (((1,), (2,)), 3), 6 + 11),
        ("list_flatten_int", (((1,), (2,)), -1), -2 + 11),
        ("list_flatten_int", ((1, 2), MAX_INT), 2**63 + 11),
        ("list_flatten_int", ((1, 2), -MAX_INT), 2**63 + 11),
        ("list_flatten", ("text",), 4 + 11),
        ("list_int_sort", ((1, 2, 3),), 18 + 11),
        ("list_string_sort", (("a", "b", "c"),), 18 + 11),
        ("list_string_sort", (("a",) * 4,), 33 + 11),
        ("list_int_sort", ((),), 11),
        ("list_string_sortByAssociatedKeys", ((1, 2, 3, 4), ("d", "c", "b", "a")), 33 + 11),
        ("lists_range", (5,), 5 + 11),
        ("lists_range", (-5,), 11),
        ("lists_range", (10**9,), 10**9 + 11),
        ("list_reverse", ((1, 2),), 2 + 11),
        ("list_distinct", ((1, 1),), 8 + 11),
    ],
)
def test_costs(id: str, arguments: tuple[Any, ...], expected: int) -> None:
    assert cost(id, *arguments) == expected


@pytest.mark.parametrize(
    ("id", "arguments"),
    [
        ("list_distinct", (Failure("division by zero"),)),
        ("list_distinct", ("text",)),
        ("list_int_sort", (Failure("division by zero"),)),
        ("list_flatten_int", ((), "text")),
    ],
)
def test_costs_that_cannot_be_told_end_the_evaluation(id: str, arguments: tuple[Any, ...]) -> None:
    reckoned = overload_of(id).actual_cost
    assert reckoned is not None
    with pytest.raises(TypeError):
        reckoned(arguments, Failure("whatever"))


NUMBERS = Argument(list_of(INT), Range(0, 10))
SOME_INT = Argument(INT, fixed(1))


def test_estimates() -> None:
    assert estimate("list_slice", NUMBERS, known(2), known(5)) == (fixed(3 + 11), fixed(3))
    assert estimate("list_slice", NUMBERS, SOME_INT, SOME_INT) == (fixed(10 + 11), fixed(10))
    assert estimate("list_slice", NUMBERS, known(1), known(-5)).result_size == fixed(2**64 - 1)
    assert estimate("list_flatten", NUMBERS) == (Range(11, 21), Range(0, 10))
    assert estimate("list_flatten_int", NUMBERS, known(3)).cost == Range(11, 41)
    assert estimate("list_flatten_int", NUMBERS, SOME_INT).cost == Range(11, UNKNOWN.max)
    assert estimate("lists_range", known(7)) == (fixed(18), fixed(7))
    assert estimate("lists_range", SOME_INT).result_size == fixed(UNKNOWN.max)
    assert estimate("list_reverse", NUMBERS) == (Range(11, 21), Range(0, 10))
    assert estimate("list_distinct", NUMBERS) == (Range(11, 211), Range(0, 100))
    assert estimate("list_int_sort", NUMBERS).cost == Range(11, 211)
    assert estimate("list_string_sort", NUMBERS).cost == Range(11, 221)
    assert estimate("list_bytes_sortByAssociatedKeys", known([1]), NUMBERS).cost == Range(11, 221)


def test_sorting_of_what_is_only_known_at_run_time_costs_one() -> None:
    assert function_of("list_int_sort").unresolved_cost is None
    assert not function_of("list_int_sort").is_guarded
