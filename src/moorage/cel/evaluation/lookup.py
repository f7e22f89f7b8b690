"""Selecting from values, and taking them out of optional ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.cel.evaluation.operators import find, list_index
from moorage.cel.evaluation.text import original_name, value_text
from moorage.cel.types import Type
from moorage.cel.values import (
    MISSING,
    DeclaredList,
    DeclaredMap,
    EvaluationError,
    Failure,
    Optional,
    Uint,
)

ABSENT: Any = type("Absent", (), {})()
"""Nothing is there, and that is no failure."""
_KEYS = frozenset({str, int, Uint, bool, float})


def look_up(value: Any, key: Any, if_present: bool) -> Any:
    """An entry or an element; a Failure, or ABSENT, where there is none."""
    if isinstance(value, Failure):
        return value
    if key.__class__ not in _KEYS:
        return Failure(f"invalid qualifier type: {original_name(key)}")
    if isinstance(value, Mapping):
        found = find(value, key)
        if found is not MISSING:
            return found
    elif isinstance(value, (tuple, list)):
        try:
            index = list_index(key)
        except EvaluationError as error:
            return Failure(str(error))
        if 0 <= index < len(value):
            return value[index]
        return ABSENT if if_present else Failure(f"index out of bounds: {value_text(key)}")
    return ABSENT if if_present else Failure(f"no such key: {value_text(key)}")


_OPAQUE_THAT_SURVIVE = "kubernetes.NamedFormat"


def unwrapped(optional: Optional) -> Any:
    """What is in an optional value that is read through a variable or a condition.

    The original takes it out as a value of its own language, which loses something: opaque values become
    unusable, an optional value within it is taken out too, types become their names, maps that have a default
    lose it, and what has a schema loses that.
    """
    value: Any = optional
    while isinstance(value, Optional):
        value = value.value if value.has_value else None
    if isinstance(value, (DeclaredList, DeclaredMap)):
        return value.raw
    if isinstance(value, Type):
        return value.name
    if hasattr(value, "CEL_TYPE") and value.CEL_TYPE.name != _OPAQUE_THAT_SURVIVE:
        return Failure(f"unsupported conversion to ref.Val: {value}")
    return dict(value) if hasattr(value, "__missing__") else value
