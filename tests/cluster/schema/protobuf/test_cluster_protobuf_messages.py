"""Messages that Kubernetes' own encoder wrote, held against the JSON it wrote for the same objects."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.conform import conform
from moorage.cluster.schema.discovery_data import builtin_definitions
from moorage.cluster.schema.model import Schema
from moorage.cluster.schema.protobuf.messages import field_numbers, message
from moorage.cluster.schema.protobuf.objects import read_object

RECORDED = [json.loads(line) for line in Path(__file__).with_name("messages.jsonl").read_text().splitlines()]

CREATE_DEPLOYMENT = (
    "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412ab010a1f0a0377656212001a0022002a00320038004200"
    "5a0a0a036170701203776562127a0803120c0a0a0a0361707012037765621a600a1c0a0012001a0022002a003200380042005a"
    "0a0a036170701203776562124012220a056e67696e7812056e67696e782a0042006a007200800100880100900100a201001a00"
    "320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c080010001800200028003800"
    "1a002200"
)
"""The body of `kubectl create deployment web --image=nginx --replicas=3`."""


def decoded(group: str, kind: str, body: bytes) -> Any:
    schema = schema_of(group, "v1", kind)
    api_version = f"{group}/v1" if group else "v1"
    document = read_object(body, schema, kind, api_version)
    conformed = conform(schema, document, kind=kind, api_version=api_version)
    assert conformed.unknown == []
    return conformed.document


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: f"{each['group']}-{each['kind']}")
def test_a_message_says_what_the_json_says(recorded: dict[str, Any]) -> None:
    group, kind = recorded["group"], recorded["kind"]
    wanted = conform(schema_of(group, "v1", kind), recorded["json"], kind=kind, api_version="v1").document
    assert decoded(group, kind, base64.b64decode(recorded["protobuf"])) == wanted


def test_a_deployment_of_kubectl() -> None:
    assert decoded("apps", "Deployment", bytes.fromhex(CREATE_DEPLOYMENT)) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {}}]},
            },
            "strategy": {},
        },
        "status": {},
    }


def test_every_field_of_every_kind_has_a_number() -> None:
    transient = (("", "DeleteOptions"), ("policy", "Eviction"), ("autoscaling", "Scale"), ("", "Binding"))
    shapes = [definition.schema for definition in builtin_definitions({})]
    shapes += [schema_of(group, "v1", kind) for group, kind in transient]
    seen: set[Schema] = set()
    while shapes:
        shape = shapes.pop()
        if shape in seen:
            continue
        seen.add(shape)
        shapes += [field.schema for field in shape.fields.values()]
        shapes += [inner for inner in (shape.values, shape.items) if inner is not None]
        if shape.fields:
            made = message(shape, "core.v1")
            missing = set(shape.fields) - numbered(made.package, made.name)
            assert missing <= {"apiVersion", "kind"}, made.name
    assert len(seen) > 500


def numbered(package: str, name: str) -> set[str]:
    """The fields of a message, those of messages that JSON does not have among them."""
    found: set[str] = set()
    for field in field_numbers(package, name):
        found |= numbered(package, field[1:]) if field.startswith("+") else {field}
    return found
