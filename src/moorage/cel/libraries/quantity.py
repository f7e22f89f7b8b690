"""`quantity(...)`: amounts of resources such as `1.5Gi`, compared and added up exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.libraries.amounts import (
    QUANTITY_TYPE,
    Quantity,
    add,
    add_int,
    compare,
    parse,
    subtract,
    subtract_int,
)
from moorage.cel.libraries.call_costs import reading_overload
from moorage.cel.types import BOOL, DOUBLE, INT, Type
from moorage.cel.values import EvaluationError


def is_quantity(text: str) -> bool:
    try:
        parse(text)
    except EvaluationError:
        return False
    return True


def sign(quantity: Quantity) -> int:
    return (quantity.number > 0) - (quantity.number < 0)


def is_greater_than(left: Quantity, right: Quantity) -> bool:
    return compare(left, right) > 0


def is_less_than(left: Quantity, right: Quantity) -> bool:
    return compare(left, right) < 0


def as_integer(quantity: Quantity) -> int:
    integer = quantity.integer()
    if integer is None:
        raise EvaluationError("cannot convert value to integer")
    return integer


def is_integer(quantity: Quantity) -> bool:
    return quantity.integer() is not None


def _member(name: str, id: str, call: Callable[..., Any], result: Type, *more: Type) -> Function:
    return Function(name, (Overload(id, (QUANTITY_TYPE, *more), result, call),))


_ADD = (
    Overload("quantity_add", (QUANTITY_TYPE, QUANTITY_TYPE), QUANTITY_TYPE, add),
    Overload("quantity_add_int", (QUANTITY_TYPE, INT), QUANTITY_TYPE, add_int),
)
_SUB = (
    Overload("quantity_sub", (QUANTITY_TYPE, QUANTITY_TYPE), QUANTITY_TYPE, subtract),
    Overload("quantity_sub_int", (QUANTITY_TYPE, INT), QUANTITY_TYPE, subtract_int),
)

LIBRARY = Library(
    (
        Function("quantity", (reading_overload("string_to_quantity", QUANTITY_TYPE, parse),)),
        Function("isQuantity", (reading_overload("is_quantity_string", BOOL, is_quantity),)),
        Function("sign", (Overload("quantity_sign", (QUANTITY_TYPE,), INT, sign, is_member=False),)),
        _member("isGreaterThan", "quantity_is_greater_than", is_greater_than, BOOL, QUANTITY_TYPE),
        _member("isLessThan", "quantity_is_less_than", is_less_than, BOOL, QUANTITY_TYPE),
        _member("compareTo", "quantity_compare_to", compare, INT, QUANTITY_TYPE),
        _member("asApproximateFloat", "quantity_get_float", Quantity.approximation, DOUBLE),
        _member("asInteger", "quantity_get_int", as_integer, INT),
        _member("isInteger", "quantity_is_integer", is_integer, BOOL),
        Function("add", _ADD),
        Function("sub", _SUB),
    )
)
