"""Shapes as OpenAPI v3 schemas."""

from __future__ import annotations

from typing import Any

from moorage.cluster.schema.builtin import type_name
from moorage.cluster.schema.model import ABSENT, ANY, ARRAY, ATOMIC, OBJECT, Field, Schema

OpenAPI = dict[str, Any]

_MACHINERY = "io.k8s.apimachinery.pkg"
_SPECIAL: dict[str, tuple[str, OpenAPI]] = {
    "quantity": (f"{_MACHINERY}.api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "int-or-string": (
        f"{_MACHINERY}.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "date-time": (f"{_MACHINERY}.apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    "micro-time": (f"{_MACHINERY}.apis.meta.v1.MicroTime", {"type": "string", "format": "date-time"}),
}


class Components:
    """The schemas of a document, each under its name; asking for one adds those it refers to."""

    def __init__(self) -> None:
        self.schemas: dict[str, OpenAPI] = {}

    def add(self, name: str, schema: Schema, kind: dict[str, str]) -> str:
        """Adds the schema of a kind and gives the name it is found under."""
        if type_name(schema):
            name = type_name(schema)
            self._built_in(schema)
        else:
            self.schemas[name] = self._inline(schema, built_in=False)
        self.schemas[name]["x-kubernetes-group-version-kind"] = [kind]
        return name

    def _built_in(self, schema: Schema) -> OpenAPI:
        name = type_name(schema)
        if name not in self.schemas:
            self.schemas[name] = {}  # types may refer to themselves
            self.schemas[name].update(self._inline(schema, built_in=True))
        return reference(name)

    def _shown(self, schema: Schema, built_in: bool) -> OpenAPI:
        if type_name(schema):
            return self._built_in(schema)
        if built_in and schema.format in _SPECIAL:
            name, shown = _SPECIAL[schema.format]
            self.schemas[name] = shown
            return reference(name)
        return self._inline(schema, built_in)

    def _inline(self, schema: Schema, built_in: bool) -> OpenAPI:
        shown: OpenAPI = {"description": schema.description} if schema.description else {}
        if schema.type:
            shown["type"] = schema.type
        if schema.format == "int-or-string":
            shown["x-kubernetes-int-or-string"] = True
        elif schema.format:
            shown["format"] = schema.format
        if schema.fields:
            shown["properties"] = {
                name: self._field(field, built_in) for name, field in schema.fields.items()
            }
        if required := [name for name, field in schema.fields.items() if field.required]:
            shown["required"] = required
        if schema.values is not None and schema.type == OBJECT:
            shown["additionalProperties"] = self._shown(schema.values, built_in)
        if schema.items is not None:
            shown["items"] = self._shown(schema.items, built_in)
        shown.update(schema.rules)
        return shown | _extensions(schema, built_in)

    def _field(self, field: Field, built_in: bool) -> OpenAPI:
        shown = self._shown(field.schema, built_in)
        more: OpenAPI = {}
        if field.default is not ABSENT and field.default is not None:
            more["default"] = field.default
        if field.patch_strategy:
            more["x-kubernetes-patch-strategy"] = field.patch_strategy
        if field.patch_key:
            more["x-kubernetes-patch-merge-key"] = field.patch_key
        if more and "$ref" in shown:
            return {"allOf": [shown], **more}
        return {**shown, **more}


def reference(name: str) -> OpenAPI:
    return {"$ref": f"#/components/schemas/{name}"}


def _extensions(schema: Schema, built_in: bool) -> OpenAPI:
    found: OpenAPI = {}
    if schema.type == ARRAY:
        found["x-kubernetes-list-type"] = schema.list_type
    if schema.list_keys:
        found["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    if schema.map_type == ATOMIC:
        found["x-kubernetes-map-type"] = ATOMIC
    if schema.embedded:
        found["x-kubernetes-embedded-resource"] = True
    if schema.nullable:
        found["nullable"] = True
    if schema.keeps_unknown and built_in and schema.type == ANY:
        found["type"] = OBJECT
    elif schema.keeps_unknown:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found
