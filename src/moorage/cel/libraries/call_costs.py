"""Costs that functions of several libraries have in common.

Everything is counted to the unit as kube-scheduler counts it, with the oddities of that: some sizes are in
code points and some in bytes, some costs are rounded up and some down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.costs import (
    CREATE_LIST,
    STRING_TRAVERSAL,
    actual_size,
    add,
    fixed,
    multiply,
    scale,
    string_cost,
    traversal_cost,
)
from moorage.cel.declarations import Argument, CallEstimate, Overload, Range
from moorage.cel.types import BYTES, STRING, Type

ONE = fixed(1)


def reading_cost(arguments: Sequence[Any], result: Any) -> int:
    """Of reading the first argument once."""
    return string_cost(actual_size(arguments[0]))


def reading_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(scale(arguments[0].size, STRING_TRAVERSAL))


def copying_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    """Of reading something whose copy is the result."""
    return CallEstimate(scale(arguments[0].size, STRING_TRAVERSAL), arguments[0].size)


def searching_cost(arguments: Sequence[Any], result: Any) -> int:
    """Of looking at everything in a list, or along a string."""
    return traversal_cost(arguments[0])


def searching_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    target = arguments[0]
    if not target.type.parameters:
        return CallEstimate(scale(target.size, STRING_TRAVERSAL))
    each = ONE
    if target.type.parameters[0] in (STRING, BYTES):
        each = add(each, scale(target.element_size, STRING_TRAVERSAL))
    return CallEstimate(multiply(target.size, each))


def list_cost(factor: float, size: int) -> int:
    """Of a call that makes a list. A factor below zero takes from the costs, as in 64-bit arithmetic."""
    product = size * factor
    units = int(product) if -(2.0**63) <= product < 2.0**64 else 2**63
    return units + 1 + CREATE_LIST


def list_estimate(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(add(scale(size, factor), fixed(1 + CREATE_LIST)), size)


def reading_overload(id: str, result: Type, call: Callable[..., Any], *more: Type) -> Overload:
    """Of a function that reads its first argument, a string."""
    return Overload(
        id,
        (STRING, *more),
        result,
        call,
        is_member=False,
        actual_cost=reading_cost,
        estimate=reading_estimate,
    )
