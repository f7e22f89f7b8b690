"""Versions and schemas as messages print them: with the names that the original has for them inside."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document

# The fields of a schema in the order of the original, with what stands for those that are absent.
_SCHEMA: Document = {
    "id": "", "$schema": "", "$ref": None, "description": "", "type": "", "nullable": False, "format": "",
    "title": "", "default": None, "maximum": None, "exclusiveMaximum": False, "minimum": None,
    "exclusiveMinimum": False, "maxLength": None, "minLength": None, "pattern": "", "maxItems": None,
    "minItems": None, "uniqueItems": False, "multipleOf": None, "enum": None, "maxProperties": None,
    "minProperties": None, "required": None, "items": None, "allOf": None, "oneOf": None, "anyOf": None,
    "not": None, "properties": None, "additionalProperties": None, "patternProperties": None,
    "dependencies": None, "additionalItems": None, "definitions": None, "externalDocs": None, "example": None,
    "x-kubernetes-preserve-unknown-fields": None, "x-kubernetes-embedded-resource": False,
    "x-kubernetes-int-or-string": False, "x-kubernetes-list-map-keys": None, "x-kubernetes-list-type": None,
    "x-kubernetes-map-type": None, "x-kubernetes-validations": None,
}  # fmt: skip
_VERSION: Document = {
    "name": "", "served": False, "storage": False, "deprecated": False, "deprecationWarning": None,
    "schema": None, "subresources": None, "additionalPrinterColumns": None, "selectableFields": None,
}  # fmt: skip
_COLUMN: Document = {"name": "", "type": "", "format": "", "description": "", "priority": 0, "jsonPath": ""}
_SCALE: Document = {"specReplicasPath": "", "statusReplicasPath": "", "labelSelectorPath": None}
_RULE: Document = {
    "rule": "", "message": "", "messageExpression": "", "reason": None, "fieldPath": "",
    "optionalOldSelf": None,
}  # fmt: skip
_ROOT = (
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required",
    "items", "properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
)  # fmt: skip


_NAMES = {"id": "ID", "jsonPath": "JSONPath"}


def _name(given: str) -> str:
    """`XListType` for `x-kubernetes-list-type`, `MaxItems` for `maxItems`."""
    words = given.removeprefix("$").replace("x-kubernetes", "x").split("-")
    return _NAMES.get(given) or "".join(word[0].upper() + word[1:] for word in words)


ROOT_FIELDS = [_name(each) for each in _ROOT]
"""What a schema may have at its root if the status has an address of its own."""


def other_than_root_fields(schema: Document) -> bool:
    return any(value not in (None, "", False) and name not in _ROOT for name, value in schema.items())


def internal_version(version: Document) -> Document:
    return _internal(_VERSION, version)


def internal_schema(schema: Document) -> Document:
    return _internal(_SCHEMA, schema)


def internal_rule(rule: Document) -> Document:
    """A rule for objects, in the Common Expression Language."""
    return _internal(_RULE, rule)


def _internal(fields: Document, found: Document) -> Document:
    return {
        _name(name): empty if found.get(name) is None else _value(name, found[name])
        for name, empty in fields.items()
    }


_ONE: Document = {
    "schema": {"openAPIV3Schema": None}, "openAPIV3Schema": _SCHEMA, "not": _SCHEMA,
    "subresources": {"status": None, "scale": None}, "scale": _SCALE,
}  # fmt: skip
_MANY: Document = {
    "allOf": _SCHEMA, "oneOf": _SCHEMA, "anyOf": _SCHEMA,
    "additionalPrinterColumns": _COLUMN, "selectableFields": {"jsonPath": ""},
    "x-kubernetes-validations": _RULE,
}  # fmt: skip


def _value(name: str, value: Any) -> Any:
    if name in _ONE:
        return _internal(_ONE[name], value)
    if name in _MANY:
        return [_internal(_MANY[name], each) for each in value] or None
    if name in ("properties", "patternProperties", "definitions"):
        return {key: internal_schema(each) for key, each in sorted(value.items())}
    if name == "items":
        several = isinstance(value, list)
        schemas = [internal_schema(each) for each in value] if several else None
        return {"Schema": None if several else internal_schema(value), "JSONSchemas": schemas}
    if name in ("additionalProperties", "additionalItems"):
        schema = internal_schema(value) if isinstance(value, dict) else None
        return {"Allows": value is True or schema is not None, "Schema": schema}
    return value
