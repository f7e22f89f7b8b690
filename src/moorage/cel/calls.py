"""Calls as functions of a frame, the faster the more is known of their arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel import operators, types
from moorage.cel.costs import string_cost
from moorage.cel.equality import equality_cost
from moorage.cel.operators import equals
from moorage.cel.planner import is_proven
from moorage.cel.steps import Constant, Equality, Invocation, Step
from moorage.cel.values import MAX_INT, MIN_INT, EvaluationError, Fault

_SCALARS = frozenset({types.BOOL, types.INT, types.UINT, types.DOUBLE, types.TIMESTAMP, types.DURATION})
_ORDERED = frozenset({types.INT, types.UINT})
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_INT_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "_+_": operator.add,
    "_-_": operator.sub,
    "_*_": operator.mul,
}

Run = Callable[[list[Any]], Any]


def constant(value: Any) -> Run:
    def run(frame: list[Any]) -> Any:
        return value

    run.value = value  # type: ignore[attr-defined]
    return run


def _is_constant(run: Run) -> bool:
    return hasattr(run, "value")


# Equality


def equality(step: Equality, left: Run, right: Run) -> tuple[Run, int]:
    """With what it always costs."""
    negated = step.negated
    if step.left.type == step.right.type and step.left.type in _SCALARS:
        if negated:
            return lambda frame: left(frame) != right(frame), 1
        return lambda frame: left(frame) == right(frame), 1
    for this, other, is_left in ((right, left, False), (left, right, True)):
        value = getattr(this, "value", None)
        if value.__class__ is str and value:
            return _equality_with_string(other, value, negated, is_left), 1
        if value.__class__ in (int, bool):
            return _equality_with_scalar(other, value, negated, is_left), 1

    def run(frame: list[Any]) -> Any:
        first, second = left(frame), right(frame)
        frame[0] += equality_cost(first, second, negated=negated)
        return _compared(first, second, negated)

    return run, 0


def _compared(left: Any, right: Any, negated: bool) -> bool:
    try:
        return equals(left, right) is not negated
    except Fault:
        raise
    except EvaluationError:
        if negated:  # values that cannot be compared are not equal either
            return True
        raise


def _equality_with_string(other: Run, text: str, negated: bool, is_left: bool) -> Run:
    is_short = len(text) <= 10  # then reading it costs 1, unless the other is empty

    def run(frame: list[Any]) -> Any:
        value = other(frame)
        if value.__class__ is str:
            if not is_short or not value:
                frame[0] += string_cost(min(len(value), len(text))) - 1
            return (value == text) is not negated
        left, right = (text, value) if is_left else (value, text)
        frame[0] += equality_cost(left, right, negated=negated) - 1
        return _compared(left, right, negated)

    return run


def _equality_with_scalar(other: Run, scalar: Any, negated: bool, is_left: bool) -> Run:
    kind = scalar.__class__

    def run(frame: list[Any]) -> Any:
        value = other(frame)
        if value.__class__ is kind:
            return (value == scalar) is not negated
        left, right = (scalar, value) if is_left else (value, scalar)
        frame[0] += equality_cost(left, right, negated=negated) - 1
        return _compared(left, right, negated)

    return run


# Functions


def invocation(step: Invocation, arguments: Sequence[Run]) -> tuple[Run, int]:
    """With what it always costs."""
    if step.actual_cost is None and len(arguments) == 2:
        fast = _operator(step, *arguments)
        if fast is not None:
            return fast, 1
    run, cost = _generic(step, arguments)
    if step.type.name not in ("list", "map", "dyn") and all(map(_is_constant, arguments)):
        frame = [0]
        try:
            value = run(frame)
        except Exception:  # it will go wrong again when it is due
            return run, cost
        return constant(value), cost + frame[0]
    return run, cost


def _operator(step: Invocation, left: Run, right: Run) -> Run | None:
    """Of whole numbers, where they are known to be such; relations also where that turns out."""
    name = step.function
    first, second = (argument.type for argument in step.arguments)
    if name in _INT_ARITHMETIC and first == second == types.INT:
        return _int_arithmetic(_INT_ARITHMETIC[name], left, right)
    if name in _RELATIONS:
        relation = _RELATIONS[name]
        if first == second and first in _ORDERED:
            return lambda frame: relation(left(frame), right(frame))
        last = step.arguments[1]
        if isinstance(last, Constant) and last.value.__class__ is int:
            return _relation_with_int(relation, operators.BINARY[name], left, last)
    return None


def _int_arithmetic(compute: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(frame: list[Any]) -> Any:
        number = compute(left(frame), right(frame))
        if MIN_INT <= number <= MAX_INT:
            return number
        raise EvaluationError("integer overflow")

    return run


def _relation_with_int(
    relation: Callable[[Any, Any], Any], of_any_types: Callable[[Any, Any], Any], left: Run, last: Constant
) -> Run:
    number = last.value

    def run(frame: list[Any]) -> Any:
        value = left(frame)
        return relation(value, number) if value.__class__ is int else of_any_types(value, number)

    return run


def _generic(step: Invocation, arguments: Sequence[Run]) -> tuple[Run, int]:
    call, actual_cost = _chosen_call(step), step.actual_cost
    if actual_cost is None:
        if len(arguments) == 1:
            (only,) = arguments
            return lambda frame: call(only(frame)), 1
        if len(arguments) == 2:
            first, second = arguments
            return lambda frame: call(first(frame), second(frame)), 1
        return lambda frame: call(*[argument(frame) for argument in arguments]), 1
    counted = actual_cost

    def run(frame: list[Any]) -> Any:
        values = [argument(frame) for argument in arguments]
        result = call(*values)
        frame[0] += counted(values, result)
        return result

    return run, 0


def _chosen_call(step: Invocation) -> Callable[..., Any]:
    """The overload itself where types are proven."""
    if len(step.overloads) == 1:
        overload = step.overloads[0]
        if all(map(_is_proven, overload.parameters, step.arguments)):
            return overload.call
    return step.call


def _is_proven(parameter: types.Type, argument: Step) -> bool:
    return is_proven(parameter, argument.type)
