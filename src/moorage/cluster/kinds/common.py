"""What several strategies do alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import islice, takewhile
from typing import Any

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import selectors as selectors  # its relations hold for every kind
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.checking import check, check_change
from moorage.cluster.schema.defaulting import fill_defaults
from moorage.cluster.schema.definitions import Strategy, keep_field, keep_status
from moorage.cluster.schema.model import BOOLEAN
from moorage.cluster.schema.rules import rules_of


def keep_spec(new: Document, old: Document) -> None:
    """The spec is not for an update of the status; labels, annotations and finalizers are."""
    keep_field(new, old, "spec")


def part(document: Document, name: str) -> Document:
    """A part of a document that may be absent, to read from."""
    found: Document = document.get(name) or {}
    return found


def own_part(document: Document, name: str) -> Document:
    """A part of a document that may be absent, to write to."""
    found: Document | None = document.get(name)
    if found is None:
        found = document[name] = {}
    return found


def items_of(document: Document, name: str, path: str) -> Iterator[tuple[Document, str]]:
    """The items of a list that may be absent, with where they are."""
    for index, item in enumerate(document.get(name) or ()):
        yield item, f"{path}.{name}[{index}]"


def repeated(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The texts that have been there before, with where they are again."""
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            yield index, text
        seen.add(text)


def earlier(items: Iterable[Document] | None, item: Document) -> Iterator[Document]:
    """The items of a list that may be absent that come before one of them."""
    return takewhile(lambda each: each is not item, items or ())


def shown_inside(document: Document, *names: str) -> Document:
    """As messages show objects in a few places: all fields, under the names they have inside Kubernetes."""
    given = {name.lower(): value for name, value in document.items()}
    return {name: given.get(name.lower()) for name in names}


def difference(old: Any, new: Any, *, sort: bool = False) -> str:
    """Line by line; fields stand in the order they have, or in that of their names."""
    lines = unified_diff(_lines(old, sort), _lines(new, sort), n=3)
    return "".join(islice(lines, 2, None))


def _lines(value: Any, sort: bool) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=sort)
    return [f"{line}\n" for line in text.split("\n")]


class KindStrategy(Strategy):
    """A kind as the rules of its type describe it; what relates fields is for `relates` and for subclasses.

    Facts in the head of its rules: `select=` names fields for selectors; others are those of `Strategy` that
    are true, such as `counts_generations`.
    """

    type_name = ""
    """Such as storage.v1.StorageClass."""

    def __init__(self, type_name: str = "") -> None:
        self.type_name = type_name or self.type_name
        facts = rules_of(self.type_name).facts
        for fact in facts:
            if fact != "select":
                setattr(self, fact, True)
        names = [name for name in facts.get("select", "").split(",") if name]
        self._selectable = {name: name.split(".") for name in names}
        self._if_absent = {name: _absent(self.type_name, path) for name, path in self._selectable.items()}

    def default(self, document: Document) -> None:
        fill_defaults(self.type_name, document)

    def validate(self, document: Document) -> Iterable[Cause]:
        return check(self.type_name, self.stored(document))

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check_change(self.type_name, new, old)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        return {
            name: _text_at(document, path) or self._if_absent[name] for name, path in self._selectable.items()
        }


def _text_at(document: Document, path: Sequence[str]) -> str:
    """What stands at a path, as field selectors compare it."""
    value: Any = document
    for name in path:
        value = (value or {}).get(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, list) else str(value)


def _absent(type_name: str, path: Sequence[str]) -> str:
    schema = type_named(type_name)
    for name in path:
        schema = schema.fields[name].schema
    return "false" if schema.type == BOOLEAN else ""


class WithStatus(KindStrategy):
    """A kind whose status has an address of its own, through which metadata can be changed as well."""

    first_status: Document = {}
    """The status of every new object."""

    def prepare_create(self, document: Document) -> None:
        document["status"] = dict(self.first_status)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_spec(new, old)
