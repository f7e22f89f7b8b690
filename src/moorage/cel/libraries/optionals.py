"""Values that may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.evaluation.text import value_text
from moorage.cel.types import BOOL, DYN, INT, STRING, TypeParameter, list_of, map_of, optional_of
from moorage.cel.values import NO_VALUE, Duration, EvaluationError, Optional, Timestamp

_K, _V = TypeParameter("K"), TypeParameter("V")
_OPTIONAL, _LIST, _MAP = optional_of(_V), list_of(_V), map_of(_K, _V)
_ZERO_TIME = -62135596800 * 10**9


def is_zero(value: Any) -> bool:
    """Whether it is the value that nobody has to set."""
    if isinstance(value, (str, bytes, tuple, list, Mapping)):
        return not len(value)
    if isinstance(value, Timestamp):
        return value.nanos == _ZERO_TIME
    if isinstance(value, Duration):
        return not value.nanos
    return value is None or (isinstance(value, (bool, int, float)) and not value)


def _of_non_zero(value: Any) -> Optional:
    return NO_VALUE if is_zero(value) else Optional(value)


def _none() -> Optional:
    return NO_VALUE


def _value(optional: Optional) -> Any:
    if not optional.has_value:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _has_value(optional: Optional) -> bool:
    return optional.has_value


def _or(optional: Optional, other: Any) -> Any:
    """For the checker: evaluation does it itself, as it may leave out the other."""
    raise AssertionError


def _first(values: Sequence[Any]) -> Optional:
    return Optional(values[0]) if values else NO_VALUE


def _last(values: Sequence[Any]) -> Optional:
    return Optional(values[-1]) if values else NO_VALUE


def _unwrap(values: Sequence[Any]) -> Any:
    for value in values:
        if not isinstance(value, Optional):
            raise EvaluationError(f"value {value_text(value)} is not optional")
    return tuple([value.value for value in values if value.has_value])


def _function(name: str, *overloads: Overload) -> Function:
    return Function(name, overloads)


LIBRARY = Library(
    (
        _function("optional.of", Overload("optional_of", (_V,), _OPTIONAL, Optional, is_member=False)),
        _function(
            "optional.ofNonZeroValue",
            Overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero, is_member=False),
        ),
        _function("optional.none", Overload("optional_none", (), _OPTIONAL, _none, is_member=False)),
        _function("value", Overload("optional_value", (_OPTIONAL,), _V, _value)),
        _function("hasValue", Overload("optional_hasValue", (_OPTIONAL,), BOOL, _has_value)),
        _function("or", Overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _or)),
        _function("orValue", Overload("optional_orValue_value", (_OPTIONAL, _V), _V, _or)),
        _function("_?._", Overload("select_optional_field", (DYN, STRING), _OPTIONAL, _or, is_member=False)),
        _function(
            "_[?_]",
            Overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL, _or, is_member=False),
            Overload(
                "optional_list_optindex_optional_int",
                (optional_of(_LIST), INT),
                _OPTIONAL,
                _or,
                is_member=False,
            ),
            Overload("map_optindex_optional_value", (_MAP, _K), _OPTIONAL, _or, is_member=False),
            Overload(
                "optional_map_optindex_optional_value",
                (optional_of(_MAP), _K),
                _OPTIONAL,
                _or,
                is_member=False,
            ),
        ),
        _function(
            "_[_]",
            Overload("optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL, _or, is_member=False),
            Overload("optional_map_index_value", (optional_of(_MAP), _K), _OPTIONAL, _or, is_member=False),
        ),
        _function("last", Overload("list_last", (_LIST,), _OPTIONAL, _last)),
        _function("first", Overload("list_first", (_LIST,), _OPTIONAL, _first)),
        _function(
            "optional.unwrap",
            Overload("optional_unwrap", (list_of(_OPTIONAL),), _LIST, _unwrap, is_member=False),
        ),
        _function("unwrapOpt", Overload("optional_unwrapOpt", (list_of(_OPTIONAL),), _LIST, _unwrap)),
    )
)
