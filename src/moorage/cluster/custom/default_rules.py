"""Whether the defaults in a schema keep the schema's own rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.custom.metadata import WrongMetadata, read_embedded, validate_embedded
from moorage.cluster.custom.structural import META_FIELDS, declared_schema
from moorage.cluster.custom.validation import validate
from moorage.cluster.custom.values import prune
from moorage.cluster.custom.wording import invalid
from moorage.cluster.schema.model import Field, Schema

_VALUE = "value"


def default_problems(schema: Document, path: str) -> list[Cause]:
    """The broken rules; those of metadata have no defaults that count."""
    return list(_problems(schema, path, root=True))


def _problems(schema: Document, path: str, *, root: bool = False) -> Iterator[Cause]:
    if schema.get("default") is not None:
        yield from _check(schema, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        yield from _problems(schema["items"], f"{path}.items")
    whole = root or schema.get("x-kubernetes-embedded-resource") is True
    for name, inner in (schema.get("properties") or {}).items():
        if not (whole and name in META_FIELDS):
            yield from _problems(inner, f"{path}.properties[{name}]")


def _check(schema: Document, path: str) -> Iterator[Cause]:
    value: Any = schema["default"]
    shape = declared_schema(schema)
    shape.embedded = schema.get("x-kubernetes-embedded-resource") is True
    holder = Schema(fields={_VALUE: Field(shape)})
    pruned, unknown = prune(holder, {_VALUE: value})
    if unknown:
        yield invalid(path, value, "must not have unknown fields")
    try:
        read_embedded(holder, pruned, "", [])
    except WrongMetadata as error:
        yield invalid(path, value, str(error))
        return
    inside = [_moved(cause, path) for cause in validate_embedded(holder, pruned)]
    yield from inside or validate(shape, value, field=path)


def _moved(cause: Cause, path: str) -> Cause:
    return cause._replace(field=path + cause.field.removeprefix(_VALUE))
