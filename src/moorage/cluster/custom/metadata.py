"""The metadata of custom objects, and of whole objects inside them, which has a shape of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.errors import Cause, Refusal, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.structural import META_FIELDS, object_meta_schema
from moorage.cluster.custom.wording import invalid
from moorage.cluster.kinds.metadata import validate_metadata
from moorage.cluster.schema.conform import Conformed, conform
from moorage.cluster.schema.forms import dns_1035_label_problems, path_segment_problems
from moorage.cluster.schema.model import Schema


class WrongMetadata(Exception):
    """Metadata that cannot be read; the text says why."""


def read_metadata(metadata: Any) -> Conformed:
    """Metadata in its canonical form, and the paths of unknown fields in it."""
    ordered = dict(sorted(metadata.items())) if isinstance(metadata, dict) else metadata
    try:
        return conform(object_meta_schema(), ordered, kind="", api_version="")
    except Refusal as refusal:
        raise WrongMetadata(refusal.message.partition(": ")[2]) from None


def has_embedded(schema: Schema) -> bool:
    """Whether there may be whole objects inside objects of this shape."""
    parts = [field.schema for field in schema.fields.values()]
    parts += [part for part in (schema.values, schema.items) if part is not None]
    return any(part.embedded or has_embedded(part) for part in parts)


def read_embedded(schema: Schema, value: Any, path: str, unknown: list[str]) -> None:
    """Brings the metadata of objects inside the value into its canonical form, in place."""
    for shape, inner, place in _parts(schema, value, path):
        if shape.embedded and isinstance(inner, dict):
            _read_type(inner, place)
            if "metadata" in inner:
                try:
                    found = read_metadata(inner["metadata"])
                except WrongMetadata as error:
                    wrong = invalid(f"{place}.metadata", inner["metadata"], str(error))
                    raise WrongMetadata(str(wrong)) from None
                inner["metadata"] = found.document
                unknown += (f"{place}.metadata.{name}" for name in found.unknown)
        read_embedded(shape, inner, place, unknown)


def _read_type(found: Document, path: str) -> None:
    for name in ("apiVersion", "kind"):
        if name in found and not isinstance(found[name], str):
            raise WrongMetadata(str(invalid(f"{path}.{name}", found[name], "must be a string")))


def validate_embedded(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """The rules that the metadata of objects inside the value breaks."""
    for shape, inner, place in _parts(schema, value, path):
        if shape.embedded and isinstance(inner, dict):
            yield from _validate_whole(inner, place)
        yield from validate_embedded(shape, inner, place)


def _parts(schema: Schema, value: Any, path: str) -> Iterator[tuple[Schema, Any, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            field = schema.fields.get(name)
            if field is not None:
                if not (schema.embedded and name in META_FIELDS):
                    yield field.schema, inner, f"{path}.{name}" if path else name
            elif schema.values is not None:
                yield schema.values, inner, f"{path}[{name}]"
    elif isinstance(value, list) and schema.items is not None:
        for place, inner in enumerate(value):
            yield schema.items, inner, f"{path}[{place}]"


def _validate_whole(found: Document, path: str) -> Iterator[Cause]:
    for name in ("apiVersion", "kind"):
        if name not in found:
            yield required(f"{path}.{name}")
        elif not found[name]:
            yield invalid(f"{path}.{name}", "", "must not be empty")
    version, kind = found.get("apiVersion"), found.get("kind")
    if version and version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if kind and (problems := dns_1035_label_problems(kind.lower())):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", kind, detail)
    if isinstance(metadata := found.get("metadata"), dict):
        named = {**metadata, "name": metadata.get("name") or "unnamed"}
        causes = validate_metadata(
            {"metadata": named}, namespaced=bool(named.get("namespace")), name_rule=path_segment_problems
        )
        for cause in causes:
            yield cause._replace(field=f"{path}.{cause.field}")
