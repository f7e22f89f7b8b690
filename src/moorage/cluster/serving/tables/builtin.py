"""The columns of the resources that are always there, from the table in `data`.

A file of the table is for one API group. A block starts with the plural names of the resources it is for,
then `computed=`, the function that makes the cells which are more than a part of the object, `conditions=`,
the one that tells about whole rows, and `order=`, the one that rows are sorted by. Each further line is a
column: its name (with `_` for a space), its type, what fills it and what is special: `absent=` is shown where
the object says nothing, `empty=` also where it says an empty text, `format=`, and `wide` for what is shown
only with `-o wide`; `untitled` are cells without a column, which the original has, too. A column is filled by
what is `computed`, or by a reader and the part of the object that it reads. Name and Age, as they usually
are, need no more than their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from moorage.cluster.base import parts
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables import computed
from moorage.cluster.serving.tables.durations import age
from moorage.cluster.serving.tables.rendering import Column, Columns

_DATA = Path(__file__).parent / "data"
_USUAL = {
    "Name": "Name string text=metadata.name format=name",
    "Age": "Age string age=metadata.creationTimestamp",
}

_Cell = Callable[[Document, float, Document], Any]
"""From an object, the time, and its computed cells by the names of their columns."""

_OPERATORS = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "DoesNotExist": "!{key}"}


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
    titled = [column for (column, _), line in zip(made, lines, strict=True) if not line.endswith(" untitled")]
    named = {use: getattr(computed, name) for use, name in functions.items()}
    compute: Callable[[Document, float], Document] = named.get("computed", lambda document, now: {})

    def cells(document: Document, now: float) -> list[Any]:
        found = compute(document, now)
        return [cell(document, now, found) for _, cell in made]

    return Columns(tuple(titled), cells, named.get("conditions"), named.get("order"))


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
        return lambda document, now, found: read(document, *path) or empty
    if absent:
        read = partial(read, absent=absent == "true" if how == "flag" else absent)
    return lambda document, now, found: read(document, *path)


# What reads a part of an object


def _labels(document: Document, *path: str) -> str:
    """A map as `a=b,c=d`."""
    return ",".join(sorted(f"{key}={label}" for key, label in parts.part(document, *path).items()))


def _selector(document: Document, *path: str) -> str:
    """A label selector as it stands in addresses; empty if it selects everything, or nothing."""
    found = parts.part(document, *path)
    requirements = [(key, f"{key}={label}") for key, label in parts.part(found, "matchLabels").items()]
    for expression in parts.records(found, "matchExpressions"):
        key, operator = parts.text(expression, "key"), parts.text(expression, "operator")
        values = ",".join(sorted(parts.texts(expression, "values")))
        requirements.append((key, _OPERATORS.get(operator, "{key}").format(key=key, values=values)))
    requirements.sort(key=lambda requirement: requirement[0])
    return ",".join(shown for _, shown in requirements)


def _each(document: Document, *path: str, absent: str = "") -> str:
    """The texts under the last name in all objects of the list below the other ones."""
    *place, name = path
    found = parts.records(document, *place)
    return ",".join(parts.text(record, name) for record in found) if found else absent


def _number_or_text(document: Document, *path: str) -> str:
    found = parts.value(document, *path)
    return str(found) if isinstance(found, int | str) else ""


def _texts(document: Document, *path: str) -> str:
    return ",".join(parts.texts(document, *path))


_READERS: dict[str, Callable[..., Any]] = {
    "each": _each,
    "flag": parts.flag,
    "labels": _labels,
    "number": parts.number,
    "number_or_text": _number_or_text,
    "selector": _selector,
    "size": parts.size,
    "text": parts.text,
    "texts": _texts,
}
_COLUMNS: Final = dict(_recorded())
PLAIN = _columns(["Name", "Created_At date text=metadata.creationTimestamp absent=0001-01-01T00:00:00Z"])
"""For kinds that have nothing special to show."""
