"""Documents of small clusters for tests of advice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.framework.extension_points import Plugin
from moorage.insight.advice.scenarios import evaluate_and_advise
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from tests.insight.advice.carrying_out import broken_promises

Document = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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


def advice(pending: Document, *objects: Document, plugins: Iterable[type[Plugin]] = ()) -> list[Document]:
    """What is advised, after a check that all of it comes true."""
    registry = in_tree_registry()
    added = [registry.add_class(plugin, "tests").name for plugin in plugins]
    default = default_configuration(registry, added)
    scenario = {"id": "small", "objects": list(objects), "pod": pending}
    found: list[Document] = evaluate_and_advise(scenario, registry, default)["advice"]
    assert not broken_promises(scenario, found, registry, default)
    return found


def texts(pending: Document, *objects: Document, plugins: Iterable[type[Plugin]] = ()) -> list[str]:
    return [suggestion["text"] for suggestion in advice(pending, *objects, plugins=plugins)]
