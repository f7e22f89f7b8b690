"""Whether a schema is structural: whether it says of each field what it is, before it says what it may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from moorage.cluster.base.errors import Cause, forbidden_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.patterns import problem
from moorage.cluster.custom.wording import invalid

Level = Literal["root", "items", "field"]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNTYPED = {
    "root": "must not be empty at the root",
    "items": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_UNSUPPORTED = (
    "id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions",
)  # fmt: skip


def unsupported_part(schema: Document) -> str:
    """What is in a schema that a structural one cannot have at all; "" if there is nothing."""
    for name in _UNSUPPORTED:
        if schema.get(name) is not None:
            return f"OpenAPIV3Schema '{name.lstrip('$') if name == '$schema' else name}' is not supported"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    return next((found for part in parts(schema) if (found := unsupported_part(part))), "")


def parts(schema: Document) -> Iterator[Document]:
    """All schemas directly inside a schema."""
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    for name in ("not", "items", "additionalProperties", "additionalItems"):
        value = schema.get(name)
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict))
    for name in ("properties", "patternProperties", "definitions", "dependencies"):
        yield from (each for each in (schema.get(name) or {}).values() if isinstance(each, dict))


def is_deeper_than(schema: Document, limit: int) -> bool:
    level = [schema]
    for _ in range(limit):
        level = [part for each in level for part in parts(each)]
    return bool(level)


def structure_problems(schema: Document, path: str) -> list[Cause]:
    found = [*_shapes(schema, "root", path), *_incomplete(schema, schema, path, path)]
    return sorted(found, key=str)


def _shapes(schema: Document, level: Level, path: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    items, values = schema.get("items"), schema.get("additionalProperties")
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True
    int_or_string = schema.get("x-kubernetes-int-or-string") is True
    properties = schema.get("properties") or {}
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _shapes(items, "items", f"{path}.items")
    for name, inner in properties.items():
        yield from _shapes(inner, "field", f"{path}.properties[{name}]")
    if values is not None:
        if level == "root":
            yield forbidden_value(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(values, dict):
            yield from _shapes(values, "field", f"{path}.additionalProperties")
    if int_or_string:
        for name, given in (("preserve-unknown-fields", keeps), ("embedded-resource", embedded)):
            if given:
                detail = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(f"{path}.x-kubernetes-{name}", True, detail)
    yield from _checks(schema, path)
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    elif not kind and not int_or_string and not keeps:
        yield required(f"{path}.type", _UNTYPED[level])
    if embedded and values is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden_value(f"{path}.additionalProperties", detail)
    if level == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if level == "root" or embedded:
        yield from _types_of_metadata(properties, path)
    if level == "root" and "metadata" in properties and not _only_names(properties["metadata"]):
        yield forbidden_value(
            f"{path}.properties[metadata]",
            "must not specify anything other than name and generateName, but metadata is implicitly "
            "specified",
        )
    if embedded and not keeps and not properties:
        yield required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        )


def _types_of_metadata(properties: Document, path: str) -> Iterator[Cause]:
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in properties and properties[name].get("type", "") != wanted:
            given = properties[name].get("type", "")
            yield invalid(f"{path}.properties[{name}].type", given, f"must be {wanted}")


def _only_names(metadata: Document) -> bool:
    if set(metadata) - {"type", "default", "properties"}:
        return False
    return not set(metadata.get("properties") or ()) - {"name", "generateName"}


def _checks(schema: Document, path: str) -> Iterator[Cause]:
    """The checks of a schema. Only where it is clear that they are for it may they speak of types."""
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    if any_of != _INT_OR_STRING:
        for place, inner in enumerate(any_of):
            yield from _nested(inner, f"{path}.anyOf[{place}]")
    for place, inner in enumerate(all_of):
        first = place == 0 and inner.get("anyOf") == _INT_OR_STRING
        known = {**inner, "anyOf": []} if first else inner
        yield from _nested(known, f"{path}.allOf[{place}]")
    for place, inner in enumerate(schema.get("oneOf") or ()):
        yield from _nested(inner, f"{path}.oneOf[{place}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern", "")
    if pattern and (why := problem(pattern)):
        yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {why}")


def _nested(schema: Document, path: str) -> Iterator[Cause]:
    yield from _checks(schema, path)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        yield from _nested(inner, f"{path}.properties[{name}]")
    for name, detail in _NESTED:
        if schema.get(name) not in (None, "", False, []) or (
            name == "additionalProperties" and name in schema
        ):
            yield forbidden_value(f"{path}.{name}", detail)
    if "metadata" in properties:
        yield forbidden_value(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete(checks: Document, schema: Any, path: str, checks_path: str) -> Iterator[Cause]:
    """What is checked somewhere without being declared."""
    for name in ("allOf", "anyOf", "oneOf"):
        for place, inner in enumerate(checks.get(name) or ()):
            yield from _undeclared(inner, schema, path, f"{checks_path}.{name}[{place}]")
    if checks.get("not") is not None:
        yield from _undeclared(checks["not"], schema, path, f"{checks_path}.not")


def _undeclared(checks: Document, schema: Any, path: str, checks_path: str) -> Iterator[Cause]:
    if schema is None:
        yield required(path, f"because it is defined in {checks_path}")
        return
    yield from _incomplete(checks, schema, path, checks_path)
    if isinstance(checks.get("items"), dict):
        yield from _undeclared(checks["items"], schema.get("items"), f"{path}.items", f"{checks_path}.items")
    declared = schema.get("properties") or {}
    for name, inner in (checks.get("properties") or {}).items():
        place = f"properties[{name}]"
        yield from _undeclared(inner, declared.get(name), f"{path}.{place}", f"{checks_path}.{place}")
