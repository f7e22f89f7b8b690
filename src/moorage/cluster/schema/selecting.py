"""Label and field selectors as they stand in addresses: `labelSelector=app=web,tier!=db`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import (
    DOES_NOT_EXIST,
    EVERYTHING,
    EXISTS,
    GREATER,
    IN,
    LESS,
    NOT_IN,
    NOTHING,
    LabelSelector,
    Requirement,
    Selector,
    SelectorError,
    parse_int64,
    parse_selector,
)
from moorage.cluster.base.errors import bad_request, shown
from moorage.cluster.schema.definitions import Definition

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


class SelectorSyntaxError(ValueError):
    """A selector that cannot be read; the text is what the client is told."""


# Label selectors


def selector_of(document: Any) -> Selector:
    """The usable form of a label selector in a document; none, and one that is invalid, matches nothing."""
    try:
        return parse_selector(msgspec.convert(document, LabelSelector | None))
    except (SelectorError, msgspec.ValidationError):
        return NOTHING


_OPERATORS = {"=": IN, "==": IN, "!=": NOT_IN, "in": IN, "notin": NOT_IN, ">": GREATER, "<": LESS}
_OPERATORS_SHOWN = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = frozenset(("=", "==", "!=", "!", "(", ")", ",", ">", "<"))
# A NUL ends the token before it; where no token is before it, it ends the text.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+)\0?)")
_END = ""


@lru_cache(maxsize=4096)
def label_selector(text: str) -> Selector:
    """What `labelSelector` says. Raises a Refusal if it cannot be read."""
    if not text:
        return EVERYTHING
    try:
        return _LabelParser(text).selector()
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from None


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        self._next = 0
        position = 0
        while token := _TOKEN.match(text, position):
            self._tokens.append(token[1])
            position = token.end()
        self._tokens.append(_END)

    def selector(self) -> Selector:
        requirements: list[Requirement] = []
        while (token := self._peek()) != _END:
            if token in _SYMBOLS and token != "!":
                raise SelectorSyntaxError(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorSyntaxError as error:
                raise SelectorSyntaxError(f"unable to parse requirement: {error}") from None
            after = self._take()
            if after == _END:
                break
            if after != ",":
                raise SelectorSyntaxError(f"found '{after}', expected: ',' or 'end of string'")
            following = self._peek()
            if following != "!" and not _is_word(following):
                raise SelectorSyntaxError(f"found '{following}', expected: identifier after ','")
        requirements.sort(key=lambda requirement: requirement.key)
        return Selector(tuple(requirements))

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _requirement(self) -> Requirement:
        key = self._take()
        negated = key == "!"
        if negated:
            key = self._take()
        if not _is_word(key):
            raise SelectorSyntaxError(f"found '{key}', expected: identifier")
        if problems := qualified_name_problems(key):
            raise SelectorSyntaxError(f"<nil>: Invalid value: {shown(key)}: {'; '.join(problems)}")
        if negated:
            return Requirement(key, DOES_NOT_EXIST)
        if self._peek() in (_END, ","):
            return Requirement(key, EXISTS)
        sign = self._take()
        if sign not in _OPERATORS:
            raise SelectorSyntaxError(f"found '{sign}', expected: {_OPERATORS_SHOWN}")
        found = self._values() if sign in ("in", "notin") else {self._value()}
        operator, values = _OPERATORS[sign], tuple(sorted(found))
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        token = self._take()
        if not _is_word(token):
            raise SelectorSyntaxError(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> set[str]:
        """`(a,b)`; nothing before or behind a comma is the empty value."""
        opening = self._take()
        if opening != "(":
            raise SelectorSyntaxError(f"found '{opening}' expected: '('")
        first = self._peek()
        if first not in (")", ",") and not _is_word(first):
            raise SelectorSyntaxError(f"found '{first}', expected: ',', ')' or identifier")
        values: set[str] = set()
        before = ","
        while (token := self._take()) != ")":
            if token == ",":
                if before == ",":
                    values.add("")
            elif not _is_word(token):
                raise SelectorSyntaxError(f"found '{token}', expected: ',', or identifier")
            else:
                values.add(token)
                if self._peek() not in (",", ")"):
                    raise SelectorSyntaxError(f"found '{self._peek()}', expected: ',' or ')'")
            before = token
        if before == ",":
            values.add("")
        return values


def _is_word(token: str) -> bool:
    return token != _END and token not in _SYMBOLS


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    wrong = []
    if operator in (GREATER, LESS) and parse_int64(values[0]) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        wrong.append(f"values[0]: Invalid value: {shown(values[0])}: {detail}")
    for index, value in enumerate(values):
        if problems := label_value_problems(value):
            wrong.append(f"values[{index}][{key}]: Invalid value: {shown(value)}: {'; '.join(problems)}")
    if wrong:
        raise SelectorSyntaxError(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


# Field selectors


class FieldTerm(NamedTuple):
    """`name=value`, or `name!=value`."""

    name: str
    value: str
    equal: bool


class FieldSelector:
    """Terms that must all hold. A field an object does not have is as an empty one."""

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[FieldTerm, ...] = ()) -> None:
        self.terms = terms

    @property
    def empty(self) -> bool:
        """Whether it matches everything."""
        return not self.terms

    def matches(self, fields: Mapping[str, str]) -> bool:
        for name, value, equal in self.terms:
            if (fields.get(name, "") == value) is not equal:
                break
        else:
            return True
        return False

    def names(self) -> set[str]:
        """The fields it looks at."""
        return {term.name for term in self.terms}

    def requires(self, name: str) -> str | None:
        """The only value this field can have in a match, if there is one."""
        for term in self.terms:
            if term.name == name and term.equal:
                return term.value
        return None


_TERM = re.compile(r"(?:[^\\,]|\\.|\\\Z)+", re.DOTALL)
_COMPARISON = re.compile(r"(.*?)(!=|==?)(.*)", re.DOTALL)
_SPECIAL = re.compile(r"\\(.?)|[,=]", re.DOTALL)


@lru_cache(maxsize=4096)
def field_selector(text: str) -> FieldSelector:
    """What `fieldSelector` says. Raises a Refusal if it cannot be read."""
    terms = []
    for part in sorted(_TERM.findall(text)):
        comparison = _COMPARISON.fullmatch(part)
        if comparison is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = comparison.groups()
        value = _SPECIAL.sub(_unescape, value)
        if name or value:
            terms.append(FieldTerm(name, value, operator != "!="))
    return FieldSelector(tuple(terms))


def _unescape(found: re.Match[str]) -> str:
    escaped: str | None = found[1]
    if escaped is None:
        raise bad_request(f"invalid field selector: unescaped character in value: {ord(found[0])}")
    if not escaped or escaped not in "\\,=":
        raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
    return escaped


def check_fields(selector: FieldSelector, definition: Definition) -> None:
    """Raises a Refusal if the objects of this kind cannot be selected by one of the fields."""
    unusual = [term.name for term in selector.terms if term.name != NAME]
    if not unusual:
        return
    own = definition.strategy.selectable_fields({"metadata": {}})
    plain = not own and not definition.custom
    for name in unusual:
        if name in own or (name == NAMESPACE and (definition.namespaced or plain)):
            continue
        if plain:
            raise bad_request(f'{shown(name)} is not a known field selector: only "{NAME}", "{NAMESPACE}"')
        where = (
            "" if definition.kind != "ResourceSlice" else f" for {definition.api_version}, Kind=ResourceSlice"
        )
        raise bad_request(f"field label not supported{where}: {name}")
