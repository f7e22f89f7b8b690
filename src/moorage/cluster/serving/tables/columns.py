"""What a table of one kind of objects has in its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.cluster.base.store import Document


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    """1 for a column that is shown only with `-o wide`."""


@dataclass(frozen=True)
class Columns:
    """The columns of a kind, and how an object fills them."""

    columns: tuple[Column, ...]
    cells: Callable[[Document, float], list[Any]]
    """The cells of an object's row, at a time in seconds since the epoch; never raises."""
    conditions: Callable[[Document], list[Document]] | None = None
    """What is to be said about a whole row."""

    @property
    def definitions(self) -> list[Document]:
        return [msgspec.structs.asdict(column) for column in self.columns]
