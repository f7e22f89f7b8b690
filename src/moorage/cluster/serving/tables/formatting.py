"""Texts that cells of several kinds are made of."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cluster.base.parts import part, records, text, texts, value
from moorage.cluster.base.store import Document

NONE = "<none>"
UNSET = "<unset>"

_SHOWN = 3  # items of a list

_OPERATORS = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "DoesNotExist": "!{key}"}


def labels(document: Document, *path: str) -> str:
    """A map as `a=b,c=d`."""
    return ",".join(sorted(f"{key}={label}" for key, label in part(document, *path).items()))


def selector(document: Document, *path: str) -> str:
    """A label selector as it stands in addresses; empty if it selects everything, or nothing."""
    found = part(document, *path)
    requirements = [(key, f"{key}={label}") for key, label in part(found, "matchLabels").items()]
    for expression in records(found, "matchExpressions"):
        key, operator = text(expression, "key"), text(expression, "operator")
        values = ",".join(sorted(texts(expression, "values")))
        requirements.append((key, _OPERATORS.get(operator, "{key}").format(key=key, values=values)))
    requirements.sort(key=lambda requirement: requirement[0])
    return ",".join(shown for _, shown in requirements)


def each(document: Document, *path: str, absent: str = "") -> str:
    """The texts under the last name in all objects of the list below the other ones."""
    *place, name = path
    found = records(document, *place)
    return ",".join(text(record, name) for record in found) if found else absent


def number_or_text(document: Document, *path: str) -> str:
    found = value(document, *path)
    return str(found) if isinstance(found, int | str) else ""


def some_of(items: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = len(items) - _SHOWN
    shown = ",".join(items[:_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown
