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


UNKNOWN = Range(0, 2**64 - 1)


class Argument(NamedTuple):
    """What is known of an argument before anything is evaluated."""

    type: Type
    size: Range = UNKNOWN
    """Of strings in code points, of lists and maps in entries; `UNKNOWN` where nothing says."""
    value: Any = None
    """Of a literal; None where it is not one."""
    element_size: Range = UNKNOWN
    """Of the elements of a list, where something says."""
    entries: tuple[Argument, ...] | None = None
    """The elements of a list that is written out, the keys and values of a map in turn; None: neither."""


class CallEstimate(NamedTuple):
    cost: Range
    result_size: Range | None = None


Estimate: TypeAlias = Callable[[Sequence[Argument]], CallEstimate | None]
"""The receiver is the first argument; None: the call costs what calls cost."""
ActualCost: TypeAlias = Callable[[Sequence[Any], Any], int]
"""Of the arguments, the receiver first, and the result; any of them may be a `Failure`."""
Check: TypeAlias = Callable[[Sequence[Argument]], str | None]
"""What is wrong with a call, as far as the types and literals of its arguments tell; None: nothing."""


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
    check: Check | None = None
    """Asked once, when types are known: an expression with a wrong call does not compile."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]
    unresolved_cost: ActualCost | None = None
    """What a call costs whose overload is found only at run time, because several fit; None: 1 unit."""
    is_guarded: bool = True
    """False: called without a look at the types of the values, which it checks itself."""
    allows_mixed_literals: bool = False
    """Whether lists and maps written out anywhere in its arguments may mix types."""


@dataclass(frozen=True, slots=True)
class Library:
    """Functions and constants that belong together. A function may have more overloads in other libraries."""

    functions: tuple[Function, ...]
    constants: tuple[tuple[str, Type, Any], ...] = ()
