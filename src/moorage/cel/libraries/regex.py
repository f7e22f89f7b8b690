"""`find` and `findAll`: what of a string matches a regular expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from moorage.cel.costs import REGEX_LENGTH, STRING_TRAVERSAL, actual_size, add, multiply, regex_cost, scale
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload, Range
from moorage.cel.evaluation import regular_expressions
from moorage.cel.libraries.call_costs import ONE
from moorage.cel.types import INT, STRING, Type, list_of
from moorage.cel.values import EvaluationError


def find(text: str, pattern: str) -> str:
    """The first match; an empty string if there is none."""
    return next(iter(find_all(text, pattern, 1)), "")


def find_all(text: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    try:
        expression = regular_expressions.compile(pattern)
    except ValueError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None
    encoded = text.encode(errors="surrogateescape")
    found = _spans(expression, encoded)
    return tuple(
        encoded[start:end].decode(errors="surrogateescape")
        for start, end in (found if limit < 0 else islice(found, limit))
    )


def _spans(expression: Any, text: bytes) -> Iterator[tuple[int, int]]:
    """One match after the other, in bytes, for which the library need not count code points.

    None is empty right after the one before.
    """
    position, previous_end = 0, -1
    while position <= len(text):
        match = expression.search(text, position)
        if match is None:
            return
        start, end = match.span()
        if _is_inside_character(text, start):
            # an empty match, such as that of \B; there is none for those who see characters
            position = _next_character(text, start)
            continue
        if end > position or start != previous_end:
            yield start, end
        previous_end = end
        position = end if end > position else _next_character(text, position)


def _next_character(text: bytes, position: int) -> int:
    position += 1
    while _is_inside_character(text, position):
        position += 1
    return position


def _is_inside_character(text: bytes, position: int) -> bool:
    return position < len(text) and text[position] & 0xC0 == 0x80


def _cost(arguments: Sequence[Any], result: Any) -> int:
    return regex_cost(actual_size(arguments[0]), actual_size(arguments[1]))


def _estimate(arguments: Sequence[Argument]) -> CallEstimate:
    text, pattern = arguments[0].size, arguments[1].size
    cost = multiply(scale(add(text, ONE), STRING_TRAVERSAL), scale(pattern, REGEX_LENGTH))
    return CallEstimate(cost, Range(0, text.max))


def _overload(id: str, parameters: tuple[Type, ...], result: Type, call: Any) -> Overload:
    return Overload(id, parameters, result, call, actual_cost=_cost, estimate=_estimate)


_STRINGS = list_of(STRING)
_FIND_ALL = (
    _overload("string_find_all_string", (STRING, STRING), _STRINGS, find_all),
    _overload("string_find_all_string_int", (STRING, STRING, INT), _STRINGS, find_all),
)

LIBRARY = Library(
    (
        Function("find", (_overload("string_find_string", (STRING, STRING), STRING, find),)),
        Function("findAll", _FIND_ALL),
    )
)
