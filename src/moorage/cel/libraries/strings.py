"""Functions of strings: parts of them, and strings made from others. Positions count code points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.costs import STRING_TRAVERSAL, actual_size, add, multiply, scale
from moorage.cel.declarations import UNKNOWN, Argument, CallEstimate, Function, Library, Overload, Range
from moorage.cel.libraries.call_costs import (
    copying_estimate,
    reading_cost,
    searching_cost,
    searching_estimate,
)
from moorage.cel.libraries.quoting import quoted
from moorage.cel.libraries.string_format import FORMAT
from moorage.cel.types import INT, STRING, Type, list_of
from moorage.cel.values import EvaluationError

_MOST = UNKNOWN.max
_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_TO_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def char_at(text: str, index: int) -> str:
    _check_index(text, index)
    return text[index : index + 1]


def index_of(text: str, wanted: str, start: int = 0) -> int:
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(wanted, start)


def last_index_of(text: str, wanted: str) -> int:
    return text.rfind(wanted)


def last_index_of_from(text: str, wanted: str, start: int) -> int:
    """Of matches that begin at `start` or before; none if `start` is beyond the text."""
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.rfind(wanted, 0, start + len(wanted)) if start < len(text) else -1


def lower_ascii(text: str) -> str:
    return text.translate(_TO_LOWER)


def upper_ascii(text: str) -> str:
    return text.translate(_TO_UPPER)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> tuple[str, ...]:
    """At most `limit` parts, the last of which is the rest; without a separator, the characters."""
    if limit == 0:
        return ()
    if separator:
        return tuple(text.split(separator, limit - 1 if limit > 0 else -1))
    if limit < 0 or limit >= len(text):
        return tuple(text)
    return (*text[: limit - 1], text[limit - 1 :])


def substring(text: str, start: int) -> str:
    _check_index(text, start)
    return text[start:]


def substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(text, start)
    _check_index(text, end)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(_SPACES)


def join(parts: Sequence[Any], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise EvaluationError(f"join: invalid input: {part}")
    return separator.join(parts)


def _check_index(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _two_traversals(arguments: Sequence[Any], result: Any) -> int:
    """The traversal, and the making of the result."""
    return math.ceil(actual_size(arguments[0]) * 2 * STRING_TRAVERSAL)


def _join_cost(arguments: Sequence[Any], result: Any) -> int:
    return math.ceil(actual_size(result) * 2 * STRING_TRAVERSAL)


def _replace_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    """The longest result: short parts replaced by long ones; the shortest: the other way round."""
    text, old, new = arguments[0].size, arguments[1].size, arguments[2].size
    most = text.max if old.min > 0 and new.max <= old.min else _replaced(text.max, old.min, new.max)
    least = text.min if 0 < old.max <= new.min else _replaced(text.min, old.max, new.min)
    return CallEstimate(scale(text, 2 * STRING_TRAVERSAL), Range(min(least, _MOST), min(most, _MOST)))


def _replaced(text: int, old: int, new: int) -> int:
    """The length when all of a text is replaced, as often as it goes."""
    if old == 0:
        return min(text + 1, _MOST) * new + text
    return math.ceil(text / float(old)) * new


def _split_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    size = arguments[0].size
    most = size.max
    if len(arguments) > 2 and type(arguments[2].value) is int:
        most = arguments[2].value % 2**64
    return CallEstimate(scale(size, 2 * STRING_TRAVERSAL), Range(0, most))


def _join_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    entries = arguments[0].size
    size = multiply(entries, arguments[0].element_size) if arguments[0].type.parameters else Range(0, 0)
    if len(arguments) > 1:
        separators = Range(max(entries.min - 1, 0), max(entries.max - 1, 0))
        size = add(size, multiply(arguments[1].size, separators))
    return CallEstimate(scale(size, STRING_TRAVERSAL), size)


def _quote_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    """Two characters for each, and two quotes, in 64-bit arithmetic."""
    size = arguments[0].size
    return CallEstimate(scale(size, STRING_TRAVERSAL), Range(size.min + 2, (size.max * 2 + 2) % 2**64))


def _looking(id: str, parameters: tuple[Type, ...], call: Callable[..., int]) -> Overload:
    return Overload(id, parameters, INT, call, actual_cost=searching_cost, estimate=searching_estimate)


def _copying(id: str, parameters: tuple[Type, ...], call: Callable[..., str]) -> Overload:
    return Overload(id, parameters, STRING, call, actual_cost=reading_cost, estimate=copying_estimate)


def _replacing(id: str, parameters: tuple[Type, ...]) -> Overload:
    return Overload(id, parameters, STRING, replace, actual_cost=_two_traversals, estimate=_replace_estimate)


def _splitting(id: str, parameters: tuple[Type, ...]) -> Overload:
    return Overload(id, parameters, _STRINGS, split, actual_cost=_two_traversals, estimate=_split_estimate)


def _joining(id: str, parameters: tuple[Type, ...]) -> Overload:
    return Overload(id, parameters, STRING, join, actual_cost=_join_cost, estimate=_join_estimate)


_STRINGS = list_of(STRING)
_INDEX_OF = (
    _looking("string_index_of_string", (STRING, STRING), index_of),
    _looking("string_index_of_string_int", (STRING, STRING, INT), index_of),
)
_LAST_INDEX_OF = (
    _looking("string_last_index_of_string", (STRING, STRING), last_index_of),
    _looking("string_last_index_of_string_int", (STRING, STRING, INT), last_index_of_from),
)
_REPLACE = (
    _replacing("string_replace_string_string", (STRING, STRING, STRING)),
    _replacing("string_replace_string_string_int", (STRING, STRING, STRING, INT)),
)
_SPLIT = (
    _splitting("string_split_string", (STRING, STRING)),
    _splitting("string_split_string_int", (STRING, STRING, INT)),
)
_SUBSTRING = (
    _copying("string_substring_int", (STRING, INT), substring),
    _copying("string_substring_int_int", (STRING, INT, INT), substring_range),
)
_JOIN = (_joining("list_join", (_STRINGS,)), _joining("list_join_string", (_STRINGS, STRING)))
_QUOTE = Overload(
    "strings_quote",
    (STRING,),
    STRING,
    quoted,
    is_member=False,
    actual_cost=reading_cost,
    estimate=_quote_estimate,
)

LIBRARY = Library(
    (
        Function("charAt", (Overload("string_char_at_int", (STRING, INT), STRING, char_at),)),
        Function("indexOf", _INDEX_OF, unresolved_cost=searching_cost),
        Function("lastIndexOf", _LAST_INDEX_OF, unresolved_cost=searching_cost),
        Function("lowerAscii", (_copying("string_lower_ascii", (STRING,), lower_ascii),)),
        Function("replace", _REPLACE),
        Function("split", _SPLIT),
        Function("substring", _SUBSTRING),
        Function("trim", (_copying("string_trim", (STRING,), trim),)),
        Function("upperAscii", (_copying("string_upper_ascii", (STRING,), upper_ascii),)),
        FORMAT,
        Function("strings.quote", (_QUOTE,)),
        Function("join", _JOIN),
    )
)
