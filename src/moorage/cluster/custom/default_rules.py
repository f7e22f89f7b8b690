"""Whether the defaults in a schema keep the schema's own rules."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.custom.metadata import WrongMetadata, read_embedded, validate_embedded
from moorage.cluster.custom.structural import META_FIELDS, declared_schema
from moorage.cluster.custom.validation import validate
from moorage.cluster.custom.values import prune
from moorage.cluster.custom.wording import by_name
from moorage.cluster.schema.model import Field, Schema

_VALUE = "value"


def default_problems(schema: Document, path: str, *, root: bool = True) -> Iterator[Cause]:
    """The broken rules; those of metadata have no defaults that count."""
    if schema.get("default") is not None:
        yield from _check(schema, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        yield from default_problems(schema["items"], f"{path}.items", root=False)
    whole = root or schema.get("x-kubernetes-embedded-resource") is True
    for name, inner in (schema.get("properties") or {}).items():
        if not (whole and name in META_FIELDS):
            yield from default_problems(inner, f"{path}.properties[{name}]", root=False)


def _check(schema: Document, path: str) -> Iterator[Cause]:
    value = schema["default"]
    shape = declared_schema(schema)
    shape.embedded = schema.get("x-kubernetes-embedded-resource") is True
    holder = Schema(fields={_VALUE: Field(shape)})
    pruned, unknown = prune(holder, {_VALUE: value})
    if unknown:
        yield invalid_value(path, by_name(value), "must not have unknown fields")
    try:
        read_embedded(holder, pruned, "", [])
    except WrongMetadata as error:
        yield invalid_value(path, by_name(value), str(error))
        return
    inside = [
        cause._replace(field=path + cause.field.removeprefix(_VALUE))
        for cause in validate_embedded(holder, pruned)
    ]
    yield from inside or validate(shape, value, field=path)
