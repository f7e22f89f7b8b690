"""Clusters in memory with the feature gates of PodGroups on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Condition, Pod
from moorage.config import load
from moorage.config.feature_gates import FeatureGates
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_pod
from moorage.what_if.simulation import Simulation

GROUPS = "GenericWorkload=true"
GANGS = f"{GROUPS},GangScheduling=true"
TOPOLOGY = f"{GANGS},TopologyAwareWorkloadScheduling=true"

WAITS = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)


def pod_group(name: str, minimum: int = 0, topology: str = "", namespace: str = "default") -> PodGroup:
    """A gang that needs so many pods; with 0 a group that is none."""
    policy: dict[str, Any] = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    spec: dict[str, Any] = {"schedulingPolicy": policy}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "generation": 1}
    return from_document(PodGroup, {"metadata": metadata, "spec": spec})


def members(group: str, number: int, start: int = 0, **pod: Any) -> list[Pod]:
    named = {"schedulingGroup": {"podGroupName": group}}
    return [make_pod(f"{group}-{place}", **{**named, **pod}) for place in range(start, start + number)]


class GroupWorld:
    def __init__(
        self,
        nodes: Iterable[Node] = (),
        gates: str = GANGS,
        configuration: str = DEFAULT_CONFIGURATION,
        registry: Registry | None = None,
    ) -> None:
        switched = FeatureGates(gates)
        config = load(configuration, gates=switched).config
        self.simulation = Simulation(config, registry or in_tree_registry(), gates=switched)
        self.scheduler = self.simulation.scheduler
        for node in nodes:
            self.simulation.add(node)

    def run(self, *items: Any) -> dict[str, str]:
        """Adds what is given, tries whatever may be tried, and tells who has which node."""
        for item in items:
            self.simulation.add(item)
        self.simulation._now += 15  # so that nobody backs off any more
        self.scheduler.queue.flush_backoff()
        asyncio.run(self.scheduler.drain())
        pods = self.simulation.client.pods.values()
        return {pod.name: pod.spec.node_name for pod in pods if pod.spec.node_name}

    def pod(self, name: str) -> Pod:
        return self.simulation.client.pods[f"default/{name}"]

    def why(self, name: str) -> str:
        condition = self.pod(name).condition("PodScheduled")
        return "" if condition is None else condition.message

    def gated_by(self, name: str) -> str:
        queued = self.scheduler.queue.get(self.pod(name))
        return "" if queued is None else queued.gating_plugin

    def condition(self, group: str) -> Condition | None:
        found = self.scheduler.state.objects.of(PodGroup).get(group, "default")
        return None if found is None else found.condition("PodGroupScheduled")

    def told(self, group: str) -> tuple[str, str, str]:
        condition = self.condition(group)
        return ("", "", "") if condition is None else (condition.status, condition.reason, condition.message)

    def assumed(self) -> list[str]:
        """Pods that hold room without being bound."""
        state = self.scheduler.state
        return [pod.name for pod in state.pods if state.is_assumed(pod.uid)]
