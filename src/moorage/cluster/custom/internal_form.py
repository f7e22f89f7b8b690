"""Versions and schemas as messages print them: with the names that the original has for them inside."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document

_PLAIN = (
    ("ID", "id", ""), ("Schema", "$schema", ""), ("Ref", "$ref", None), ("Description", "description", ""),
    ("Type", "type", ""), ("Nullable", "nullable", False), ("Format", "format", ""), ("Title", "title", ""),
    ("Default", "default", None), ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False), ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None), ("MinLength", "minLength", None), ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None), ("MinItems", "minItems", None), ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None), ("Enum", "enum", None), ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None), ("Required", "required", None), ("Items", "items", None),
    ("AllOf", "allOf", None), ("OneOf", "oneOf", None), ("AnyOf", "anyOf", None), ("Not", "not", None),
    ("Properties", "properties", None), ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None), ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None), ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None), ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None), ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None), ("XValidations", "x-kubernetes-validations", None),
)  # fmt: skip
_LISTS = ("AllOf", "OneOf", "AnyOf")
_MAPS = ("Properties", "PatternProperties", "Definitions")

ROOT_FIELDS = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
    "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required",
    "Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
"""What a schema may have at its root if the status has an address of its own."""


def other_than_root_fields(schema: Document) -> bool:
    allowed = {given for name, given, _ in _PLAIN if name in ROOT_FIELDS}
    return any(value not in (None, "", False) and name not in allowed for name, value in schema.items())


def internal_schema(schema: Document) -> Document:
    found: Document = {}
    for name, given, empty in _PLAIN:
        value = schema.get(given)
        if value is None:
            found[name] = empty
        elif name in _LISTS:
            found[name] = [internal_schema(each) for each in value]
        elif name in _MAPS:
            found[name] = {key: internal_schema(each) for key, each in sorted(value.items())}
        elif name == "Not":
            found[name] = internal_schema(value)
        elif name == "Items":
            found[name] = _items(value)
        elif name in ("AdditionalProperties", "AdditionalItems"):
            found[name] = _schema_or_bool(value)
        else:
            found[name] = value
    return found


def _items(value: Any) -> Document:
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": [internal_schema(each) for each in value]}
    return {"Schema": internal_schema(value), "JSONSchemas": None}


def _schema_or_bool(value: Any) -> Document:
    if isinstance(value, dict):
        return {"Allows": True, "Schema": internal_schema(value)}
    return {"Allows": value is True, "Schema": None}


def internal_version(version: Document) -> Document:
    schema = version.get("schema")
    return {
        "Name": version["name"],
        "Served": version["served"],
        "Storage": version["storage"],
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if schema is None else _validation(schema),
        "Subresources": _subresources(version.get("subresources")),
        "AdditionalPrinterColumns": [_column(each) for each in version.get("additionalPrinterColumns") or ()]
        or None,
        "SelectableFields": [
            {"JSONPath": each.get("jsonPath", "")} for each in version.get("selectableFields") or ()
        ]
        or None,
    }


def _validation(schema: Document) -> Document:
    open_api = schema.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if open_api is None else internal_schema(open_api)}


def _subresources(found: Document | None) -> Document | None:
    if found is None:
        return None
    scale = found.get("scale")
    return {
        "Status": found.get("status"),
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _column(column: Document) -> Document:
    return {
        "Name": column.get("name", ""),
        "Type": column.get("type", ""),
        "Format": column.get("format", ""),
        "Description": column.get("description", ""),
        "Priority": column.get("priority", 0),
        "JSONPath": column.get("jsonPath", ""),
    }
