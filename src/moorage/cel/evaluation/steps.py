"""What a checked expression becomes: steps that both ways of evaluating it follow.

A step has an id: what an evaluation counts as cost depends on which steps with which ids were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.cel.declarations import ActualCost, Overload
from moorage.cel.types import Type


@dataclass(slots=True, eq=False)
class Step:
    id: int
    type: Type


@dataclass(slots=True, eq=False)
class Constant(Step):
    value: Any


# Variables, and what is selected or indexed from them or from other values


@dataclass(slots=True, eq=False)
class Qualifier:
    """One selection or index: by a constant, or by the value of an attribute."""

    id: int
    optional: bool
    key: Any = None
    index: Attribute | None = None
    index_is_computed: bool = False
    """The index is the value of a step; else it is an attribute, whose variable then costs nothing."""
    test_only: bool = False
    """In `has()`: whether something is there, not what."""


@dataclass(slots=True, eq=False)
class Attribute:
    id: int
    """That of the last selection, once there is one."""
    base: Type
    """What it has before anything is selected."""
    qualifiers: list[Qualifier] = field(default_factory=list, init=False)

    def add(self, qualifier: Qualifier) -> None:
        self.qualifiers.append(qualifier)
        self.id = qualifier.id


@dataclass(slots=True, eq=False)
class Variable(Attribute):
    slot: int
    """Where in the frame its value is."""
    name: str


@dataclass(slots=True, eq=False)
class Relative(Attribute):
    operand: Step


@dataclass(slots=True, eq=False)
class Conditional(Attribute):
    """`condition ? one : other`. What is selected from it is selected from both."""

    condition: Step
    truthy: Attribute
    falsy: Attribute

    def add(self, qualifier: Qualifier) -> None:
        self.truthy.add(qualifier)
        self.falsy.add(qualifier)
        self.id = qualifier.id


@dataclass(slots=True, eq=False)
class AttributeStep(Step):
    """Its id is that of its attribute."""

    attribute: Attribute
    test_only: bool = False


# Calls


@dataclass(slots=True, eq=False)
class Logic(Step):
    """`&&` or `||`."""

    deciding: bool
    """The value that decides without a look at the other side."""
    left: Step
    right: Step


@dataclass(slots=True, eq=False)
class Equality(Step):
    negated: bool
    left: Step
    right: Step


@dataclass(slots=True, eq=False)
class Invocation(Step):
    function: str
    arguments: list[Step]
    overloads: Sequence[Overload]
    """The one it is, or all that may be chosen by the types of the values."""
    call: Callable[..., Any]
    """Takes whatever values come; raises EvaluationError."""
    actual_cost: ActualCost | None
    stops_early: bool
    """An argument that fails keeps the others from being evaluated."""


@dataclass(slots=True, eq=False)
class NotStrictlyFalse(Step):
    argument: Step


@dataclass(slots=True, eq=False)
class Membership(Step):
    """Of a value in a list of constants."""

    argument: Step
    identities: frozenset[tuple[Any, Any]]


@dataclass(slots=True, eq=False)
class Alternative(Step):
    """`or` and `orValue` of optional values."""

    unwraps: bool
    left: Step
    right: Step


@dataclass(slots=True, eq=False)
class ListStep(Step):
    elements: list[Step]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class MapStep(Step):
    entries: list[tuple[Step, Step, bool]]
    """Key, value, and whether the value is optional."""


@dataclass(slots=True, eq=False)
class Loop(Step):
    range: Step
    slot: int
    """Of the variable."""
    second_slot: int
    """0 where there is none."""
    accumulator_slot: int
    initial: Step
    condition: Step
    step: Step
    result: Step
