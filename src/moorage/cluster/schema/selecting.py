"""Label and field selectors as they stand in addresses: `labelSelector=app=web,tier!=db`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from moorage.api import selectors
from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import Requirement, Selector
from moorage.cluster.base.errors import bad_request, shown
from moorage.cluster.schema.definitions import Definition

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


class SelectorSyntaxError(ValueError):
    """A selector that cannot be read; the text is what the client is told."""


# Label selectors


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


@lru_cache(maxsize=4096)
def label_selector(text: str) -> Selector:
    """What `labelSelector` says. Raises a Refusal if it cannot be read."""
    if not text:
        return selectors.EVERYTHING
    tokens = []
    position = 0
    while token := _TOKEN.match(text, position):
        tokens.append(token[1])
        position = token.end()
    try:
        return _selector([_END, *reversed(tokens)])
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from None


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
        raise SelectorSyntaxError(f"<nil>: Invalid value: {shown(key)}: {'; '.join(problems)}")
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


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Terms that must all hold. A field an object does not have is as an empty one."""

    terms: tuple[FieldTerm, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it matches everything."""
        return not self.terms

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all((fields.get(name, "") == value) is equal for name, value, equal in self.terms)

    def names(self) -> set[str]:
        """The fields it looks at."""
        return {term.name for term in self.terms}

    def requires(self, name: str) -> str | None:
        """The only value this field can have in a match, if there is one."""
        return next((term.value for term in self.terms if term.name == name and term.equal), None)


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
        of_slices = definition.kind == "ResourceSlice"
        where = f" for {definition.api_version}, Kind=ResourceSlice" if of_slices else ""
        raise bad_request(f"field label not supported{where}: {name}")
