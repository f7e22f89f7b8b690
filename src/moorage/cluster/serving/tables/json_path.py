r"""The paths that point into objects from the printer columns of custom resources.

Fields `.spec.size`, with the dots of a name escaped `.metadata.labels.example\.com/tier`; fields in brackets
`['size']`; items `[0]`, `[-1]`, `[1:3]`, `[*]`; several of them `[0,2]`; what fulfils a condition
`[?(@.type=="Ready")]`; everything below `..name`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from moorage.api.selectors import parse_int64

Step = Callable[[list[Any]], list[Any]]
"""Goes from some values to those one step further."""


class PathError(ValueError):
    """A text that is not a path, or a path that leads nowhere in a document."""


class JSONPath:
    """A path that has been read. Raises PathError for a text that is none."""

    def __init__(self, text: str) -> None:
        self._steps = _read(text)

    def find(self, document: Any) -> list[Any]:
        """What the path leads to; nothing if the document is not shaped for it."""
        try:
            return _walk(self._steps, [document])
        except PathError:
            return []


_MOST_VALUES = 10_000


def _walk(steps: list[Step], values: list[Any]) -> list[Any]:
    for step in steps:
        values = step(values)
        if len(values) > _MOST_VALUES:
            raise PathError("it leads to too much")
    return values


_SEPARATORS = r" \t\r\n.,\[\]$@{}"
_FIELD = rf"((?:\\.?|[^\\{_SEPARATORS}])*)"
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _read(text: str) -> list[Step]:
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found, at = _step(text, at)
        if found[:1] == steps[-1:] == [_descend]:
            raise PathError(f"twice everything below: {text}")
        steps += found
    return steps


def _step(text: str, at: int) -> tuple[list[Step], int]:
    """What stands at a place in the text, and where it ends."""
    if text.startswith("[?(", at):
        start = at + len("[?(")
        end = _end_of_condition(text, start)
        return [_filter(text[start:end])], end + len(")]")
    for pattern, make in _STEPS:
        if found := pattern.match(text, at):
            return make(found), found.end()
    raise PathError(f"not a path: {text}")


def _end_of_condition(text: str, start: int) -> int:
    """Where the `)]` of a condition is; of what is quoted, only the first may have a `)` in it."""
    quote = ""
    closed = False
    for end in range(start, len(text)):
        character = text[end]
        if character in "\"'":
            if not quote:
                quote = character
            elif character == quote and text[end - 1] != "\\":
                closed = True
        elif character == ")" and closed == bool(quote):
            if text.startswith("]", end + 1):
                return end
            break
    raise PathError(f"a condition without an end: {text}")


def _named(name: str) -> Step:
    if name == "*":
        return _all_items
    key = name.replace("\\", "")
    return lambda values: [value[key] for value in values if isinstance(value, dict) and key in value]


def _brackets(inside: str) -> list[Step]:
    parts = inside.split(",")
    if len(parts) > 1:
        branches = [_brackets(part.strip(" ")) for part in parts]
        return [lambda values: [found for branch in branches for found in _walk(branch, values)]]
    if key := _KEY.fullmatch(inside):
        return _read(f".{key[1]}")
    found = _SLICE.fullmatch(":" if inside == "*" else inside)
    if found is None:
        raise PathError(f"not an index: {inside}")
    start, end, step = (_index(part) for part in found.groups())
    if found[2] is None:
        return [_item(start or 0)]
    return [_items(start, end, step)]


def _index(part: str | None) -> int | None:
    digits = (part or "").lstrip(":")
    return _whole(digits) if digits else None


def _whole(text: str) -> int:
    number = parse_int64(text)
    if number is None:
        raise PathError(f"not a number: {text}")
    return number


def _number(text: str) -> int | float:
    try:
        return float(text) if "." in text else _whole(text)
    except ValueError:
        raise PathError(f"not a number: {text}") from None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


# Steps


def _literal(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _all_items(values: list[Any]) -> list[Any]:
    return [item for value in values for item in _children(value)]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(values: list[Any]) -> list[Any]:
    """All objects and lists at any depth that have something in them, from the top."""
    found = []
    rest = values[::-1]
    while rest:
        value = rest.pop()
        if children := _children(value):
            found.append(value)
            rest += reversed(children)
    return found


def _lists(values: list[Any]) -> list[list[Any]]:
    found = [value for value in values if value is not None]
    if not all(isinstance(value, list) for value in found):
        raise PathError("not a list")
    return found


def _item(index: int) -> Step:
    def step(values: list[Any]) -> list[Any]:
        try:
            return [value[index] for value in _lists(values)]
        except IndexError:
            raise PathError("no such item") from None

    return step


def _items(start: int | None, end: int | None, stride: int | None) -> Step:
    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in _lists(values):
            first = (start or 0) + (len(value) if (start or 0) < 0 else 0)
            last = len(value) if end is None else end + (len(value) if end < 0 else 0)
            if first == last:
                return found
            if not 0 <= first <= last <= len(value) or (stride is not None and stride <= 0):
                raise PathError("no such items")
            found += value[first : last : stride or 1]
        return found

    return step


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _filter(condition: str) -> Step:
    found = _COMPARISON.fullmatch(condition)
    if found is None:
        holds = partial(_exists, _read(condition))
    else:
        holds = partial(_holds, _read(found[1]), _COMPARISONS.get(found[2]), _read(found[3]))

    def step(values: list[Any]) -> list[Any]:
        if not all(isinstance(value, list) for value in values):
            raise PathError("only lists can be filtered")
        return [item for value in values for item in value if holds(item)]

    return step


def _exists(steps: list[Step], item: Any) -> bool:
    try:
        return bool(_walk(steps, [item]))
    except PathError:
        return True  # the original takes the values before the step that failed


def _holds(
    before: list[Step], compare: Callable[[Any, Any], bool] | None, after: list[Step], item: Any
) -> bool:
    left, right = _walk(before, [item]), _walk(after, [item])
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1 or compare is None:
        raise PathError("only one value can be compared with one other")
    if type(left[0]) is not type(right[0]) or not isinstance(left[0], str | int | float):
        raise PathError("only values of one type can be compared")
    if isinstance(left[0], bool) and compare not in (operator.eq, operator.ne):
        raise PathError("truth values have no order")
    return compare(left[0], right[0])


_STEPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Step]]], ...] = (
    (re.compile("[ @$]"), lambda found: []),
    (re.compile(rf"\.\.(?=\w){_FIELD}", re.DOTALL), lambda found: [_descend, _named(found[1])]),
    (re.compile(r"\.\."), lambda found: [_descend]),
    (re.compile(rf"\.{_FIELD}", re.DOTALL), lambda found: [_named(found[1])]),
    (re.compile(r"\[([^\]\n]*)\]"), lambda found: _brackets(found[1])),
    (re.compile(r"""(["'])(.*?)(?<!\\)\1"""), lambda found: [_literal(_unescaped(found[2]))]),
    (re.compile(r"[+-]?[0-9.]+", re.ASCII), lambda found: [_literal(_number(found[0]))]),
    (re.compile(rf"(true|false)(?![^{_SEPARATORS}])"), lambda found: [_literal(found[1] == "true")]),
)
"""What a path consists of, apart from conditions."""
