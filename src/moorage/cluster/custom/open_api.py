"""The schemas in a CustomResourceDefinition, as they are written there."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.store import Document

DECLARED = ("items", "properties")
ALTERNATIVES = ("not", "allOf", "oneOf", "anyOf")
_ALL = (
    "additionalProperties", "additionalItems", "properties", *ALTERNATIVES, "patternProperties",
    "definitions", "dependencies", "items",
)  # fmt: skip
_SINGLE = ("not", "items", "additionalProperties", "additionalItems")


def versions_of(spec: Document) -> list[Document]:
    return spec.get("versions") or []


def open_api_of(version: Document) -> Document | None:
    found: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def inner_schemas(schema: Document, names: tuple[str, ...] = _ALL) -> Iterator[tuple[str, Document]]:
    """The schemas in these fields of a schema, each with the step that leads to it: `.properties[a]`."""
    for name in names:
        value = schema.get(name)
        if isinstance(value, dict) and name in _SINGLE:
            yield f".{name}", value
        elif value and not isinstance(value, bool):
            inside = enumerate(value) if isinstance(value, list) else value.items()
            yield from ((f".{name}[{key}]", each) for key, each in inside if isinstance(each, dict))


def schema_and_inner(schema: Document) -> Iterator[Document]:
    """A schema and all that are inside it, however deep."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed([inner for _, inner in inner_schemas(each)])


def all_schemas(spec: Document) -> Iterator[Document]:
    """Those of all versions, with all that are inside them."""
    for version in versions_of(spec):
        yield from schema_and_inner(open_api_of(version) or {})


def is_deeper_than(schema: Document, limit: int) -> bool:
    level = [schema]
    for _ in range(limit):
        level = [inner for each in level for _, inner in inner_schemas(each)]
    return bool(level)
