"""Choosing overloads by the types of values, where the checker could not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel import types
from moorage.cel.declarations import Function, Overload
from moorage.cel.evaluation.operators import type_of_value
from moorage.cel.types import Type, TypeParameter
from moorage.cel.values import (
    AccumulatedList,
    DeclaredList,
    DeclaredMap,
    Duration,
    EvaluationError,
    Timestamp,
    Uint,
)


def accepts(parameter: Type, value: Any) -> bool:
    """Whether a value is of a type, as far as a look at the first elements tells."""
    if isinstance(parameter, TypeParameter) or parameter in (types.DYN, types.ANY):
        return True
    if type_of_value(value).name != parameter.name:
        return False
    if parameter.name == "list":
        return not len(value) or accepts(parameter.parameters[0], value[0])
    if parameter.name == "map":
        for key, entry in value.items():
            return accepts(parameter.parameters[0], key) and accepts(parameter.parameters[1], entry)
    return True


def is_proven(parameter: Type, argument: Type) -> bool:
    """Whether every value of the argument's type is one of the parameter's."""
    if isinstance(parameter, TypeParameter) or parameter in (types.DYN, types.ANY):
        return True
    if parameter.name != argument.name:
        return False
    for one, other in zip(parameter.parameters, argument.parameters, strict=False):
        if not is_proven(one, other):
            return False
    return True


def _is_simple(parameter: Type) -> bool:
    """Whether the class of a value tells if it is of the type."""
    return parameter.name not in ("list", "map") or isinstance(parameter, TypeParameter)


def dispatcher(function: Function, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """Calls the first overload that takes the values."""
    by_class = all(_is_simple(parameter) for overload in overloads for parameter in overload.parameters)
    chosen: dict[tuple[type, ...], Callable[..., Any]] = {}

    def call(*values: Any) -> Any:
        classes = tuple([value.__class__ for value in values])
        if classes in chosen:
            return chosen[classes](*values)
        for overload in overloads:
            for parameter, value in zip(overload.parameters, values, strict=True):
                if not accepts(parameter, value):
                    break
            else:
                if by_class:
                    chosen[classes] = overload.call
                return overload.call(*values)
        shown = ", ".join([type_of_value(value).name for value in values])
        raise EvaluationError(f"no such overload: {function.name}({shown})")

    return call


_ORDERED = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})
_ADDED = frozenset({int, Uint, float, str, bytes, tuple, list, AccumulatedList, Timestamp, Duration})
_MULTIPLIED = frozenset({int, Uint, float, str, Timestamp, Duration})
_TAKING: dict[str, frozenset[type]] = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    "_+_": _ADDED,
    **dict.fromkeys(("_-_", "_*_", "_/_"), _MULTIPLIED),
    "_%_": frozenset({int, Uint, str, Timestamp, Duration}),
    "-_": frozenset({bool, int, float, str, Timestamp, Duration}),
    "size": frozenset({str, bytes, tuple, list, dict, Timestamp, Duration}),
    "matches": frozenset({str, Timestamp, Duration}),
}
"""First operands that refuse the others themselves."""


def overload_text(function: str, first: Any) -> str:
    """What users are told when a function does not take its arguments."""
    kind = first.__class__
    if isinstance(first, DeclaredList):
        kind = tuple
    elif isinstance(first, DeclaredMap):
        kind = dict
    if kind in _TAKING.get(function, (kind,)):
        return "no such overload"
    return f"no such overload: {function}"
