"""Functions that make lists from lists: parts of them, flatter, sorted, reversed, without repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.cel.costs import STRING_TRAVERSAL, actual_size, fixed, multiply
from moorage.cel.declarations import (
    UNKNOWN,
    Argument,
    CallEstimate,
    Estimate,
    Function,
    Library,
    Overload,
    Range,
)
from moorage.cel.evaluation.operators import is_in, type_of_value
from moorage.cel.libraries.call_costs import list_cost, list_estimate
from moorage.cel.libraries.lists import has_order
from moorage.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    list_of,
)
from moorage.cel.values import EvaluationError

_ORDERED = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_LONGEST_RANGE = 1_000_000
"""Longer ones cost more than any expression may, which ends the evaluation."""
_COMPARISONS = 2.0
"""For each pair of elements: sorting is reckoned as if all were compared with all."""


def slice_of(values: Sequence[Any], start: int, end: int) -> tuple[Any, ...]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(values):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return tuple(values[start:end])


def flatten(values: Any, depth: Any = 1) -> tuple[Any, ...]:
    """Lists in the list give way to their elements, and lists in those, `depth` levels down."""
    if not _is_list(values) or type(depth) is not int:
        raise EvaluationError(f"no such overload: {type_of_value(values).name}.flatten()")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        if depth and _is_list(value):
            flat.extend(flatten(value, depth - 1))
        else:
            flat.append(value)
    return tuple(flat)


def sort(values: Any) -> tuple[Any, ...]:
    if not _is_list(values):
        raise EvaluationError("no such overload: sort")
    return sort_by_keys(values, values)


def sort_by_keys(values: Any, keys: Any) -> tuple[Any, ...]:
    """`values` in the order of `keys`, of which each has its own; equal ones stay in their order."""
    if not _is_list(values) or not _is_list(keys):
        raise EvaluationError("no such overload: @sortByAssociatedKeys")
    if len(values) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(values)} and {len(keys)} elements respectively"
        )
    if not values:
        return ()
    if not has_order(keys[0]):
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    return tuple(values[place] for place in sorted(range(len(keys)), key=keys.__getitem__))


def numbers_below(end: int) -> tuple[int, ...]:
    if end > _LONGEST_RANGE:
        raise EvaluationError(f"lists.range({end}) is too long")
    return tuple(range(end))


def reverse(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(reversed(values))


def distinct(values: Sequence[Any]) -> tuple[Any, ...]:
    """The first of equal elements."""
    found: list[Any] = []
    for value in values:
        if not is_in(value, found):
            found.append(value)
    return tuple(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _result_cost(arguments: Sequence[Any], result: Any) -> int:
    return list_cost(1, actual_size(result))


def _range_cost(arguments: Sequence[Any], result: Any) -> int:
    """By the argument, so that what is too long to be made has its price, too."""
    return list_cost(1, max(arguments[0], 0) if type(arguments[0]) is int else 1)


def _flatten_cost(arguments: Sequence[Any], result: Any) -> int:
    depth = arguments[1] if len(arguments) == 2 else 1
    if type(depth) is not int:
        raise TypeError("the depth of flatten() is not a number")
    return list_cost(float(depth), actual_size(arguments[0]))


def _comparison_cost(arguments: Sequence[Any], result: Any) -> int:
    """By the last argument: the keys, or the list itself."""
    values = arguments[-1]
    if not _is_list(values):
        raise TypeError("what is sorted or made distinct is not a list")
    factor = _COMPARISONS
    if values and isinstance(values[0], str | bytes):
        factor += STRING_TRAVERSAL
    return list_cost(factor, len(values) ** 2)


def _literal(argument: Argument, otherwise: int) -> int:
    if type(argument.value) is not int:
        return otherwise
    return max(argument.value, 0)


def _slice_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    start = _literal(arguments[1], 0)
    end = _literal(arguments[2], arguments[0].size.max)
    return list_estimate(1, fixed((end - start) % 2**64))


def _range_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return list_estimate(1, fixed(_literal(arguments[0], UNKNOWN.max)))


def _flatten_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    depth = _literal(arguments[1], UNKNOWN.max) if len(arguments) == 2 else 1
    return list_estimate(float(depth), arguments[0].size)


def _reverse_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return list_estimate(1, arguments[0].size)


def _comparison_estimate(size: Range, factor: float) -> CallEstimate:
    return list_estimate(factor, multiply(size, size))


def _distinct_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return _comparison_estimate(arguments[0].size, _COMPARISONS)


def _sort_estimate(kind: Type) -> Estimate:
    """By the last argument: the keys, or the list itself."""
    factor = _COMPARISONS + STRING_TRAVERSAL if kind in (STRING, BYTES) else _COMPARISONS
    return lambda arguments: _comparison_estimate(arguments[-1].size, factor)


_ANY_LIST = list_of(A)
_SLICE = Overload(
    "list_slice",
    (_ANY_LIST, INT, INT),
    _ANY_LIST,
    slice_of,
    actual_cost=_result_cost,
    estimate=_slice_estimate,
)
_FLATTEN = Overload(
    "list_flatten",
    (list_of(_ANY_LIST),),
    _ANY_LIST,
    flatten,
    actual_cost=_flatten_cost,
    estimate=_flatten_estimate,
)
_FLATTEN_DEEPER = Overload(
    "list_flatten_int",
    (list_of(DYN), INT),
    list_of(DYN),
    flatten,
    actual_cost=_flatten_cost,
    estimate=_flatten_estimate,
)
_SORT = tuple(
    Overload(
        f"list_{kind.name}_sort",
        (list_of(kind),),
        list_of(kind),
        sort,
        actual_cost=_comparison_cost,
        estimate=_sort_estimate(kind),
    )
    for kind in _ORDERED
)
_SORT_BY_KEYS = tuple(
    Overload(
        f"list_{kind.name}_sortByAssociatedKeys",
        (_ANY_LIST, list_of(kind)),
        _ANY_LIST,
        sort_by_keys,
        actual_cost=_comparison_cost,
        estimate=_sort_estimate(kind),
    )
    for kind in _ORDERED
)
_RANGE = Overload(
    "lists_range",
    (INT,),
    list_of(INT),
    numbers_below,
    is_member=False,
    actual_cost=_range_cost,
    estimate=_range_estimate,
)
_REVERSE = Overload(
    "list_reverse",
    (_ANY_LIST,),
    _ANY_LIST,
    reverse,
    actual_cost=_result_cost,
    estimate=_reverse_estimate,
)
_DISTINCT = Overload(
    "list_distinct",
    (_ANY_LIST,),
    _ANY_LIST,
    distinct,
    actual_cost=_comparison_cost,
    estimate=_distinct_estimate,
)

LIBRARY = Library(
    (
        Function("slice", (_SLICE,)),
        Function("flatten", (_FLATTEN, _FLATTEN_DEEPER), is_guarded=False),
        Function("sort", _SORT, is_guarded=False),
        Function("@sortByAssociatedKeys", _SORT_BY_KEYS, is_guarded=False),
        Function("lists.range", (_RANGE,)),
        Function("reverse", (_REVERSE,)),
        Function("distinct", (_DISTINCT,)),
    )
)
