"""Clusters with gangs as documents: to be tried, changed by what advice says, and tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.contrib.objects import GROUP_LABEL, kind_of
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.simulation import Simulation

Document = dict[str, Any]

CONFIGURATION: Document = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                "queueSort": {"disabled": [{"name": "PrioritySort"}]},
            }
        }
    ],
}


def node(name: str, cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any) -> Document:
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    labelled = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labelled},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(
    name: str, cpu: str = "1", *, group: str = "", labels: Document | None = None, **spec: Any
) -> Document:
    labelled = {**({GROUP_LABEL: group} if group else {}), **(labels or {})}
    container = {"name": "main", "image": "app:v1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"pod-{name}", "labels": labelled},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
    }


def gang(name: str, minimum: int, size: int, cpu: str = "1", **spec: Any) -> list[Document]:
    """The group and its members."""
    return [group(name, minimum), *(pod(f"{name}-{place}", cpu, group=name, **spec) for place in range(size))]


def group(name: str, minimum: int, annotations: dict[str, str] | None = None) -> Document:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"group-{name}",
        "annotations": annotations or {},
    }
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": minimum},
    }


def simulated(documents: Iterable[Document], tries: int = 1, journal: Any = None) -> Simulation:
    """A scheduler that has tried all that waits, with time enough between the tries."""
    registry = in_tree_registry()
    simulation = Simulation(default_configuration(registry, ["Coscheduling"]), registry, journal)
    for document in documents:
        kind = kind_of(document)
        assert kind is not None
        simulation.add(from_document(kind, document))
    for _ in range(tries):
        simulation._now += 15
        simulation.scheduler.queue.flush_backoff()
        asyncio.run(simulation.scheduler.drain())
    return simulation


def placed(simulation: Simulation) -> dict[str, str]:
    pods: Iterable[Pod] = simulation.client.pods.values()
    return {pod.name: pod.spec.node_name for pod in pods if pod.spec.node_name}
