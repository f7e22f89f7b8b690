"""Label selectors and node selectors: what they look like, whether they are valid, what they match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from moorage.api.meta import Part
from moorage.api.names import is_label_value, is_qualified_name

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GREATER = "Gt"
LESS = "Lt"

_LABEL_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
_NODE_OPERATORS = (*_LABEL_OPERATORS, GREATER, LESS)
_INTEGER = re.compile(r"([+-]?)(?=[0-9])0*([0-9]{0,19})", re.ASCII)


class SelectorError(ValueError):
    """A selector that cannot be used; the text says which requirement and why."""


class Requirement(Part, frozen=True, gc=False):
    """One line of a selector: key, operator, values."""

    key: str = ""
    """The label, or the field, it is about."""
    operator: str = ""
    """In, NotIn, Exists or DoesNotExist; on nodes also Gt and Lt."""
    values: tuple[str, ...] = ()
    """What the label is compared with."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it."""
        value = labels.get(self.key)
        operator = self.operator
        if operator == IN:
            return value is not None and value in self.values
        if operator == NOT_IN:
            return value is None or value not in self.values
        if operator == EXISTS:
            return value is not None
        if operator == DOES_NOT_EXIST:
            return value is None
        number = None if value is None else parse_int64(value)
        bound = parse_int64(self.values[0]) if len(self.values) == 1 else None
        if number is None or bound is None:
            return False
        return number > bound if operator == GREATER else operator == LESS and number < bound

    def check(self, operators: tuple[str, ...]) -> None:
        """Raises SelectorError unless this requirement is one Kubernetes accepts; not for plugins."""
        operator, values = self.operator, self.values
        if operator not in operators:
            raise SelectorError(
                f"{operator!r} is not a valid selector operator, use one of {', '.join(operators)}"
            )
        if not is_qualified_name(self.key):
            raise SelectorError(f"{_shown(self.key)} is not a valid label key")
        if operator in (IN, NOT_IN) and not values:
            raise SelectorError(f"{self.key}: {operator} needs at least one value")
        if operator in (EXISTS, DOES_NOT_EXIST) and values:
            raise SelectorError(f"{self.key}: {operator} takes no values")
        if operator in (GREATER, LESS) and (len(values) != 1 or parse_int64(values[0]) is None):
            raise SelectorError(f"{self.key}: {operator} needs exactly one integer value")
        for value in values:
            if not is_label_value(value):
                raise SelectorError(f"{self.key}: {_shown(value)} is not a valid label value")


class LabelSelector(Part, frozen=True):
    """`matchLabels` and `matchExpressions`, all of which must hold."""

    match_labels: dict[str, str] = {}
    """Labels that must have exactly these values."""
    match_expressions: tuple[Requirement, ...] = ()
    """Further requirements."""

    def __hash__(self) -> int:
        return hash((frozenset(self.match_labels.items()), self.match_expressions))


ASKED_KEYS: set[str] = set()
"""The keys of all selectors so far: what none of them asks for tells no objects apart."""


class Selector(Part, frozen=True, gc=False):
    """A checked selector: every requirement must hold. Without requirements it matches everything."""

    requirements: tuple[Requirement, ...] = ()
    """All of them must hold."""
    nothing: bool = False
    """Whether it matches nothing at all."""

    def __post_init__(self) -> None:
        ASKED_KEYS.update(requirement.key for requirement in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether it holds no requirement and matches everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet all requirements: `selector.matches(pod.labels)`."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def plus(self, more: Iterable[Requirement]) -> Selector:
        """This selector narrowed by more requirements; "nothing" stays nothing."""
        return self if self.nothing else Selector(self.requirements + tuple(more))


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


@lru_cache(maxsize=16384)
def parse_selector(selector: LabelSelector | None) -> Selector:
    """The usable form of a label selector: none matches nothing, `{}` matches everything.

    Raises SelectorError for an invalid one.
    """
    if selector is None:
        return NOTHING
    requirements = [Requirement(key, IN, (value,)) for key, value in sorted(selector.match_labels.items())]
    requirements += selector.match_expressions
    for requirement in requirements:
        requirement.check(_LABEL_OPERATORS)
    return Selector(tuple(requirements))


def selector_from_map(labels: Mapping[str, str]) -> Selector:
    """All of these labels must be equal; a plain map is not validated."""
    return Selector(tuple(Requirement(key, IN, (value,)) for key, value in sorted(labels.items())))


def parse_int64(text: str) -> int | None:
    """A signed decimal integer within 64 bits, or None."""
    form = _INTEGER.fullmatch(text)
    if form is None:
        return None
    sign, digits = form.groups()
    number = int(sign + (digits or "0"))
    return number if -(2**63) <= number < 2**63 else None


class NodeSelectorTerm(Part, frozen=True, gc=False):
    """Requirements on a node, all of which must hold; without any, no node meets it."""

    match_expressions: tuple[Requirement, ...] = ()
    """Requirements on its labels."""
    match_fields: tuple[Requirement, ...] = ()
    """Requirements on `metadata.name`."""

    @property
    def empty(self) -> bool:
        """Whether it has no requirements, and so matches nothing."""
        return not self.match_expressions and not self.match_fields

    def problem(self) -> str | None:
        """Why this term can never match, or None."""
        return _term_problem(self)

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name satisfies the term; none does an invalid one."""
        if self.empty or _term_problem(self) is not None:
            return False
        if not all(requirement.matches(labels) for requirement in self.match_expressions):
            return False
        return not node_name or all(matches_field(field, node_name) for field in self.match_fields)


def matches_field(field: Requirement, node_name: str) -> bool:
    """`metadata.name` carries the name; every other field reads as empty."""
    actual = node_name if field.key == "metadata.name" else ""
    return (actual == field.values[0]) == (field.operator == IN)


@lru_cache(maxsize=16384)
def _term_problem(term: NodeSelectorTerm) -> str | None:
    try:
        for requirement in term.match_expressions:
            requirement.check(_NODE_OPERATORS)
        for field in term.match_fields:
            if field.operator not in (IN, NOT_IN):
                raise SelectorError(
                    f"{field.operator!r} is not a valid field selector operator, use In or NotIn"
                )
            if len(field.values) != 1:
                raise SelectorError(f"{_shown(field.key)}: a field selector needs exactly one value")
    except SelectorError as error:
        return str(error)
    return None


class NodeSelector(Part, frozen=True, gc=False):
    """Terms of which one must match; without a usable term nothing does."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    """One of them must match."""

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether one of the terms does: `selector.matches(node.labels, node.name)`."""
        return any(term.matches(labels, node_name) for term in self.node_selector_terms)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
