"""Calls of overloads by their names, without an expression."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cel.costs import actual_size, fixed
from moorage.cel.declarations import Argument, CallEstimate, Function, Overload
from moorage.cel.evaluation.operators import type_of_value
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.types import list_of
from moorage.cel.values import EvaluationError, Failure

OVERLOADS = {
    overload.id: (function, overload)
    for library in KUBERNETES
    for function in library.functions
    for overload in function.overloads
}


def overload_of(id: str) -> Overload:
    return OVERLOADS[id][1]


def function_of(id: str) -> Function:
    return OVERLOADS[id][0]


def call(id: str, *arguments: Any) -> Any:
    return overload_of(id).call(*arguments)


def fails(id: str, *arguments: Any) -> str:
    """The text of the error a call ends with."""
    with pytest.raises(EvaluationError) as caught:
        call(id, *arguments)
    return str(caught.value)


def cost(id: str, *arguments: Any) -> int:
    """What a call costs at run time, also if it fails."""
    overload = overload_of(id)
    try:
        result = overload.call(*arguments)
    except EvaluationError as error:
        result = Failure(str(error))
    return overload.actual_cost(arguments, result) if overload.actual_cost else 1


def known(value: Any) -> Argument:
    """What is known before evaluation of an argument that is written out."""
    if isinstance(value, list | tuple):
        entries = tuple(map(known, value))
        element = entries[0].type if entries else type_of_value(value).parameters[0]
        return Argument(list_of(element), fixed(len(value)), entries=entries)
    return Argument(type_of_value(value), fixed(actual_size(value)), value)


def estimate(id: str, *arguments: Argument) -> CallEstimate:
    overload = overload_of(id)
    found = overload.estimate(arguments) if overload.estimate else None
    return found or CallEstimate(fixed(1))


def check(id: str, *arguments: Argument) -> str | None:
    overload = overload_of(id)
    assert overload.check is not None
    return overload.check(arguments)
