"""The columns of the resources that are always there, from the table in `data`.

A file of the table is for one API group. A block starts with the plural names of the resources it is for,
then `computed=`, the function that makes the cells which are more than a part of the object, and
`conditions=`, the one that tells about whole rows. Each further line is a column: its name (with `_` for a
space), its type, what fills it and what is special: `absent=` is shown where the object says nothing,
`empty=` also where it says an empty text, `format=`, and `wide` for what is shown only with `-o wide`. A
column is filled by what is `computed`, or by a reader and the part of the object that it reads. Name and
Age, as they usually are, need no more than their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from moorage.cluster.base import parts
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables import computed, formatting
from moorage.cluster.serving.tables.durations import age
from moorage.cluster.serving.tables.rendering import Column, Columns

_DATA = Path(__file__).parent / "data"
_USUAL = {
    "Name": "Name string text=metadata.name format=name",
    "Age": "Age string age=metadata.creationTimestamp",
}

_Cell = Callable[[Document, float, Document], Any]
"""From an object, the time, and its computed cells by the names of their columns."""

_READERS: dict[str, Callable[[Document, tuple[str, ...], str], Any]] = {
    "each": lambda document, path, absent: formatting.each(document, *path, absent=absent),
    "flag": lambda document, path, absent: parts.flag(document, *path, absent=absent == "true"),
    "labels": lambda document, path, absent: formatting.labels(document, *path),
    "number": lambda document, path, absent: parts.number(document, *path),
    "number_or_text": lambda document, path, absent: formatting.number_or_text(document, *path),
    "selector": lambda document, path, absent: formatting.selector(document, *path),
    "size": lambda document, path, absent: parts.size(document, *path),
    "text": lambda document, path, absent: parts.text(document, *path, absent=absent),
    "texts": lambda document, path, absent: ",".join(parts.texts(document, *path)),
}


def columns_of(storage: str) -> Columns:
    """The columns of a built-in resource, by its name in the store."""
    return _COLUMNS.get(storage, PLAIN)


def _recorded() -> Iterator[tuple[str, Columns]]:
    for file in sorted(_DATA.glob("*.txt")):
        suffix = "" if file.stem == "core" else f".{file.stem}"
        for block in file.read_text().rstrip().split("\n\n"):
            head, *lines = block.split("\n ")
            columns = _columns(lines, **_options(head))
            for word in head.split():
                if "=" not in word:
                    yield f"{word}{suffix}", columns


def _options(line: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def _columns(lines: list[str], **functions: str) -> Columns:
    made = [_column(_USUAL.get(line, line)) for line in lines]
    named = {use: getattr(computed, name) for use, name in functions.items()}
    compute: Callable[[Document, float], Document] = named.get("computed", lambda document, now: {})

    def cells(document: Document, now: float) -> list[Any]:
        found = compute(document, now)
        return [cell(document, now, found) for _, cell in made]

    return Columns(tuple(column for column, _ in made), cells, named.get("conditions"))


def _column(line: str) -> tuple[Column, _Cell]:
    name, type_, source, *special = line.split()
    options = _options(line)
    column = Column(name.replace("_", " "), type_, options.get("format", ""), priority=int("wide" in special))
    return column, _cell(column.name, source, options.get("absent", ""), options.get("empty", ""))


def _cell(name: str, source: str, absent: str, empty: str) -> _Cell:
    if source == "computed":
        return lambda document, now, found: found[name]
    how, _, place = source.partition("=")
    path = tuple(place.split("."))
    if how == "age":
        return lambda document, now, found: age(parts.value(document, *path), now)
    read = _READERS[how]
    if empty:
        return lambda document, now, found: read(document, path, "") or empty
    return lambda document, now, found: read(document, path, absent)


_COLUMNS: Final = dict(_recorded())
PLAIN = _columns(["Name", "Created_At date text=metadata.creationTimestamp absent=0001-01-01T00:00:00Z"])
"""For kinds that have nothing special to show."""
