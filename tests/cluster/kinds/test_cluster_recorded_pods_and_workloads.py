"""Pods and workloads get the defaults, the refusals and the warnings that kube-apiserver v1.36.4 gives.

The files beside this one were recorded from it: what was sent, and either the broken rules or the object as
it was stored, without what admission plugins and the server's own metadata add.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
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
from moorage.cluster.schema.definitions import Strategy
from tests.cluster.kinds.go_dumps import without_go_dumps

HERE = Path(__file__).parent
STRATEGIES: dict[str, tuple[str, Strategy]] = {
    "Pod": ("pods", PodStrategy()),
    "Deployment": ("deployments.apps", DeploymentStrategy()),
    "ReplicaSet": ("replicasets.apps", ReplicaSetStrategy()),
    "StatefulSet": ("statefulsets.apps", StatefulSetStrategy()),
    "DaemonSet": ("daemonsets.apps", DaemonSetStrategy()),
    "ReplicationController": ("replicationcontrollers", ReplicationControllerStrategy()),
    "ControllerRevision": ("controllerrevisions.apps", KindStrategy("apps.v1.ControllerRevision")),
    "PodTemplate": ("podtemplates", PodTemplateStrategy()),
}


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def updates() -> list[tuple[Document, dict[str, Any]]]:
    found = []
    stored: Document = {}
    for entry in read("recorded_updates.jsonl"):
        if "object" in entry:
            stored = entry["object"]
        else:
            found.append((stored, entry))
    return found


def conformed(document: Document) -> Document:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = document["kind"]
    schema = schema_of(group, version, kind)
    found: Document = conform(schema, document, kind=kind, api_version=document["apiVersion"]).document
    return found


def merged(document: Document, change: Document) -> Document:
    result = deepcopy(document)
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            before = result.get(name)
            result[name] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[name] = value
    return result


def both(causes: list[Cause], recorded: list[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """In one order, for the server itself goes through maps in any."""
    return without_go_dumps(
        [[cause.reason, cause.field, cause.message] for cause in dict.fromkeys(causes)],
        [list(cause) for cause in dict.fromkeys(map(tuple, recorded))],
    )


@pytest.mark.parametrize("entry", read("recorded_creates.jsonl"), ids=lambda entry: entry["given"]["kind"])
def test_create(entry: dict[str, Any]) -> None:
    document = conformed(entry["given"])
    resource, strategy = STRATEGIES[document["kind"]]
    document["metadata"]["namespace"] = "default"
    document["metadata"]["creationTimestamp"] = "T"
    strategy.default(document)
    strategy.prepare_create(document)
    if document["kind"] == "Pod":
        account = document["spec"].setdefault("serviceAccountName", "default")
        document["spec"]["serviceAccount"] = account
    causes = [
        *validate_metadata(document, namespaced=True, name_rule=name_rule_of(resource)),
        *strategy.validate(document),
    ]
    shown, expected = both(causes, entry.get("causes", []))
    assert shown == expected
    if not causes:
        assert strategy.warnings(document) == entry["warnings"]
        metadata = document["metadata"]
        del metadata["namespace"], metadata["creationTimestamp"]
        if strategy.counts_generations:
            metadata["generation"] = 1
        assert document == entry["stored"]


@pytest.mark.parametrize(("old", "entry"), updates(), ids=lambda value: value.get("kind", "change"))
def test_update(old: Document, entry: dict[str, Any]) -> None:
    before = deepcopy(old)
    new = conformed(merged(old, entry["change"]))
    strategy = STRATEGIES[old["kind"]][1]
    strategy.default(new)
    if entry["subresource"] == "status":
        strategy.prepare_status_update(new, old)
        causes = [*validate_metadata_update(new, old), *strategy.validate_status_update(new, old)]
    else:
        strategy.prepare_update(new, old)
        causes = [
            *validate_metadata_update(new, old),
            *strategy.validate(new),
            *strategy.validate_update(new, old),
        ]
    shown, expected = both(causes, entry["causes"])
    assert shown == expected
    if not causes:
        del new["metadata"]
        unchanged = {name: value for name, value in old.items() if name != "metadata"}
        assert new == merged(unchanged, entry["becomes"])
    assert old == before
