"""What an environment knows: functions with their overloads, and what calls cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from moorage.cel.types import Type


class Range(NamedTuple):
    """A size or a cost that is known within bounds only."""

    min: int
    max: int


class Argument(NamedTuple):
    """What is known of an argument before anything is evaluated."""

    type: Type
    size: Range
    """Of strings in code points, of lists and maps in entries; `UNKNOWN` where nothing says."""
    value: Any = None
    """Of a literal; None where it is not one."""
    element_size: Range = Range(0, 2**64 - 1)
    """Of the elements of a list, where something says."""


UNKNOWN = Range(0, 2**64 - 1)


class CallEstimate(NamedTuple):
    cost: Range
    result_size: Range | None = None


Estimate: TypeAlias = Callable[[Sequence[Argument]], CallEstimate | None]
"""The receiver is the first argument; None: the call costs what calls cost."""
ActualCost: TypeAlias = Callable[[Sequence[Any], Any], int]
"""Of the arguments, the receiver first, and the result."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function: the arguments it takes, and what it does with them."""

    id: str
    """As cel-go names it, for example `string_contains`."""
    parameters: tuple[Type, ...]
    """The receiver is the first of a member's."""
    result: Type
    call: Callable[..., Any]
    """Gets values of just these types; raises EvaluationError."""
    is_member: bool = True
    actual_cost: ActualCost | None = None
    """None: 1 unit."""
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """Functions and constants that belong together."""

    functions: tuple[Function, ...]
    constants: tuple[tuple[str, Type, Any], ...] = ()
