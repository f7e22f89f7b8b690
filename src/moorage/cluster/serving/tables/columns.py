"""What a table of one kind of objects has in its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.durations import age
from moorage.cluster.serving.tables.parts import text, value

Cells = Callable[[Document, float], list[Any]]
"""The cells of an object's row, at a time in seconds since the epoch; never raises."""

STRING = "string"
INTEGER = "integer"
BOOLEAN = "boolean"
DATE = "date"

WIDE = 1
"""The priority of columns shown only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str = STRING
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True)
class Columns:
    """The columns of a kind, and how an object fills them."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Document], list[Document]] | None = None
    """What is to be said about a whole row."""
    definitions: list[Document] = field(init=False)

    def __post_init__(self) -> None:
        definitions = [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in self.columns
        ]
        object.__setattr__(self, "definitions", definitions)


NAME = Column("Name", format="name")
AGE = Column("Age")


def texts_of(*names: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(name) for name in names)


def wide(*names: str) -> tuple[Column, ...]:
    """Columns of text that are shown only on demand."""
    return tuple(Column(name, priority=WIDE) for name in names)


def integers(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, INTEGER) for name in names)


def name_of(document: Document) -> str:
    return text(document, "metadata", "name")


def age_of(document: Document, now: float) -> str:
    return age(value(document, "metadata", "creationTimestamp"), now)


def is_being_deleted(document: Document) -> bool:
    return value(document, "metadata", "deletionTimestamp") is not None


def _name_and_age(document: Document, now: float) -> list[Any]:
    return [name_of(document), age_of(document, now)]


def _name_and_creation(document: Document, now: float) -> list[Any]:
    created = text(document, "metadata", "creationTimestamp", absent="0001-01-01T00:00:00Z")
    return [name_of(document), created]


NAME_AND_AGE = Columns((NAME, AGE), _name_and_age)
PLAIN = Columns((NAME, Column("Created At", DATE)), _name_and_creation)
"""For kinds that have nothing special to show."""
