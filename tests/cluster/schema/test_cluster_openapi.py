"""The OpenAPI documents, as far as kubectl looks into them."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.custom.structural import to_schema
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.schema.discovery_data import builtin_definitions
from moorage.cluster.schema.model import MAP, OBJECT, STRING, Field, Schema
from moorage.cluster.schema.openapi import openapi_v3_document, openapi_v3_index

DEFINITIONS = Definitions(builtin_definitions({}))


def things(**more: Any) -> Definition:
    spec = Schema(OBJECT, fields={"a": Field(Schema(STRING, rules={"pattern": "x"}), default="x")}, **more)
    schema = Schema(OBJECT, fields={"metadata": _metadata(), "spec": Field(spec, required=True)})
    return Definition("example.com", "v1", "things", "Thing", True, schema, custom=True)


def _metadata() -> Field:
    pods = DEFINITIONS.find("", "v1", "pods")
    assert pods is not None
    return pods.schema.fields["metadata"]


def patch_operation(document: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = document["paths"][path]["patch"]
    return found


def test_the_index_names_every_version() -> None:
    paths = openapi_v3_index(DEFINITIONS)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1"} <= set(paths)
    address = paths["apis/apps/v1"]["serverRelativeURL"]
    assert address.startswith("/openapi/v3/apis/apps/v1?hash=")
    assert openapi_v3_index(DEFINITIONS)["paths"] == paths


@pytest.mark.parametrize(("group", "path"), [("", "/api/v1"), ("apps", "/apis/apps/v1")])
def test_every_patch_tells_of_dry_runs_and_field_validation(group: str, path: str) -> None:
    document = openapi_v3_document(DEFINITIONS, group, "v1")
    found = [item["patch"] for address, item in document["paths"].items() if "patch" in item]
    assert found
    for operation in found:
        names = {each["name"] for each in operation["parameters"] if each["in"] == "query"}
        assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names
    assert all(address.startswith(f"{path}/") for address in document["paths"])


def test_built_in_kinds_take_strategic_merge_patches() -> None:
    operation = patch_operation(
        openapi_v3_document(DEFINITIONS, "", "v1"), "/api/v1/namespaces/{namespace}/pods/{name}"
    )
    assert operation["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert "application/strategic-merge-patch+json" in operation["requestBody"]["content"]


def test_built_in_types() -> None:
    schemas = openapi_v3_document(DEFINITIONS, "", "v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    spec = schemas["io.k8s.api.core.v1.PodSpec"]
    assert spec["required"] == ["containers"]
    assert spec["properties"]["containers"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }
    container = schemas["io.k8s.api.core.v1.Container"]
    assert container["properties"]["resources"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}],
        "default": {},
    }
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.Time"] == {"type": "string", "format": "date-time"}


def test_all_references_lead_somewhere() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for each in value.values() for found in references(each)]
        return [found for each in value for found in references(each)] if isinstance(value, list) else []

    for group, version in {(each.group, each.version) for each in DEFINITIONS}:
        document = openapi_v3_document(DEFINITIONS, group, version)
        known = document["components"]["schemas"]
        assert {each.removeprefix("#/components/schemas/") for each in references(document)} <= set(known)


def test_custom_resources_appear_and_change() -> None:
    definitions = Definitions([things()])
    document = openapi_v3_document(definitions, "example.com", "v1")
    thing = document["components"]["schemas"]["com.example.v1.Thing"]
    assert thing["required"] == ["spec"]
    assert thing["properties"]["spec"]["properties"]["a"] == {
        "type": "string",
        "pattern": "x",
        "default": "x",
    }
    assert thing["properties"]["metadata"]["allOf"]
    path = "/apis/example.com/v1/namespaces/{namespace}/things/{name}"
    content = patch_operation(document, path)["requestBody"]["content"]
    assert "application/strategic-merge-patch+json" not in content

    before = openapi_v3_index(definitions)
    definitions.add(things(keeps_unknown=True))
    assert openapi_v3_index(definitions) != before
    changed = openapi_v3_document(definitions, "example.com", "v1")
    spec = changed["components"]["schemas"]["com.example.v1.Thing"]["properties"]["spec"]
    assert spec["x-kubernetes-preserve-unknown-fields"] is True


def test_merge_keys_of_custom_lists() -> None:
    items = Schema(OBJECT, fields={"name": Field(Schema(STRING))})
    listed = Schema("array", items=items, list_type=MAP, list_keys=("name",))
    schema = Schema(OBJECT, fields={"list": Field(listed)})
    definitions = Definitions(
        [Definition("example.org", "v1", "lists", "Listed", False, schema, custom=True)]
    )
    shown = openapi_v3_document(definitions, "example.org", "v1")["components"]["schemas"][
        "org.example.v1.Listed"
    ]
    assert shown["properties"]["list"]["x-kubernetes-list-map-keys"] == ["name"]


def test_what_a_definition_says_about_its_fields() -> None:
    declared = {
        "type": "object",
        "description": "A thing.",
        "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "array", "items": {"type": "string", "description": "One of many."}},
        },
    }
    thing = Definition("example.net", "v1", "things", "Thing", True, to_schema(declared), custom=True)
    schemas = openapi_v3_document(Definitions([thing]), "example.net", "v1")["components"]["schemas"]
    shown = schemas["net.example.v1.Thing"]
    assert shown["description"] == "A thing."
    assert shown["properties"]["spec"]["items"] == {"description": "One of many.", "type": "string"}
    assert shown["properties"]["metadata"] == {
        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    }
