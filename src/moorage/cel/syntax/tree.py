"""The tree of an expression. The checker fills in the types, and to what names and calls refer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.cel.types import DYN, Type


@dataclass(slots=True, eq=False)
class Expression:
    id: int
    """Of one node alone."""
    offset: int
    """Where in the text it is, or what it was made from."""
    type: Type = field(default=DYN, init=False)
    nesting: int = field(default=0, init=False)
    """How many operators and selections are within one another below it, as the limit counts them."""

    def children(self) -> Sequence[Expression]:
        return ()


@dataclass(slots=True, eq=False)
class Literal(Expression):
    value: Any


@dataclass(slots=True, eq=False)
class Identifier(Expression):
    name: str
    constant: bool = field(default=False, init=False)
    """Refers to a type or to a constant of a library."""


@dataclass(slots=True, eq=False)
class Select(Expression):
    operand: Expression
    field: str
    test_only: bool = False
    """In `has()`."""
    constant: str = ""
    """The qualified name, if it is one of a type, of a constant or of a variable."""

    def children(self) -> Sequence[Expression]:
        return () if self.constant else (self.operand,)


@dataclass(slots=True, eq=False)
class Call(Expression):
    function: str
    target: Expression | None
    arguments: list[Expression]
    overloads: tuple[str, ...] = ()
    """Those that the types of the arguments leave open."""

    def children(self) -> Sequence[Expression]:
        return self.arguments if self.target is None else [self.target, *self.arguments]


@dataclass(slots=True, eq=False)
class ListLiteral(Expression):
    elements: list[Expression]
    optional: frozenset[int] = frozenset()
    """The indices of those written with `?`."""

    def children(self) -> Sequence[Expression]:
        return self.elements


@dataclass(slots=True, eq=False)
class Entry:
    id: int
    offset: int
    key: Expression
    value: Expression
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral(Expression):
    entries: list[Entry]

    def children(self) -> Sequence[Expression]:
        return [part for entry in self.entries for part in (entry.key, entry.value)]


@dataclass(slots=True, eq=False)
class Message(Expression):
    """`Name{field: value}`. Nothing here can be made so, but it has to be read."""

    name: str
    values: list[Expression]

    def children(self) -> Sequence[Expression]:
        return self.values


@dataclass(slots=True, eq=False)
class Comprehension(Expression):
    """What most macros become: a loop with an accumulator."""

    range: Expression
    variable: str
    second_variable: str
    """Empty where there is one only."""
    accumulator: str
    initial: Expression
    condition: Expression
    step: Expression
    result: Expression

    def children(self) -> Sequence[Expression]:
        return self.range, self.initial, self.condition, self.step, self.result


def qualified_name(expression: Expression) -> str:
    """`a.b.c`, if the expression could be such a name, else nothing."""
    fields = []
    while isinstance(expression, Select) and not expression.test_only:
        fields.append(expression.field)
        expression = expression.operand
    if not isinstance(expression, Identifier):
        return ""
    return ".".join([expression.name, *reversed(fields)])


def walk(expression: Expression) -> Iterator[Expression]:
    """The node and all below it."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children()))


def depth(expression: Expression) -> int:
    """How many nodes are within one another."""
    deepest = 0
    waiting = [(expression, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in node.children()]
    return deepest
