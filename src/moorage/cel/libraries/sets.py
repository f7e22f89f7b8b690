"""`sets.*`: lists taken for sets, whose order and repetitions do not count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.costs import actual_size, add, multiply, scale
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload
from moorage.cel.evaluation.operators import is_in
from moorage.cel.libraries.call_costs import ONE
from moorage.cel.types import BOOL, A, list_of


def contains(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(is_in(value, values) for value in wanted)


def equivalent(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return contains(left, right) and contains(right, left)


def intersects(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return any(is_in(value, right) for value in left)


def _function(name: str, call: Callable[..., bool], factor: int) -> Function:
    """Each element is compared with each, `factor` times."""

    def cost(arguments: Sequence[Any], result: Any) -> int:
        return 1 + actual_size(arguments[0]) * actual_size(arguments[1]) * factor

    def estimate(arguments: Sequence[Argument]) -> CallEstimate:
        pairs = multiply(arguments[0].size, arguments[1].size)
        return CallEstimate(add(scale(pairs, factor), ONE))

    overload = Overload(
        f"list_sets_{name}_list",
        (list_of(A), list_of(A)),
        BOOL,
        call,
        is_member=False,
        actual_cost=cost,
        estimate=estimate,
    )
    return Function(f"sets.{name}", (overload,))


LIBRARY = Library(
    (
        _function("contains", contains, 1),
        _function("equivalent", equivalent, 2),
        _function("intersects", intersects, 1),
    )
)
