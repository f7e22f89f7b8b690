"""Label and field selectors as they stand in addresses: `labelSelector=app=web,tier!=db`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from moorage.api.selector_text import SelectorSyntaxError, parse_selector_text
from moorage.api.selectors import Selector
from moorage.cluster.base.errors import bad_request, shown
from moorage.cluster.schema.definitions import Definition

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


@lru_cache(maxsize=4096)
def label_selector(text: str) -> Selector:
    """What `labelSelector` says. Raises a Refusal if it cannot be read."""
    try:
        return parse_selector_text(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from None


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
