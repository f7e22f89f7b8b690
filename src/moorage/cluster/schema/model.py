"""The shape of a value, as a small tree that may refer back to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OBJECT: Final = "object"
ARRAY: Final = "array"
STRING: Final = "string"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
ANY: Final = ""

ATOMIC: Final = "atomic"
SET: Final = "set"
MAP: Final = "map"
GRANULAR: Final = "granular"

ABSENT: Final[Any] = object()
"""No default. Any other value, None included, is one."""


@dataclass(eq=False, slots=True)
class Schema:
    """What a value may be.

    An object has either named `fields` or, as a map, `values`, which all its values are like. With
    `keeps_unknown`, fields that are not named stay; otherwise they are unknown. `rules` are the checks of
    a custom resource's schema (enum, pattern, minimum, ...), word for word as they stand there.
    """

    type: str = ANY
    format: str = ""
    """For strings: quantity, date-time, micro-time, byte; for numbers: int32, int64; or int-or-string."""
    name: str = ""
    """The short name of the type, such as PodSpec."""
    description: str = ""
    """What the definition of a custom resource says about it, for `kubectl explain`."""
    fields: dict[str, Field] = field(default_factory=dict)
    values: Schema | None = None
    items: Schema | None = None
    list_type: str = ATOMIC
    """The definition of a custom resource may leave it open, which means atomic."""
    list_keys: tuple[str, ...] = ()
    map_type: str = GRANULAR
    keeps_unknown: bool = False
    embedded: bool = False
    """A whole object inside another: apiVersion, kind and metadata are known in it."""
    nullable: bool = False
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Field:
    """A named field of an object: its shape and what is special about it in this place."""

    schema: Schema
    required: bool = False
    omits_zero: bool = False
    """Whether 0, false, "" and empty lists and maps are the same as leaving the field out."""
    default: Any = ABSENT
    patch_strategy: str = ""
    """For strategic merge patches: merge, replace, retainKeys, or two of them with a comma."""
    patch_key: str = ""
