"""Tables of objects, as `kubectl get` asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from moorage.cluster.base.errors import bad_request, shown
from moorage.cluster.base.parts import text
from moorage.cluster.base.store import Document, Stored

IncludeObject = Literal["None", "Metadata", "Object"]
"""How much of an object comes with its row."""

API_VERSION = "meta.k8s.io/v1"

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


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
    order: Callable[[Document], Any] | None = None
    """What rows are sorted by, where it is not their names."""

    def in_order(self, items: Sequence[Stored]) -> Sequence[Stored]:
        order = self.order
        return items if order is None else sorted(items, key=lambda each: order(each.document))

    @property
    def definitions(self) -> list[Document]:
        return [msgspec.structs.asdict(column) for column in self.columns]


def include_object(asked: str) -> IncludeObject:
    """The `includeObject` of a request. Raises a Refusal if it is none that there is."""
    if asked not in ("", "None", "Metadata", "Object"):
        rule = "must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {shown(asked)}: {rule}"
        )
    return cast(IncludeObject, asked or "Metadata")


def table(
    columns: Columns,
    items: Iterable[Stored],
    *,
    now: float,
    include_object: IncludeObject = "Metadata",
    list_metadata: Document,
    with_columns: bool = True,
) -> Document:
    """A table with a row for each object; `now` is in seconds since the epoch.

    The events of a watch are tables of one row each, of which only the first names the columns.
    """
    return {
        "kind": "Table",
        "apiVersion": API_VERSION,
        "metadata": list_metadata,
        "columnDefinitions": columns.definitions if with_columns else None,
        "rows": [_row(columns, item.document, now, include_object) for item in items],
    }


def _row(columns: Columns, document: Document, now: float, include_object: IncludeObject) -> Document:
    row: dict[str, Any] = {"cells": columns.cells(document, now)}
    if columns.conditions is not None and (conditions := columns.conditions(document)):
        row["conditions"] = conditions
    # A bookmark that ends the initial events means nothing without its metadata.
    is_mark = text(document, "metadata", "annotations", INITIAL_EVENTS_END) == "true"
    if include_object == "Metadata" or (include_object == "None" and is_mark):
        metadata = document.get("metadata", {})
        row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": API_VERSION, "metadata": metadata}
    else:
        row["object"] = document if include_object == "Object" else None
    return row
