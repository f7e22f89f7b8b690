"""Documents of small clusters for tests of advice."""

from __future__ import annotations

from typing import Any

from moorage.insight.advice.scenarios import evaluate_and_advise
from moorage.plugins.catalog import in_tree_registry
from tests.insight.advice.carrying_out import broken_promises

Document = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_REGISTRY = in_tree_registry()


def node(name: str, cpu: str = "4", *, labels: Document | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {HOSTNAME: name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
    }


def tainted(name: str, *taints: str, **more: Any) -> Document:
    """A node with taints as kubectl writes them."""
    found = []
    for text in taints:
        what, effect = text.split(":")
        key, _, value = what.partition("=")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return node(name, taints=found, **more)


def pod(name: str, cpu: str = "1", on: str = "", *, labels: Document | None = None, **spec: Any) -> Document:
    containers = [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}]
    placed = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"pod-{name}", "labels": labels or {}},
        "spec": {"containers": containers, **placed, **spec},
    }


def advice(pending: Document, *objects: Document, **more: Any) -> list[Document]:
    """What is advised, after a check that all of it comes true."""
    scenario = {"id": "small", "objects": list(objects), "pod": pending, **more}
    result = evaluate_and_advise(scenario, _REGISTRY)
    found: list[Document] = result["advice"]
    assert not broken_promises(scenario, found, _REGISTRY)
    return found


def texts(pending: Document, *objects: Document, **more: Any) -> list[str]:
    return [suggestion["text"] for suggestion in advice(pending, *objects, **more)]
