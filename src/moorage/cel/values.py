"""Values at run time, and what goes wrong with them.

| type | Python |
|---|---|
| bool, double, string, bytes, null | bool, float, str, bytes, None |
| int, uint | int, `Uint`; both checked for their 64 bits |
| list, map | tuple or list, any `collections.abc.Mapping` |
| timestamp, duration | `Timestamp`, `Duration`, in nanoseconds |
| optional | `Optional` |
| type | `moorage.cel.types.Type` |
| opaque ones (quantity, semver, ...) | the class of their library; its `CEL_TYPE` is their type |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
MAX_UINT = 2**64 - 1


class EvaluationError(Exception):
    """An expression has no value: the text is what users are told."""


class Uint(int):
    """An unsigned number."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanos: int
    """Since 1970, UTC."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int


@dataclass(frozen=True, slots=True)
class Optional:
    """A value, or none."""

    value: Any = None
    has_value: bool = True


NO_VALUE = Optional(None, has_value=False)
