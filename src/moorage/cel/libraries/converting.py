"""From one type to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload, Range
from moorage.cel.evaluation import conversions, operators
from moorage.cel.libraries.standard import operator, read, read_once
from moorage.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    type_of,
)
from moorage.cel.values import MAX_UINT


def _estimate_from_bytes(arguments: Sequence[Argument]) -> CallEstimate:
    size = arguments[0].size
    return CallEstimate(read(size), Range(size.min // 4, size.max))


def _estimate_to_bytes(arguments: Sequence[Argument]) -> CallEstimate:
    size = arguments[0].size
    return CallEstimate(read(size), Range(size.min, size.max * 4 & MAX_UINT))


def _same(value: Any) -> Any:
    return value


def _conversion(name: str, result: Type, *overloads: tuple[str, Type, Callable[[Any], Any]]) -> Function:
    declared = []
    for overload, parameter, call in overloads:
        actual = read_once if overload in ("string_to_bytes", "bytes_to_string") else None
        estimate = {"string_to_bytes": _estimate_to_bytes, "bytes_to_string": _estimate_from_bytes}.get(
            overload
        )
        declared.append(Overload(overload, (parameter,), result, call, False, actual, estimate))
    return Function(name, tuple(declared))


LIBRARY = Library(
    (
        operator("type", operators.type_of_value, ("type", (A,), type_of(A))),
        operator("dyn", _same, ("to_dyn", (A,), DYN)),
        _conversion(
            "bool",
            BOOL,
            ("bool_to_bool", BOOL, _same),
            ("string_to_bool", STRING, conversions.bool_of_string),
        ),
        _conversion(
            "bytes",
            BYTES,
            ("bytes_to_bytes", BYTES, _same),
            ("string_to_bytes", STRING, conversions.bytes_of_string),
        ),
        _conversion(
            "double",
            DOUBLE,
            ("double_to_double", DOUBLE, _same),
            ("int64_to_double", INT, conversions.double_of_number),
            ("string_to_double", STRING, conversions.double_of_string),
            ("uint64_to_double", UINT, conversions.double_of_number),
        ),
        _conversion(
            "duration",
            DURATION,
            ("duration_to_duration", DURATION, _same),
            ("int64_to_duration", INT, conversions.duration_of_int),
            ("string_to_duration", STRING, conversions.duration_of_string),
        ),
        _conversion(
            "int",
            INT,
            ("int64_to_int64", INT, _same),
            ("double_to_int64", DOUBLE, conversions.int_of_double),
            ("duration_to_int64", DURATION, conversions.int_of_duration),
            ("string_to_int64", STRING, conversions.int_of_string),
            ("timestamp_to_int64", TIMESTAMP, conversions.int_of_timestamp),
            ("uint64_to_int64", UINT, conversions.int_of_uint),
        ),
        _conversion(
            "string",
            STRING,
            ("string_to_string", STRING, _same),
            ("bool_to_string", BOOL, conversions.string_of),
            ("bytes_to_string", BYTES, conversions.string_of_bytes),
            ("double_to_string", DOUBLE, conversions.string_of),
            ("duration_to_string", DURATION, conversions.string_of),
            ("int64_to_string", INT, conversions.string_of),
            ("timestamp_to_string", TIMESTAMP, conversions.string_of),
            ("uint64_to_string", UINT, conversions.string_of),
        ),
        _conversion(
            "timestamp",
            TIMESTAMP,
            ("timestamp_to_timestamp", TIMESTAMP, _same),
            ("int64_to_timestamp", INT, conversions.timestamp_of_int),
            ("string_to_timestamp", STRING, conversions.timestamp_of_string),
        ),
        _conversion(
            "uint",
            UINT,
            ("uint64_to_uint64", UINT, _same),
            ("double_to_uint64", DOUBLE, conversions.uint_of_double),
            ("int64_to_uint64", INT, conversions.uint_of_int),
            ("string_to_uint64", STRING, conversions.uint_of_string),
        ),
    )
)
