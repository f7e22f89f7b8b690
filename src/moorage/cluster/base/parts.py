"""Getting at the parts of a document whatever it looks like: what is missing or odd is empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.api.selectors import NOTHING, LabelSelector, Selector, SelectorError, parse_selector
from moorage.cluster.base.store import Document

_NOTHING: Document = {}


def value(document: Document, *path: str) -> Any:
    """What stands below these names, or None."""
    found: Any = document
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def part(document: Document, *path: str) -> Document:
    """The object below these names; not to be changed."""
    found = value(document, *path)
    return found if isinstance(found, dict) else _NOTHING


def records(document: Document, *path: str) -> list[Document]:
    """The objects of the list below these names."""
    found = value(document, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def texts(document: Document, *path: str) -> list[str]:
    """The texts of the list below these names."""
    found = value(document, *path)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def text(document: Document, *path: str, absent: str = "") -> str:
    """The text below these names; `absent` stands for none."""
    found = value(document, *path)
    return found if isinstance(found, str) else absent


def number(document: Document, *path: str) -> int:
    found = value(document, *path)
    return found if type(found) is int else 0


def flag(document: Document, *path: str, absent: bool = False) -> bool:
    found = value(document, *path)
    return found if isinstance(found, bool) else absent


def size(document: Document, *path: str) -> int:
    """How many items the list or map below these names has."""
    found = value(document, *path)
    return len(found) if isinstance(found, dict | list) else 0


def is_deleted(document: Document) -> bool:
    """Whether its deletion has begun."""
    return value(document, "metadata", "deletionTimestamp") is not None


def condition(status: Document, type_: str) -> Document | None:
    """The first condition of this type in a status; not to be changed."""
    return next((each for each in records(status, "conditions") if each.get("type") == type_), None)


def other_conditions(status: Document, type_: str) -> list[Document]:
    return [each for each in status.get("conditions") or () if each.get("type") != type_]


def is_true(document: Document, type_: str) -> bool:
    """Whether the first condition of this type in the status is true."""
    found = condition(part(document, "status"), type_)
    return found is not None and found.get("status") == "True"


def selector_of(selector: Any) -> Selector:
    """The usable form of a label selector; none, and one that is invalid, matches nothing."""
    try:
        return parse_selector(msgspec.convert(selector, LabelSelector | None))
    except (SelectorError, msgspec.ValidationError):
        return NOTHING


def keep_only(part: Document, name: str, keeps: Callable[[Any], bool]) -> None:
    """Drops items of a list, and a list in which nothing is left."""
    left = [each for each in part.get(name) or () if keeps(each)]
    if left:
        part[name] = left
    else:
        part.pop(name, None)
