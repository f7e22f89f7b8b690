"""Functions that look through a list: its order, sum, extremes, and where something is in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.evaluation.operators import compare, equals
from moorage.cel.libraries.call_costs import searching_cost, searching_estimate
from moorage.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    list_of,
)
from moorage.cel.values import MAX_INT, MAX_UINT, MIN_INT, Duration, EvaluationError, Timestamp, Uint

_ORDERED = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}


_ORDERED_CLASSES = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})


def has_order(value: Any) -> bool:
    return type(value) in _ORDERED_CLASSES


def is_sorted(values: Sequence[Any]) -> bool:
    """Whether none is greater than the next; what cannot be compared is not."""
    for value in values:
        if not has_order(value):
            raise EvaluationError("no such overload")
    return not any(_comes_after(values[place], values[place + 1]) for place in range(len(values) - 1))


def smallest(values: Sequence[Any]) -> Any:
    return _extreme("min", values, lambda best, value: _comes_after(best, value))


def largest(values: Sequence[Any]) -> Any:
    return _extreme("max", values, lambda best, value: _comes_before(best, value))


def sum_of_ints(values: Sequence[Any]) -> int:
    total = 0
    for value in values:
        total += _of_type(int, value)
        if not MIN_INT <= total <= MAX_INT:
            raise EvaluationError("integer overflow")
    return total


def sum_of_uints(values: Sequence[Any]) -> Uint:
    total = 0
    for value in values:
        total += _of_type(Uint, value)
        if total > MAX_UINT:
            raise EvaluationError("unsigned integer overflow")
    return Uint(total)


def sum_of_doubles(values: Sequence[Any]) -> float:
    total = 0.0
    for value in values:
        total += _of_type(float, value)
    return total


def sum_of_durations(values: Sequence[Any]) -> Duration:
    return Duration(sum_of_ints([_of_type(Duration, value).nanos for value in values]))


def index_of(values: Sequence[Any], wanted: Any) -> int:
    for place, value in enumerate(values):
        if _is_equal(value, wanted):
            return place
    return -1


def last_index_of(values: Sequence[Any], wanted: Any) -> int:
    for place in range(len(values) - 1, -1, -1):
        if _is_equal(values[place], wanted):
            return place
    return -1


def _is_equal(left: Any, right: Any) -> bool:
    """What cannot be compared is not equal."""
    try:
        return equals(left, right)
    except EvaluationError:
        return False


def _extreme(name: str, values: Sequence[Any], is_better: Callable[[Any, Any], bool]) -> Any:
    if not values:
        raise EvaluationError(f"{name} called on empty list")
    best = values[0]
    for value in values:
        if not has_order(value):
            raise EvaluationError("no such overload")
        if is_better(best, value):
            best = value
    return best


def _comes_after(left: Any, right: Any) -> bool:
    try:
        return compare(left, right) > 0
    except EvaluationError:
        return False


def _comes_before(left: Any, right: Any) -> bool:
    try:
        return compare(left, right) < 0
    except EvaluationError:
        return False


def _of_type(wanted: type, value: Any) -> Any:
    if type(value) is not wanted:
        raise EvaluationError("no such overload")
    return value


def _overload(id: str, parameters: tuple[Type, ...], result: Type, call: Callable[..., Any]) -> Overload:
    return Overload(id, parameters, result, call, actual_cost=searching_cost, estimate=searching_estimate)


def _function(name: str, overloads: Sequence[Overload]) -> Function:
    return Function(name, tuple(overloads), unresolved_cost=searching_cost)


_SUMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "int": sum_of_ints,
    "uint": sum_of_uints,
    "double": sum_of_doubles,
    "duration": sum_of_durations,
}
_FROM_LIST = (list_of(A), A)

LIBRARY = Library(
    (
        _function(
            "isSorted",
            [
                _overload(f"list_{name}_is_sorted_bool", (list_of(kind),), BOOL, is_sorted)
                for name, kind in _ORDERED.items()
            ],
        ),
        _function(
            "sum",
            [
                _overload(f"list_{name}_sum_{name}", (list_of(_ORDERED[name]),), _ORDERED[name], call)
                for name, call in _SUMS.items()
            ],
        ),
        _function(
            "max",
            [
                _overload(f"list_{name}_max_{name}", (list_of(kind),), kind, largest)
                for name, kind in _ORDERED.items()
            ],
        ),
        _function(
            "min",
            [
                _overload(f"list_{name}_min_{name}", (list_of(kind),), kind, smallest)
                for name, kind in _ORDERED.items()
            ],
        ),
        _function("indexOf", [_overload("list_a_index_of_int", _FROM_LIST, INT, index_of)]),
        _function("lastIndexOf", [_overload("list_a_last_index_of_int", _FROM_LIST, INT, last_index_of)]),
    )
)
