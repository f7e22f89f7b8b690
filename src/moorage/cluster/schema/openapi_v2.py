"""OpenAPI v2, the older form of the same: one document about all groups, made from those of version 3.

Old kubectls check manifests with it, `kubectl explain --output=plaintext-openapiv2` shows it, and tools that
generate clients read it.
"""

from __future__ import annotations

from typing import Any

from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.openapi import OpenAPI, openapi_v3_document

VERSION = "1.36"
"""Of the release whose API is described."""

_OLD_FORMS: dict[str, OpenAPI] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
}
_V3, _V2 = "#/components/schemas/", "#/definitions/"
_NEW_WORDS = frozenset(("allOf", "anyOf", "oneOf", "not", "nullable"))
_INSIDE = frozenset(("items", "properties", "additionalProperties"))
_KIND = "x-kubernetes-group-version-kind"
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_PRODUCED = ["application/json", "application/yaml"]


def openapi_v2_document(definitions: Definitions) -> OpenAPI:
    """All types and operations. It is shared: nobody may change it."""
    paths: OpenAPI = {}
    types: OpenAPI = {}
    for group, version in dict.fromkeys((each.group, each.version) for each in definitions):
        document = openapi_v3_document(definitions, group, version)
        paths |= {path: _item(item) for path, item in document["paths"].items()}
        for name, schema in document["components"]["schemas"].items():
            # A kind is named as one where it is served, and may be part of others elsewhere.
            if name not in types or _KIND in schema:
                types[name] = _OLD_FORMS.get(name) or _type(schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": paths,
        "definitions": types,
    }


def _item(item: OpenAPI) -> OpenAPI:
    found: OpenAPI = {method: _operation(each) for method, each in item.items() if method != "parameters"}
    return {**found, "parameters": list(map(_parameter, item["parameters"]))}


def _operation(operation: OpenAPI) -> OpenAPI:
    content = operation.get("requestBody", {}).get("content", {})
    parameters = list(map(_parameter, operation.get("parameters", ())))
    for body in list(content.values())[:1]:
        parameters.insert(
            0, {"name": "body", "in": "body", "required": True, "schema": _schema(body["schema"])}
        )
    extensions = {name: value for name, value in operation.items() if name.startswith("x-")}
    consumed = list(content) if operation["x-kubernetes-action"] == "patch" else ["*/*"]
    return {
        "consumes": consumed,
        "produces": _PRODUCED,
        **({"parameters": parameters} if parameters else {}),
        "responses": {code: _response(each) for code, each in operation["responses"].items()},
        **extensions,
    }


def _response(response: OpenAPI) -> OpenAPI:
    found: OpenAPI = {"description": response["description"]}
    for content in response.get("content", {}).values():
        found["schema"] = _schema(content["schema"])
    return found


def _parameter(parameter: OpenAPI) -> OpenAPI:
    rest = {name: value for name, value in parameter.items() if name != "schema"}
    return {**rest, **parameter["schema"]}


def _type(schema: OpenAPI) -> OpenAPI:
    """kubectl would take any field for a mistake that a kind with unknown fields does not name."""
    if _KIND in schema and schema.get(_KEEPS_UNKNOWN):
        return {"type": "object", _KIND: schema[_KIND]}
    return _schema(schema)


def _schema(schema: OpenAPI) -> OpenAPI:
    """Without what the older form has no words for; what may be null, or have unknown fields, stays open."""
    dropped = _NEW_WORDS
    if schema.get("nullable"):
        dropped |= {"type", *_INSIDE}
    elif schema.get(_KEEPS_UNKNOWN):
        dropped |= _INSIDE
    found = {name: _value(name, value) for name, value in schema.items() if name not in dropped}
    for reference in schema.get("allOf", ()):
        if "$ref" in reference:
            found.pop("default", None)  # what a type has for a default stands in the type
            found |= _schema(reference)
    return found


def _value(name: str, value: Any) -> Any:
    match name:
        case "$ref":
            return value.replace(_V3, _V2)
        case "properties":
            return {field: _schema(each) for field, each in value.items()}
        case "items" | "additionalProperties" if isinstance(value, dict):
            return _schema(value)
    return value
