"""What can be chosen: numbers and kinds, each with what it is before anything is tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = int | str
Values = Mapping[str, Value]
"""By the names of parameters."""


@dataclass(frozen=True)
class Number:
    """A whole number between two others, which may be it, too."""

    name: str
    low: int
    high: int
    base: int
    only_if: tuple[str, Value] | None = None
    """A parameter before this one and its value, without which this one means nothing."""


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    name: str
    choices: tuple[str, ...]
    base: str
    only_if: tuple[str, Value] | None = None


Parameter = Number | Choice


def matters(parameter: Parameter, values: Values) -> bool:
    """Whether a parameter means anything beside these values of those before it."""
    return parameter.only_if is None or values.get(parameter.only_if[0]) == parameter.only_if[1]
