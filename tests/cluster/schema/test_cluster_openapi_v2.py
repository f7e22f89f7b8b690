"""The older OpenAPI document; tests/embedded has kubectl read its protobuf form."""

from __future__ import annotations

import json
import re
from typing import Any

from moorage.cluster.custom.structural import to_schema
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.schema.discovery_data import builtin_definitions
from moorage.cluster.schema.openapi_v2 import openapi_v2_document

BUILT_IN = builtin_definitions({})


def document_with(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The document of a cluster with one custom kind whose spec has these properties."""
    spec = {"type": "object", "properties": properties}
    schema = to_schema({"type": "object", "properties": {"spec": spec}, **more})
    things = Definition("shop.example.com", "v1", "things", "Thing", True, schema, custom=True)
    return openapi_v2_document(Definitions([*BUILT_IN, things]))


def test_everything_that_is_referred_to_is_defined() -> None:
    document = openapi_v2_document(Definitions(BUILT_IN))
    text = json.dumps(document)
    referred = set(re.findall(r'"\$ref": "#/definitions/([^"]+)"', text))
    assert referred and referred <= set(document["definitions"])
    assert "#/components/" not in text


def test_every_kind_is_found_by_its_group_and_version() -> None:
    document = openapi_v2_document(Definitions(BUILT_IN))
    found = {
        tuple(kind[part] for part in ("group", "version", "kind"))
        for schema in document["definitions"].values()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
    }
    assert found == {(each.group, each.version, each.kind) for each in BUILT_IN}


def test_types_that_have_another_form_than_in_version_3() -> None:
    definitions = openapi_v2_document(Definitions(BUILT_IN))["definitions"]
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {"type": "string"}
    port = definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert port == {"type": "string", "format": "int-or-string"}
    affinity = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["affinity"]
    assert affinity == {"$ref": "#/definitions/io.k8s.api.core.v1.Affinity"}


def test_a_custom_kind_keeps_what_can_be_said() -> None:
    document = document_with(
        {
            "size": {"type": "integer", "minimum": 1, "default": 2, "enum": [1, 2]},
            "maybe": {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
            "either": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
            },
            "many": {"type": "array", "items": {"type": "string", "pattern": "x"}},
            "open": {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
        }
    )
    spec = document["definitions"]["com.example.shop.v1.Thing"]["properties"]["spec"]["properties"]
    assert spec == {
        "size": {"type": "integer", "minimum": 1, "default": 2, "enum": [1, 2]},
        "maybe": {},
        "either": {"x-kubernetes-int-or-string": True},
        "many": {"type": "array", "items": {"type": "string", "pattern": "x"}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }


def test_a_custom_kind_with_unknown_fields_names_none() -> None:
    found = document_with({}, **{"x-kubernetes-preserve-unknown-fields": True})["definitions"]
    kind = {"group": "shop.example.com", "version": "v1", "kind": "Thing"}
    assert found["com.example.shop.v1.Thing"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [kind],
    }


def test_operations_take_a_body_and_parameters() -> None:
    paths = openapi_v2_document(Definitions(BUILT_IN))["paths"]
    pods = paths["/api/v1/namespaces/{namespace}/pods"]
    body, *others = pods["post"]["parameters"]
    pod = {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}
    assert body == {"name": "body", "in": "body", "required": True, "schema": pod}
    assert {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True} in others
    assert pods["post"]["responses"]["200"]["schema"] == pod
    patch = paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "application/apply-patch+yaml" in patch["consumes"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
