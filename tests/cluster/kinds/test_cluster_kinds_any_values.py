"""Whatever stands in documents of the right shape, the rules find fault with it; they do not fall over."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from moorage.cluster.kinds.apps import (
    DaemonSetStrategy,
    DeploymentStrategy,
    PodTemplateStrategy,
    ReplicaSetStrategy,
    ReplicationControllerStrategy,
    StatefulSetStrategy,
)
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata, validate_metadata_update
from moorage.cluster.kinds.pods.pods import PodStrategy
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.conform import conform
from moorage.cluster.schema.model import Schema

KINDS = {
    "Pod": ("", PodStrategy()),
    "Deployment": ("apps", DeploymentStrategy()),
    "ReplicaSet": ("apps", ReplicaSetStrategy()),
    "StatefulSet": ("apps", StatefulSetStrategy()),
    "DaemonSet": ("apps", DaemonSetStrategy()),
    "ReplicationController": ("", ReplicationControllerStrategy()),
    "ControllerRevision": ("apps", KindStrategy("apps.v1.ControllerRevision")),
    "PodTemplate": ("", PodTemplateStrategy()),
}
TEXTS = (
    "",
    "a",
    "A b",
    "../x",
    "/",
    "é\u2028",
    "\ud800",
    "a" * 300,
    "In",
    "Exists",
    "Always",
    "metadata.name['a']",
)
NUMBERS = (0, 1, -1, 80, 2**31 - 1, -(2**31))
QUANTITIES = ("0", "1", "-1", "100m", "1n", "1Gi", "1e3", "0.5", "12E", "1e-9")


def anything(schema: Schema, random: Random, depth: int = 0) -> Any:
    if schema.format == "quantity":
        return random.choice(QUANTITIES)
    if schema.format == "int-or-string":
        return random.choice((*NUMBERS, "25%", "0%", "http", ""))
    if schema.format in ("date-time", "micro-time"):
        return "2026-01-01T00:00:00Z"
    if schema.format == "byte":
        return ""
    if schema.type == "object" and schema.fields:
        likely = 0.9 if depth < 2 else 0.5 if depth < 5 else 0.2
        return {
            name: anything(field.schema, random, depth + 1)
            for name, field in schema.fields.items()
            if random.random() < likely
        }
    if schema.type == "object":
        values = schema.values
        return {
            random.choice((*TEXTS, "cpu", "hugepages-2Mi", "example.com/gpu")): (
                anything(values, random, depth + 1) if values else {}
            )
            for _ in range(random.randrange(3))
        }
    if schema.type == "array" and schema.items is not None:
        return [anything(schema.items, random, depth + 1) for _ in range(random.randrange(3))]
    if schema.type == "string":
        return random.choice(TEXTS)
    if schema.type in ("integer", "number"):
        return random.choice(NUMBERS)
    return random.random() < 0.5 if schema.type == "boolean" else {}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_raised(kind: str) -> None:
    group, strategy = KINDS[kind]
    schema = schema_of(group, "v1", kind)
    random = Random(kind)
    api_version = f"{group}/v1" if group else "v1"
    broken = 0
    for _ in range(60):
        old, new = (
            conform(schema, anything(schema, random), kind=kind, api_version=api_version).document
            for _ in range(2)
        )
        for document in (old, new):
            strategy.default(document)
            metadata = document.setdefault("metadata", {})
            metadata.setdefault("name", "x")
        strategy.prepare_create(old)
        broken += bool(
            [
                *validate_metadata(old, namespaced=True, name_rule=name_rule_of("pods")),
                *strategy.validate(old),
            ]
        )
        assert all(isinstance(text, str) for text in strategy.warnings(old))
        strategy.selectable_fields(old)
        status = deepcopy(new)
        strategy.prepare_update(new, old)
        list(validate_metadata_update(new, old))
        list(strategy.validate(new))
        list(strategy.validate_update(new, old))
        strategy.prepare_status_update(status, old)
        list(strategy.validate_status_update(status, old))
    assert broken > 30
