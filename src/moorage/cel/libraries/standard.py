"""What every expression can use: operators, sizes, searching in strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.cel import costs
from moorage.cel.costs import regex_cost, string_cost, wrapped_size
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload, Range
from moorage.cel.evaluation import operators, regular_expressions
from moorage.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    B,
    Type,
    list_of,
    map_of,
)
from moorage.cel.values import MISSING, EvaluationError, Map

LIST_OF_A, MAP_OF_A_B = list_of(A), map_of(A, B)

TYPES: dict[str, Type] = {
    type_.name: type_
    for type_ in (
        BOOL, BYTES, DOUBLE, DURATION, INT, LIST_OF_A, MAP_OF_A_B, NULL, STRING, TIMESTAMP, UINT,
        Type("type"), Type("optional_type", (DYN,)),
    )
}  # fmt: skip
"""Types that expressions can name."""


def _never(*arguments: Any) -> Any:
    raise operators.no_such_overload()


# What calls cost, of their values and of what is known before


def read_once(arguments: Sequence[Any], result: Any) -> int:
    return string_cost(wrapped_size(arguments[0]))


def _both_read(arguments: Sequence[Any], result: Any) -> int:
    return string_cost(wrapped_size(arguments[0]) + wrapped_size(arguments[1]))


def compared(arguments: Sequence[Any], result: Any) -> int:
    return string_cost(min(wrapped_size(arguments[0]), wrapped_size(arguments[1])))


def _list_searched(arguments: Sequence[Any], result: Any) -> int:
    return wrapped_size(arguments[1])


def _string_searched(arguments: Sequence[Any], result: Any) -> int:
    return string_cost(wrapped_size(arguments[0])) * string_cost(wrapped_size(arguments[1]))


def _matched(arguments: Sequence[Any], result: Any) -> int:
    return regex_cost(wrapped_size(arguments[0]), wrapped_size(arguments[1]))


def read(size: Range) -> Range:
    return costs.scale(size, costs.STRING_TRAVERSAL)


def _estimate_affix(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(read(arguments[1].size))


def _estimate_list_search(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(costs.scale(arguments[1].size, 1))


def _estimate_string_search(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(costs.multiply(read(arguments[0].size), read(arguments[1].size)))


def _estimate_match(arguments: Sequence[Argument]) -> CallEstimate:
    string = read(costs.add(arguments[0].size, costs.fixed(1)))
    return CallEstimate(costs.multiply(string, costs.scale(arguments[1].size, costs.REGEX_LENGTH)))


def estimate_comparison(arguments: Sequence[Argument]) -> CallEstimate:
    largest = min(arguments[0].size.max, arguments[1].size.max)
    return CallEstimate(read(Range(1 if largest else 0, largest)))


# Operators


def operator(name: str, call: Callable[..., Any], *overloads: tuple[str, tuple[Type, ...], Type]) -> Function:
    """Whatever the checker left open, the values decide."""
    return Function(
        name,
        tuple(
            Overload(name_of, parameters, result, call, is_member=False)
            for name_of, parameters, result in overloads
        ),
        is_guarded=False,
    )


def _arithmetic(name: str, verb: str, call: Callable[..., Any], kinds: Sequence[Type]) -> Function:
    return operator(name, call, *((f"{verb}_{_LONG[kind]}", (kind, kind), kind) for kind in kinds))


_LONG = {INT: "int64", UINT: "uint64", DOUBLE: "double", BOOL: "bool", STRING: "string", BYTES: "bytes"}
_NUMBERS = (INT, UINT, DOUBLE)


def _relation(name: str, verb: str, call: Callable[..., Any]) -> Function:
    overloads = [Overload(f"{verb}_bool", (BOOL, BOOL), BOOL, call, is_member=False)]
    for kind in _NUMBERS:
        for other in (kind, *(number for number in (INT, DOUBLE, UINT) if number != kind)):
            suffix = "" if other == kind else f"_{_LONG[other]}"
            overloads.append(
                Overload(f"{verb}_{_LONG[kind]}{suffix}", (kind, other), BOOL, call, is_member=False)
            )
    overloads += [
        Overload(
            f"{verb}_{kind.name}",
            (kind, kind),
            BOOL,
            call,
            is_member=False,
            actual_cost=compared,
            estimate=estimate_comparison,
        )
        for kind in (STRING, BYTES)
    ]
    overloads += [
        Overload(f"{verb}_{short}", (kind, kind), BOOL, call, is_member=False)
        for kind, short in ((TIMESTAMP, "timestamp"), (DURATION, "duration"))
    ]
    return Function(name, tuple(overloads), is_guarded=False)


_ADDITION = Function(
    "_+_",
    tuple(
        Overload(
            name, parameters, result, operators.add, is_member=False,
            actual_cost=_both_read if name in ("add_string", "add_bytes") else None,
        )
        for name, parameters, result in (
            ("add_bytes", (BYTES, BYTES), BYTES),
            ("add_double", (DOUBLE, DOUBLE), DOUBLE),
            ("add_duration_duration", (DURATION, DURATION), DURATION),
            ("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP),
            ("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
            ("add_int64", (INT, INT), INT),
            ("add_list", (LIST_OF_A, LIST_OF_A), LIST_OF_A),
            ("add_string", (STRING, STRING), STRING),
            ("add_uint64", (UINT, UINT), UINT),
        )
    ),
    is_guarded=False,
)  # fmt: skip

_MEMBERSHIP = Function(
    "@in",
    (
        Overload(
            "in_list", (A, LIST_OF_A), BOOL, operators.is_in,
            is_member=False, actual_cost=_list_searched, estimate=_estimate_list_search,
        ),
        Overload("in_map", (A, MAP_OF_A_B), BOOL, operators.is_in, is_member=False),
    ),
    is_guarded=False,
)  # fmt: skip

_OPERATORS = (
    operator("_?_:_", _never, ("conditional", (BOOL, A, A), A)),
    operator("_&&_", _never, ("logical_and", (BOOL, BOOL), BOOL)),
    operator("_||_", _never, ("logical_or", (BOOL, BOOL), BOOL)),
    operator("!_", operators.negation, ("logical_not", (BOOL,), BOOL)),
    operator("@not_strictly_false", _never, ("not_strictly_false", (BOOL,), BOOL)),
    operator("_==_", operators.equals, ("equals", (A, A), BOOL)),
    operator("_!=_", operators.equals, ("not_equals", (A, A), BOOL)),
    _ADDITION,
    _arithmetic("_/_", "divide", operators.divide, (DOUBLE, INT, UINT)),
    _arithmetic("_%_", "modulo", operators.modulo, (INT, UINT)),
    _arithmetic("_*_", "multiply", operators.multiply, (DOUBLE, INT, UINT)),
    operator("-_", operators.negate, ("negate_double", (DOUBLE,), DOUBLE), ("negate_int64", (INT,), INT)),
    operator(
        "_-_",
        operators.subtract,
        ("subtract_double", (DOUBLE, DOUBLE), DOUBLE),
        ("subtract_duration_duration", (DURATION, DURATION), DURATION),
        ("subtract_int64", (INT, INT), INT),
        ("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
        ("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION),
        ("subtract_uint64", (UINT, UINT), UINT),
    ),
    _relation("_<_", "less", operators.is_less),
    _relation("_<=_", "less_equals", operators.is_less_or_equal),
    _relation("_>_", "greater", operators.is_greater),
    _relation("_>=_", "greater_equals", operators.is_greater_or_equal),
    operator("_[_]", _never, ("index_list", (LIST_OF_A, INT), A), ("index_map", (MAP_OF_A_B, A), B)),
    _MEMBERSHIP,
)


# Strings, sizes, and what macros need


def _contains(text: Any, part: Any) -> bool:
    if text.__class__ is str and part.__class__ is str:
        return part in text
    raise operators.no_such_overload()


def _starts_with(text: Any, prefix: Any) -> bool:
    if text.__class__ is str and prefix.__class__ is str:
        return bool(text.startswith(prefix))
    raise operators.no_such_overload()


def _ends_with(text: Any, suffix: Any) -> bool:
    if text.__class__ is str and suffix.__class__ is str:
        return bool(text.endswith(suffix))
    raise operators.no_such_overload()


def _matches(text: Any, pattern: Any) -> bool:
    if text.__class__ is not str or pattern.__class__ is not str:
        raise operators.no_such_overload()
    try:
        return regular_expressions.matches(regular_expressions.compile(pattern), text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _sizes() -> Function:
    overloads = []
    for name, kind in (("bytes", BYTES), ("list", LIST_OF_A), ("map", MAP_OF_A_B), ("string", STRING)):
        overloads += [
            Overload(f"size_{name}", (kind,), INT, operators.size, is_member=False),
            Overload(f"{name}_size", (kind,), INT, operators.size),
        ]
    return Function("size", tuple(overloads), is_guarded=False)


def _inserted(target: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    grown = target if target.__class__ is Map else Map(target.items())
    for key, value in pairs:
        if grown.find(key) is not MISSING:
            raise EvaluationError(f"insert failed: key {key} already exists")
        grown.put(key, value)
    return grown


def _insert(target: Mapping[Any, Any], key: Any, value: Any) -> Any:
    return _inserted(target, [(key, value)])


def _insert_all(target: Mapping[Any, Any], entries: Mapping[Any, Any]) -> Any:
    return _inserted(target, list(entries.items()))


_STRINGS = (
    Function(
        "contains",
        (
            Overload(
                "contains_string", (STRING, STRING), BOOL, _contains,
                actual_cost=_string_searched, estimate=_estimate_string_search,
            ),
        ),
        is_guarded=False,
    ),
    Function(
        "endsWith",
        (
            Overload(
                "ends_with_string", (STRING, STRING), BOOL, _ends_with,
                actual_cost=read_once, estimate=_estimate_affix,
            ),
        ),
        is_guarded=False,
    ),
    Function(
        "startsWith",
        (
            Overload(
                "starts_with_string", (STRING, STRING), BOOL, _starts_with,
                actual_cost=read_once, estimate=_estimate_affix,
            ),
        ),
        is_guarded=False,
    ),
    Function(
        "matches",
        (
            Overload("matches", (STRING, STRING), BOOL, _matches, is_member=False),
            Overload(
                "matches_string", (STRING, STRING), BOOL, _matches,
                actual_cost=_matched, estimate=_estimate_match,
            ),
        ),
        is_guarded=False,
    ),
    _sizes(),
)  # fmt: skip

_INSERTION = Function(
    "cel.@mapInsert",
    (
        Overload("@mapInsert_map_key_value", (MAP_OF_A_B, A, B), MAP_OF_A_B, _insert, is_member=False),
        Overload("@mapInsert_map_map", (MAP_OF_A_B, MAP_OF_A_B), MAP_OF_A_B, _insert_all, is_member=False),
    ),
)

LIBRARY = Library((*_OPERATORS, *_STRINGS, _INSERTION))
