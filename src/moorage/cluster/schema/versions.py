"""What objects of a type are in another form of it, such as an older version: the facts.

A file of `versions` is about one form of the types of a group. A block starts with the name of a type; each
line below is about one field: its path in the other form, that in the form that is stored, and what else
there is to say:

     metricName metric.name absent=""
     Policies[] policies[] as=HPAScalingPolicy absent=null

A path that is the same in both stands once; `[]` behind it is for lists. `as=` names the block for what is in
the field: an object, or every item of a list. `absent=` is what the other form says, as JSON, where the
stored one says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from moorage.cluster.base.store import Document

VERSIONS = Path(__file__).with_name("versions")


class Line(NamedTuple):
    other: list[str]
    stored: list[str]
    is_list: bool
    block: str
    absent: list[Any]
    """What the other form says where the stored one says nothing; empty if it says nothing, too."""


def from_stored(name: str, document: Document) -> Document:
    """An object in another form, by the names of the form and the type, such as autoscaling.v1.MetricSpec."""
    made: Document = {}
    form, _, block = name.rpartition(".")
    for line in _blocks(form)[block]:
        value = _value_at(document, line.stored)
        if value is not None:
            _put(made, line.other, _inside(form, line, value, from_stored))
        elif line.absent:
            _put(made, line.other, line.absent[0])
    return made


def to_stored(name: str, document: Document) -> Document:
    """The way back. What has no place in the other form is left out, whatever it is."""
    made: Document = {}
    form, _, block = name.rpartition(".")
    for line in _blocks(form)[block]:
        value = _value_at(document, line.other)
        fits = not line.block or isinstance(value, list if line.is_list else dict)
        if value is not None and fits:
            _put(made, line.stored, _inside(form, line, value, to_stored))
    return made


def _inside(form: str, line: Line, value: Any, convert: Callable[[str, Document], Document]) -> Any:
    if not line.block:
        return value
    block = f"{form}.{line.block}"
    if line.is_list:
        return [convert(block, item) for item in value if isinstance(item, dict)]
    return convert(block, value)


def _value_at(value: Any, way: list[str]) -> Any:
    for name in way:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _put(document: Document, way: list[str], value: Any) -> None:
    for name in way[:-1]:
        document = document.setdefault(name, {})
    document[way[-1]] = value


@cache
def _blocks(form: str) -> dict[str, list[Line]]:
    blocks = (VERSIONS / f"{form}.txt").read_text().strip().split("\n\n")
    heads_and_lines = (block.split("\n") for block in blocks)
    return {head: [_line(line.split()) for line in lines] for head, *lines in heads_and_lines}


def _line(words: list[str]) -> Line:
    paths = [word for word in words if "=" not in word]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    other, stored = paths[0], paths[-1]
    return Line(
        other.removesuffix("[]").split("."),
        stored.removesuffix("[]").split("."),
        stored.endswith("[]"),
        options.get("as", ""),
        [json.loads(options["absent"])] if "absent" in options else [],
    )
