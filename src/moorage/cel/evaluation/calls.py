"""Calls as functions of a frame, the faster the more is known of their arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from moorage.cel import types
from moorage.cel.costs import string_cost
from moorage.cel.evaluation import operators
from moorage.cel.evaluation.equality import equality_cost
from moorage.cel.evaluation.operators import equals
from moorage.cel.evaluation.overloads import is_proven
from moorage.cel.evaluation.steps import Equality, Invocation
from moorage.cel.values import MAX_INT, MIN_INT, EvaluationError, Fault

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Any]
VARIES: Final[Any] = object()


class Code(NamedTuple):
    """What a step becomes."""

    run: Run
    cost: int
    """Of every run; what depends on values is added to the frame."""
    value: Any = VARIES
    """Of every run, if it is always the same."""


def constant(value: Any, cost: int) -> Code:
    return Code(lambda frame: value, cost, value)


# Equality

_SCALARS = frozenset({types.BOOL, types.INT, types.UINT, types.DOUBLE, types.TIMESTAMP, types.DURATION})


def equality(step: Equality, left: Code, right: Code) -> Code:
    negated = step.negated
    first, second = left.run, right.run
    cost = left.cost + right.cost
    if step.left.type == step.right.type and step.left.type in _SCALARS:
        if negated:
            return Code(lambda frame: first(frame) != second(frame), cost + 1)
        return Code(lambda frame: first(frame) == second(frame), cost + 1)
    for this, other, is_left in ((right.value, first, False), (left.value, second, True)):
        if this.__class__ is str and this:
            return Code(_equality_with_string(other, this, negated, is_left), cost + 1)
        if this.__class__ in (int, bool):
            return Code(_equality_with_scalar(other, this, negated, is_left), cost + 1)

    def run(frame: Frame) -> Any:
        one, other = first(frame), second(frame)
        frame[0] += equality_cost(one, other, negated=negated)
        return _compared(one, other, negated)

    return Code(run, cost)


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

    def run(frame: Frame) -> Any:
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

    def run(frame: Frame) -> Any:
        value = other(frame)
        if value.__class__ is kind:
            return (value == scalar) is not negated
        left, right = (scalar, value) if is_left else (value, scalar)
        frame[0] += equality_cost(left, right, negated=negated) - 1
        return _compared(left, right, negated)

    return run


# Functions

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


def invocation(step: Invocation, arguments: Sequence[Code]) -> Code:
    cost = sum([argument.cost for argument in arguments])
    runs = [argument.run for argument in arguments]
    if step.actual_cost is None and len(arguments) == 2:
        fast = _operator(step, runs[0], runs[1], arguments[1].value)
        if fast is not None:
            return Code(fast, cost + 1)
    run, own_cost = _generic(step, runs)
    is_constant = all(argument.value is not VARIES for argument in arguments)
    if is_constant and step.type.name not in ("list", "map", "dyn"):
        frame = [0]
        try:
            return constant(run(frame), cost + own_cost + frame[0])
        except Exception:  # it will go wrong again when it is due
            return Code(run, cost + own_cost)
    return Code(run, cost + own_cost)


def _operator(step: Invocation, left: Run, right: Run, last: Any) -> Run | None:
    """Of whole numbers, where they are known to be such; relations also where that turns out."""
    name = step.function
    first, second = (argument.type for argument in step.arguments)
    if name in _INT_ARITHMETIC and first == second == types.INT:
        return _int_arithmetic(_INT_ARITHMETIC[name], left, right)
    if name in _RELATIONS:
        relation = _RELATIONS[name]
        if first == second and first in (types.INT, types.UINT):
            return lambda frame: relation(left(frame), right(frame))
        if last.__class__ is int:
            return _relation_with_int(relation, operators.BINARY[name], left, last)
    return None


def _int_arithmetic(compute: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Any:
        number = compute(left(frame), right(frame))
        if MIN_INT <= number <= MAX_INT:
            return number
        raise EvaluationError("integer overflow")

    return run


def _relation_with_int(
    relation: Callable[[Any, Any], Any], of_any_types: Callable[[Any, Any], Any], left: Run, number: int
) -> Run:
    def run(frame: Frame) -> Any:
        value = left(frame)
        return relation(value, number) if value.__class__ is int else of_any_types(value, number)

    return run


def _generic(step: Invocation, arguments: Sequence[Run]) -> tuple[Run, int]:
    """With what the call always costs."""
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

    def run(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        result = call(*values)
        frame[0] += counted(values, result)
        return result

    return run, 0


def _chosen_call(step: Invocation) -> Callable[..., Any]:
    """The overload itself where types are proven."""
    if len(step.overloads) > 1:
        return step.call
    (overload,) = step.overloads
    arguments = [argument.type for argument in step.arguments]
    return overload.call if all(map(is_proven, overload.parameters, arguments)) else step.call
