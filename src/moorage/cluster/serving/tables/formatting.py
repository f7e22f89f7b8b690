"""Texts that cells of several kinds are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.parts import part, records, text, texts, value

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"

_SHOWN = 3  # items of a list

_OPERATORS = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "DoesNotExist": "!{key}"}


def labels(document: Document, *path: str) -> str:
    """A map as `a=b,c=d`."""
    pairs = sorted(f"{key}={label}" for key, label in part(document, *path).items())
    return ",".join(pairs) or NONE


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


def container_names_and_images(document: Document, *path: str) -> list[Any]:
    """The two cells about the containers of a pod's spec."""
    containers = records(document, *path, "containers")
    return [
        ",".join(text(container, "name") for container in containers),
        ",".join(text(container, "image") for container in containers),
    ]


def some_of(items: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = len(items) - _SHOWN
    shown = ",".join(items[:_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown


def int_or_string(document: Document, *path: str) -> str | None:
    found = value(document, *path)
    return str(found) if isinstance(found, int | str) else None
