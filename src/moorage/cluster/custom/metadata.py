"""The metadata of custom objects, and of whole objects inside them, which has a shape of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.errors import Cause, Refusal, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.problems import by_name
from moorage.cluster.custom.structural import META_FIELDS, object_meta_schema
from moorage.cluster.custom.values import parts
from moorage.cluster.kinds.metadata import validate_metadata
from moorage.cluster.schema.conform import Conformed, conform
from moorage.cluster.schema.forms import dns_1035_label_problems, path_segment_problems
from moorage.cluster.schema.model import Schema

_TYPE_FIELDS = ("apiVersion", "kind")


class WrongMetadata(Exception):
    """Metadata that cannot be read; the text says why."""


def read_metadata(metadata: Any) -> Conformed:
    """Metadata in its canonical form, and the paths of unknown fields in it."""
    ordered = dict(sorted(metadata.items())) if isinstance(metadata, dict) else metadata
    try:
        return conform(object_meta_schema(), ordered, kind="", api_version="")
    except Refusal as refusal:
        raise WrongMetadata(refusal.message.partition(": ")[2]) from None


def read_embedded(schema: Schema, value: Any, path: str, unknown: list[str]) -> None:
    """Brings the metadata of objects inside the value into its canonical form, in place."""
    for found, place in _whole_objects(schema, value, path):
        for name in _TYPE_FIELDS:
            if name in found and not isinstance(found[name], str):
                raise _wrong(f"{place}.{name}", found[name], "must be a string")
        if "metadata" in found:
            try:
                metadata = read_metadata(found["metadata"])
            except WrongMetadata as error:
                raise _wrong(f"{place}.metadata", found["metadata"], str(error)) from None
            found["metadata"] = metadata.document
            unknown += (f"{place}.metadata.{name}" for name in metadata.unknown)


def _wrong(field: str, value: Any, why: str) -> WrongMetadata:
    return WrongMetadata(str(invalid_value(field, by_name(value), why)))


def validate_embedded(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """The rules that the metadata of objects inside the value breaks."""
    for found, place in _whole_objects(schema, value, path):
        yield from _type_problems(found, place)
        if isinstance(metadata := found.get("metadata"), dict):
            named = {**metadata, "name": metadata.get("name") or "unnamed"}
            namespaced = bool(named.get("namespace"))
            for cause in validate_metadata(
                {"metadata": named}, namespaced=namespaced, name_rule=path_segment_problems
            ):
                yield cause._replace(field=f"{place}.{cause.field}")


def _whole_objects(schema: Schema, value: Any, path: str) -> Iterator[tuple[Document, str]]:
    """The objects inside a value that have metadata of their own."""
    if schema.embedded and isinstance(value, dict):
        value = {name: inner for name, inner in value.items() if name not in META_FIELDS}
    for shape, inner, place in parts(schema, value, path):
        if shape.embedded and isinstance(inner, dict):
            yield inner, place
        yield from _whole_objects(shape, inner, place)


def kind_problems(field: str, kind: str) -> Iterator[Cause]:
    if problems := dns_1035_label_problems(kind.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid_value(field, kind, detail)


def _type_problems(found: Document, path: str) -> Iterator[Cause]:
    for name in _TYPE_FIELDS:
        if name not in found:
            yield required(f"{path}.{name}")
        elif not found[name]:
            yield invalid_value(f"{path}.{name}", "", "must not be empty")
    version = found.get("apiVersion", "")
    if version.count("/") > 1:
        yield invalid_value(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if found.get("kind"):
        yield from kind_problems(f"{path}.kind", found["kind"])
