"""Checks that a document mentions every field an object models, under the name the API uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.api import decoding
from moorage.api.meta import Object

METADATA: dict[str, Any] = {
    "name": "n",
    "namespace": "shop",
    "uid": "u",
    "resourceVersion": "1",
    "generation": 1,
    "generateName": "n-",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "ReplicaSet", "name": "o", "uid": "u", "controller": True}
    ],
}


def assert_complete(kind: type[Object], document: dict[str, Any]) -> None:
    """The document sets every field of the kind and reads back as it was written."""
    decoded = decoding.decode(kind, msgspec.json.encode(document))
    assert list(_left_out(decoded, kind.kind)) == []
    fields = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == fields
    assert document["apiVersion"] == kind.api_version()
    assert document["kind"] == kind.kind


def _left_out(value: object, path: str) -> Iterator[str]:
    if isinstance(value, tuple):
        # The first element stands for all: lists of a document have one complete element.
        yield from _left_out(value[0], f"{path}[0]")
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            held = getattr(value, field.name)
            if held in (None, "", 0, False, (), {}) or held == field.default:
                yield f"{path}.{field.name}"
            else:
                yield from _left_out(held, f"{path}.{field.name}")
