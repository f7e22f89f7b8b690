"""The columns that a CustomResourceDefinition asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.cluster.base.go_text import is_integer, shown
from moorage.cluster.base.parts import number, text
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.durations import INVALID, age, is_no_time, seconds_since_epoch
from moorage.cluster.serving.tables.json_path import JSONPath, PathError
from moorage.cluster.serving.tables.rendering import Column, Columns

_AGE: Document = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_MIN_INT64 = -(2**63)


def custom_columns(printer_columns: Sequence[Document] = ()) -> Columns:
    """The name, and what `additionalPrinterColumns` say; without any, the age.

    The columns end before the first whose path cannot be read.
    """
    columns, paths = [Column("Name", format="name")], []
    for printed in printer_columns or (_AGE,):
        json_path = text(printed, "jsonPath")
        try:
            path = JSONPath(json_path)
        except PathError:
            break
        description = f"Custom resource definition column (in JSONPath format): {json_path}"
        column = Column(
            text(printed, "name"),
            text(printed, "type"),
            text(printed, "format"),
            text(printed, "description") or description,
            number(printed, "priority"),
        )
        columns.append(column)
        paths.append((path, column.type))

    def cells(document: Document, now: float) -> list[Any]:
        name = text(document, "metadata", "name")
        return [name, *(_cell(path, type_, document, now) for path, type_ in paths)]

    return Columns(tuple(columns), cells)


def _cell(path: JSONPath, type_: str, document: Document, now: float) -> Any:
    found = path.find(document)
    if not found:
        return None
    value = found[0]
    if type_ == "string":
        return _as_text(value)
    if type_ == "date":
        return _as_age(value, now) if isinstance(value, str) else None
    if type_ == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _as_integer(value) if type_ == "integer" else value


def _as_age(timestamp: str, now: float) -> str:
    if is_no_time(timestamp) or timestamp == "null":
        return age(None, now)
    return INVALID if seconds_since_epoch(timestamp) is None else age(timestamp, now)


def _as_integer(value: float) -> int:
    whole = int(value) if math.isfinite(value) else _MIN_INT64
    return whole if is_integer(whole) else _MIN_INT64


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, int | float):
        return shown(value)
    written = msgspec.json.encode(value, order="sorted").decode()
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written
