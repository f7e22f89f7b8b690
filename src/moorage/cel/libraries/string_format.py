"""`"...".format([...])`: values put into a text, each in the way a clause such as `%s` or `%.2f` says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.cel.declarations import Argument, Function, Overload
from moorage.cel.evaluation.operators import type_of_value
from moorage.cel.evaluation.text import double_text, duration_text, timestamp_text
from moorage.cel.libraries.call_costs import reading_cost, reading_estimate
from moorage.cel.libraries.quoting import printable
from moorage.cel.types import ANY, DURATION, DYN, STRING, TIMESTAMP, Type, list_of
from moorage.cel.values import MAX_INT, Duration, EvaluationError, Timestamp, Uint

_CLAUSE = re.compile(r"%(?:\.([0-9]*))?(.?)", re.DOTALL)
_DEFAULT_PRECISION = 6
_MOST_DECIMALS = 2**15 - 1
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NUMBER_NAMES = ("NaN", "Infinity", "-Infinity")

_REFUSALS = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
        "durations, and timestamps"
    ),
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_SHOWN = {ANY: "google.protobuf.Any"}
_INTEGERS = frozenset({"int", "uint"})
_DOUBLES = frozenset({"double", "string"})
_HEXADECIMALS = frozenset({"int", "uint", "string", "bytes"})
_SIMPLE = frozenset({"int", "uint", "double", "bool", "string", "bytes", "null_type", "type"})
_ACCEPTED = {
    "s": _SIMPLE | {"list", "map", TIMESTAMP.name, DURATION.name},
    "d": _INTEGERS,
    "f": _DOUBLES,
    "e": _DOUBLES,
    "b": _INTEGERS | {"bool"},
    "x": _HEXADECIMALS,
    "X": _HEXADECIMALS,
    "o": _INTEGERS,
}
"""The names of the types each clause takes."""


class _Clause(NamedTuple):
    verb: str
    precision: int


def format_text(template: str, values: Sequence[Any]) -> str:
    parts = []
    used = 0
    for piece in _pieces(template):
        if isinstance(piece, _Clause):
            if used >= len(values):
                raise EvaluationError(f"index {used} out of range")
            parts.append(_formatted(piece, values[used]))
            used += 1
        else:
            parts.append(piece)
    return "".join(parts)


def check_call(arguments: Sequence[Argument]) -> str | None:
    """Where template and values are written out, they have to fit each other already when it is compiled."""
    template, values = arguments[0].value, arguments[1].entries
    if not isinstance(template, str) or values is None:
        return None
    used = 0
    try:
        for piece in _pieces(template):
            if not isinstance(piece, _Clause):
                continue
            if used >= len(values):
                return f"index {used} out of range"
            refused = _refused(piece.verb, values[used])
            if refused is not None:
                given = _SHOWN.get(refused, refused.name)
                return f"error during formatting: {_REFUSALS[piece.verb]}, was given {given}"
            used += 1
    except EvaluationError as error:
        return str(error)
    if used < len(values):
        return f"too many arguments supplied to string.format (expected {used}, got {len(values)})"
    return None


def _refused(verb: str, argument: Argument) -> Type | None:
    """The type for which the clause is not made: the argument's, or that of something in it."""
    if argument.type != DYN and argument.type.name not in _ACCEPTED[verb]:
        return argument.type
    if verb == "s":
        for entry in argument.entries or ():
            refused = _refused(verb, entry)
            if refused is not None:
                return refused
    return None


def _pieces(template: str) -> Iterator[str | _Clause]:
    position = 0
    while (percent := template.find("%", position)) >= 0:
        yield template[position:percent]
        if template.startswith("%%", percent):
            yield "%"
            position = percent + 2
            continue
        clause = _CLAUSE.match(template, percent)
        assert clause is not None
        yield _clause(*clause.groups())
        position = clause.end()
    yield template[position:]


def _clause(precision: str | None, verb: str) -> _Clause:
    if not verb:
        if precision is None:
            raise EvaluationError("unexpected end of string")
        raise _malformed("error while parsing precision: could not find end of precision specifier")
    if precision is not None and (not precision or int(precision) > MAX_INT):
        raise _malformed("error while parsing precision: error while converting precision to integer")
    if verb not in _ACCEPTED:
        raise _malformed(f'unrecognized formatting clause "{verb}"')
    return _Clause(verb, _DEFAULT_PRECISION if precision is None else int(precision))


def _malformed(reason: str) -> EvaluationError:
    return EvaluationError(f"could not parse formatting clause: {reason}")


def _formatted(clause: _Clause, value: Any) -> str:
    verb = clause.verb
    type_name = type_of_value(value).name
    if type_name not in _ACCEPTED[verb] or (verb in "fe" and _is_other_text(value)):
        raise EvaluationError(f"error during formatting: {_REFUSALS[verb]}, was given {type_name}")
    match verb:
        case "s":
            return _shown(value)
        case "d":
            return str(int(value))
        case "f":
            return _fixed(float(value), clause.precision)
        case "e":
            return _scientific(float(value), clause.precision)
        case "x" | "X" if isinstance(value, str | bytes):
            digits = (value.encode(errors="surrogateescape") if isinstance(value, str) else value).hex()
            return digits.upper() if verb == "X" else digits
        case _:
            return format(int(value), verb)


def _is_other_text(value: Any) -> bool:
    return isinstance(value, str) and value not in _NUMBER_NAMES


def _fixed(number: float, decimals: int) -> str:
    """With commas between thousands."""
    if decimals > _MOST_DECIMALS:
        raise EvaluationError(f"error during formatting: {decimals} decimals are too many")
    return _unordinary(number) or f"{'-' if number < 0 else ''}{abs(number):,.{decimals}f}"


def _scientific(number: float, width: int) -> str:
    """Always six decimals: what looks like their number is the width of the text."""
    text = _unordinary(number)
    if text is None:
        mantissa, exponent = f"{abs(number):.6e}".split("e")
        power = f"{int(exponent):03d}" if exponent.startswith("-") else f"{int(exponent):02d}"
        text = f"{'-' if number < 0 else ''}{mantissa}×10{power.translate(_SUPERSCRIPTS)}"
    return text.rjust(min(width, _MOST_DECIMALS))


def _unordinary(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | Uint():
            return str(int(value))
        case float():
            return double_text(value)
        case bytes():
            return _decoded(value)
        case Timestamp():
            return timestamp_text(value)
        case Duration():
            return duration_text(value)
        case tuple() | list():
            return f"[{', '.join(map(_shown_inside, value))}]"
        case Mapping():
            entries = sorted((_shown_key(key), _shown_inside(entry)) for key, entry in value.items())
            return f"{{{', '.join(f'{key}:{entry}' for key, entry in entries)}}}"
        case _:
            return str(value.name)


def _shown_inside(value: Any) -> str:
    """Inside a list or a map values look as they are written in expressions."""
    match value:
        case str():
            return printable(value)
        case bytes():
            return "b" + printable(_decoded(value))
        case float():
            return _shown_double(value)
        case Timestamp():
            return f"timestamp({printable(timestamp_text(value))})"
        case Duration():
            return f"duration({printable(duration_text(value))})"
    type_name = type_of_value(value).name
    if type_name not in _ACCEPTED["s"]:
        raise EvaluationError(f"error during formatting: no formatting function for {type_name}")
    return _shown(value)


def _shown_key(key: Any) -> str:
    if not isinstance(key, str | int):
        type_name = type_of_value(key).name
        raise EvaluationError(
            f"error during formatting: no formatting function for map key of type {type_name}"
        )
    return _shown_inside(key)


def _shown_double(number: float) -> str:
    if math.isfinite(number):
        return f"{number:.6f}"
    return printable(double_text(number))


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("error during formatting: could not convert argument to string") from None


FORMAT = Function(
    "format",
    (
        Overload(
            "string_format",
            (STRING, list_of(DYN)),
            STRING,
            format_text,
            actual_cost=reading_cost,
            estimate=reading_estimate,
            check=check_call,
        ),
    ),
    allows_mixed_literals=True,
)
