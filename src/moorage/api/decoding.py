"""Bytes and documents to typed objects.

The fast way decodes JSON straight into the Structs. Where that fails because of a `null` (which Kubernetes
reads as "absent"), the object is decoded once more with the nulls left out.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from moorage.api.meta import Object

T = TypeVar("T", bound=Object)

_MAX_NAME = 320  # of a namespace (63), a slash and a name (253), with some room


class DecodeError(ValueError):
    """An object that cannot be read; the text names the field."""


@cache
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


def decode(kind: type[T], source: bytes) -> T:
    """Reads one object from JSON and keeps the bytes for `raw`."""
    try:
        decoded = _read(kind, source)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"{kind.kind}: {error}") from None
    decoded.__dict__["_source"] = source
    return decoded


def from_document(kind: type[T], document: dict[str, Any]) -> T:
    """Makes an object of a document (read from YAML or JSON); `raw` is that document."""
    decoded = _convert(kind, document)
    decoded.__dict__["raw"] = document
    return decoded


def _read(kind: type[T], source: bytes) -> T:
    try:
        read: T = _decoder(kind).decode(source)
        return read
    except msgspec.ValidationError:
        return _convert(kind, msgspec.json.decode(source))


def _convert(kind: type[T], document: Any) -> T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError:
        try:
            return msgspec.convert(without_nulls(document), kind)
        except msgspec.ValidationError as error:
            raise DecodeError(f"{_named(kind, document)}: {error}") from None


def without_nulls(value: Any) -> Any:
    """A value without the fields that are null, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _named(kind: type[Object], document: Any) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = (metadata.get(part) for part in ("namespace", "name"))
    name = "/".join(part for part in parts if isinstance(part, str) and part)
    return f"{kind.kind} {' '.join(name.split())[:_MAX_NAME]}" if name else kind.kind
