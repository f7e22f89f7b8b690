"""Label selectors as a text: `app=web,tier in (front, back),!old`."""

from __future__ import annotations

import re

from moorage.api import selectors
from moorage.api.go_quoting import quoted
from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import Requirement, Selector, SelectorError


class SelectorSyntaxError(SelectorError):
    """A selector that cannot be read; the text is what an API server tells its clients."""


_OPERATORS = {
    "=": selectors.IN,
    "==": selectors.IN,
    "!=": selectors.NOT_IN,
    "in": selectors.IN,
    "notin": selectors.NOT_IN,
    ">": selectors.GREATER,
    "<": selectors.LESS,
}
_SYMBOLS = frozenset(("=", "==", "!=", "!", "(", ")", ",", ">", "<"))
# A NUL ends the token before it; where no token is before it, it ends the text.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+)\0?)")
_END = ""


def parse_selector_text(text: str) -> Selector:
    """The selector that a text stands for; an empty one matches everything. Raises SelectorSyntaxError."""
    if not text:
        return selectors.EVERYTHING
    tokens = []
    position = 0
    while token := _TOKEN.match(text, position):
        tokens.append(token[1])
        position = token.end()
    return _selector([_END, *reversed(tokens)])


def _selector(tokens: list[str]) -> Selector:
    """Reads the tokens, of which the last is the next; so do the functions below."""
    requirements: list[Requirement] = []
    while tokens[-1] != _END:
        if tokens[-1] != "!" and not _is_word(tokens[-1]):
            raise _unexpected(tokens[-1], "!, identifier, or 'end of string'")
        try:
            requirements.append(_requirement(tokens))
        except SelectorSyntaxError as error:
            raise SelectorSyntaxError(f"unable to parse requirement: {error}") from None
        after = tokens.pop()
        if after == _END:
            break
        if after != ",":
            raise _unexpected(after, "',' or 'end of string'")
        if tokens[-1] != "!" and not _is_word(tokens[-1]):
            raise _unexpected(tokens[-1], "identifier after ','")
    requirements.sort(key=lambda requirement: requirement.key)
    return Selector(tuple(requirements))


def _requirement(tokens: list[str]) -> Requirement:
    negated = tokens[-1] == "!"
    if negated:
        tokens.pop()
    key = _word(tokens)
    if problems := qualified_name_problems(key):
        raise SelectorSyntaxError(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(problems)}")
    if negated:
        return Requirement(key, selectors.DOES_NOT_EXIST)
    if tokens[-1] in (_END, ","):
        return Requirement(key, selectors.EXISTS)
    sign = tokens.pop()
    if sign not in _OPERATORS:
        raise _unexpected(sign, "in, notin, =, ==, !=, gt, lt")
    if sign in ("in", "notin"):
        values = tuple(sorted(_values(tokens)))
    else:
        values = ("",) if tokens[-1] in (_END, ",") else (_word(tokens),)
    _check_values(key, _OPERATORS[sign], values)
    return Requirement(key, _OPERATORS[sign], values)


def _word(tokens: list[str]) -> str:
    token = tokens.pop()
    if not _is_word(token):
        raise _unexpected(token, "identifier")
    return token


def _values(tokens: list[str]) -> set[str]:
    """`(a,b)`; nothing before or behind a comma is the empty value."""
    opening = tokens.pop()
    if opening != "(":
        raise SelectorSyntaxError(f"found '{opening}' expected: '('")
    if tokens[-1] not in (")", ",") and not _is_word(tokens[-1]):
        raise _unexpected(tokens[-1], "',', ')' or identifier")
    values: set[str] = set()
    before = ","
    while (token := tokens.pop()) != ")":
        if token == ",":
            if before == ",":
                values.add("")
        elif not _is_word(token):
            raise _unexpected(token, "',', or identifier")
        else:
            values.add(token)
            if tokens[-1] not in (",", ")"):
                raise _unexpected(tokens[-1], "',' or ')'")
        before = token
    if before == ",":
        values.add("")
    return values


def _unexpected(token: str, expected: str) -> SelectorSyntaxError:
    return SelectorSyntaxError(f"found '{token}', expected: {expected}")


def _is_word(token: str) -> bool:
    return token != _END and token not in _SYMBOLS


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    wrong = []
    if operator in (selectors.GREATER, selectors.LESS) and selectors.parse_int64(values[0]) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        wrong.append(f"values[0]: Invalid value: {quoted(values[0])}: {detail}")
    for index, value in enumerate(values):
        if problems := label_value_problems(value):
            wrong.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(problems)}")
    if wrong:
        raise SelectorSyntaxError(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
