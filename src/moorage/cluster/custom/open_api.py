"""The schemas in a CustomResourceDefinition, as they are written there."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.store import Document

Steps = Iterator[tuple[str, Document]]


def versions_of(spec: Document) -> list[Document]:
    return spec.get("versions") or []


def open_api_of(version: Document) -> Document | None:
    found: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def alternatives(schema: Document) -> Steps:
    """The checks that are schemas themselves, each with the step that leads to it, such as `.allOf[0]`."""
    if isinstance(schema.get("not"), dict):
        yield ".not", schema["not"]
    for name in ("allOf", "oneOf", "anyOf"):
        for place, each in enumerate(schema.get(name) or ()):
            yield f".{name}[{place}]", each


def inner_schemas(schema: Document) -> Steps:
    """All schemas directly inside a schema, each with the step that leads to it, such as `.properties[a]`."""
    for name in ("additionalProperties", "additionalItems"):
        if isinstance(schema.get(name), dict):
            yield f".{name}", schema[name]
    yield from _named(schema, "properties")
    yield from alternatives(schema)
    for name in ("patternProperties", "definitions", "dependencies"):
        yield from _named(schema, name)
    items = schema.get("items")
    if isinstance(items, dict):
        yield ".items", items
    elif isinstance(items, list):
        yield from ((f".items[{place}]", each) for place, each in enumerate(items) if isinstance(each, dict))


def _named(schema: Document, name: str) -> Steps:
    for key, each in (schema.get(name) or {}).items():
        if isinstance(each, dict):
            yield f".{name}[{key}]", each


def all_schemas(schema: Document) -> Iterator[Document]:
    """A schema and all that are inside it."""
    yield schema
    for _, inner in inner_schemas(schema):
        yield from all_schemas(inner)


def is_deeper_than(schema: Document, limit: int) -> bool:
    level = [schema]
    for _ in range(limit):
        level = [inner for each in level for _, inner in inner_schemas(each)]
    return bool(level)
