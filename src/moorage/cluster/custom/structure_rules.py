"""Whether a schema is structural: whether it says of each field what it is, before it says what it may be."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.patterns import problem
from moorage.cluster.custom.structural import ALTERNATIVES, DECLARED, inner_schemas, schema_and_inner

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNTYPED = {
    "root": "must not be empty at the root",
    "items": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED = {
    "type": "empty", "additionalProperties": "undefined", "default": "undefined", "title": "empty",
    "description": "empty", "nullable": "false", "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false", "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty", "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined", "x-kubernetes-validations": "empty",
}  # fmt: skip
_UNSUPPORTED = (
    "id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions",
)  # fmt: skip
_METADATA_TYPES = {"kind": "string", "apiVersion": "string", "metadata": "object"}


def can_be_structural(schema: Document) -> bool:
    """Whether there is nothing in a schema that a structural one cannot have at all."""
    return not any(
        isinstance(each.get("items"), list)
        or each.get("x-kubernetes-preserve-unknown-fields") is False
        or any(each.get(name) is not None for name in _UNSUPPORTED)
        for each in schema_and_inner(schema)
    )


def structure_problems(schema: Document, path: str) -> list[Cause]:
    found = [*_shapes(schema, "root", path), *_incomplete(schema, schema, path, path)]
    return sorted(found, key=str)


def wrong_type(schema: Document, path: str, detail: str) -> Cause:
    kind = schema.get("type", "")
    return invalid_value(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)


def _shapes(schema: Document, level: str, path: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True
    int_or_string = schema.get("x-kubernetes-int-or-string") is True
    properties = schema.get("properties") or {}
    if kind == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    for step, inner in inner_schemas(schema, (*DECLARED, "additionalProperties")):
        yield from _shapes(inner, "items" if step == ".items" else "field", path + step)
    for name, given in (("preserve-unknown-fields", keeps), ("embedded-resource", embedded)):
        if int_or_string and given:
            detail = "must be false if x-kubernetes-int-or-string is true"
            yield invalid_value(f"{path}.x-kubernetes-{name}", True, detail)
    yield from _checks(schema, path)
    if embedded and kind != "object":
        yield wrong_type(schema, path, "must be object if x-kubernetes-embedded-resource is true")
    elif not kind and not int_or_string and not keeps:
        yield required(f"{path}.type", _UNTYPED[level])
    if level == "root":
        yield from _root_shape(schema, properties, path)
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden_value(f"{path}.additionalProperties", detail)
    if embedded and not keeps and not properties:
        yield required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        )
    for name, wanted in _METADATA_TYPES.items() if level == "root" or embedded else ():
        given = properties.get(name, {}).get("type", "")
        if name in properties and given != wanted:
            yield invalid_value(f"{path}.properties[{name}].type", given, f"must be {wanted}")


def _root_shape(schema: Document, properties: Document, path: str) -> Iterator[Cause]:
    if schema.get("additionalProperties") is not None:
        yield forbidden_value(f"{path}.additionalProperties", "must not be used at the root")
    if schema.get("type", "") not in ("", "object"):
        yield invalid_value(f"{path}.type", schema["type"], "must be object at the root")
    metadata = properties.get("metadata", {})
    names = metadata.get("properties") or {}
    if metadata.keys() - {"type", "default", "properties"} or names.keys() - {"name", "generateName"}:
        yield forbidden_value(
            f"{path}.properties[metadata]",
            "must not specify anything other than name and generateName, but metadata is implicitly "
            "specified",
        )


def _checks(schema: Document, path: str) -> Iterator[Cause]:
    """The checks of a schema. Only where it is clear that they are for it may they speak of types."""
    for step, inner in inner_schemas(schema, ALTERNATIVES):
        if step.startswith(".anyOf") and schema["anyOf"] == _INT_OR_STRING:
            continue
        known = step == ".allOf[0]" and inner.get("anyOf") == _INT_OR_STRING
        yield from _nested({**inner, "anyOf": []} if known else inner, path + step)
    pattern = schema.get("pattern", "")
    if pattern and (why := problem(pattern)):
        detail = f"must be a valid regular expression, but isn't: {why}"
        yield invalid_value(f"{path}.pattern", pattern, detail)


def _nested(schema: Document, path: str) -> Iterator[Cause]:
    yield from _checks(schema, path)
    for step, inner in inner_schemas(schema, DECLARED):
        yield from _nested(inner, path + step)
    for name, wanted in _NESTED.items():
        given = schema.get(name)
        if given not in (None, "", False, []) or (name == "additionalProperties" and name in schema):
            yield forbidden_value(f"{path}.{name}", f"must be {wanted} to be structural")
    if "metadata" in (schema.get("properties") or ()):
        yield forbidden_value(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete(checks: Document, schema: Document, path: str, checks_path: str) -> Iterator[Cause]:
    """What is checked somewhere without being declared."""
    for step, inner in inner_schemas(checks, ALTERNATIVES):
        yield from _undeclared(inner, schema, path, checks_path + step)


def _undeclared(checks: Document, schema: Document, path: str, checks_path: str) -> Iterator[Cause]:
    yield from _incomplete(checks, schema, path, checks_path)
    declared = dict(inner_schemas(schema, DECLARED))
    for step, inner in inner_schemas(checks, DECLARED):
        if step in declared:
            yield from _undeclared(inner, declared[step], path + step, checks_path + step)
        else:
            yield required(path + step, f"because it is defined in {checks_path}{step}")
