"""Clusters in memory with Coscheduling."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from moorage.api.meta import ObjectMeta
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config.types import Extender, KubeSchedulerConfiguration
from moorage.contrib.objects import GROUP_LABEL, PodGroup, PodGroupSpec
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Simulation

RACK = "example.com/rack"


def pod_group(name: str, minimum: int | None, namespace: str = "default", **more: Any) -> PodGroup:
    annotations = more.pop("annotations", {})
    metadata = ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}", annotations=annotations)
    metadata.creation_timestamp = more.pop("created", "2026-01-01T00:00:00Z")
    return PodGroup(metadata=metadata, spec=PodGroupSpec(min_member=minimum, **more))


def members(group: str, number: int, start: int = 0, **pod: Any) -> list[Pod]:
    labels = {GROUP_LABEL: group, **pod.pop("labels", {})}
    return [make_pod(f"{group}-{place}", labels=labels, **pod) for place in range(start, start + number)]


class GangWorld:
    """A scheduler with Coscheduling and whatever else is enabled, beside the default plugins."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        plugins: Iterable[str] = ("Coscheduling",),
        registry: Registry | None = None,
        extenders: Iterable[Extender] = (),
        config: KubeSchedulerConfiguration | None = None,
    ) -> None:
        registry = registry or in_tree_registry()
        config = config or default_configuration(registry, list(plugins))
        config = replace(config, extenders=list(extenders))
        self.simulation = Simulation(config, registry)
        self.scheduler = self.simulation.scheduler
        self.add(*nodes)

    def add(self, *items: Any) -> None:
        for item in items:
            self.simulation.add(item)

    def remove(self, *items: Any) -> None:
        for item in items:
            if isinstance(item, Pod):
                self.simulation.client.pods.pop(item.key, None)
            self.scheduler.door.remove(item)

    def linger(self) -> None:
        """From now on pods that are to go take their time, until `let_go`."""
        pods = self.simulation.client.pods

        def delete_pod(pod: Pod) -> None:
            known = pods[pod.key]
            metadata = replace(known.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            pods[pod.key] = replace(known, metadata=metadata)
            self.scheduler.door.put(pods[pod.key])

        self.simulation.client.delete_pod = delete_pod  # type: ignore[method-assign]

    def going(self) -> list[str]:
        return sorted(pod.name for pod in self.simulation.client.pods.values() if pod.deleting)

    def let_go(self) -> None:
        """Those are gone that had to go."""
        self.remove(*(pod for pod in list(self.simulation.client.pods.values()) if pod.deleting))

    def try_all(self, *items: Any) -> dict[str, str]:
        """As `run`, and whoever waits is tried, whether that may help or not."""
        self.add(*items)
        waiting = [pod for pod in self.simulation.client.pods.values() if not pod.spec.node_name]
        self.scheduler.services.activate(waiting)
        return self.run()

    def run(self, *items: Any) -> dict[str, str]:
        """Adds what is given, tries whatever may be tried, and tells who has which node."""
        self.add(*items)
        self.simulation._now += 15  # so that nobody backs off any more
        self.scheduler.queue.flush_backoff()
        asyncio.run(self.scheduler.drain())
        return self.placed

    @property
    def placed(self) -> dict[str, str]:
        pods = self.simulation.client.pods.values()
        return {pod.name: pod.spec.node_name for pod in pods if pod.spec.node_name}

    def why(self, name: str, namespace: str = "default") -> str:
        condition = self.simulation.client.pods[f"{namespace}/{name}"].condition("PodScheduled")
        return "" if condition is None else condition.message

    def assumed(self) -> list[str]:
        """Pods that hold room without being bound."""
        state = self.scheduler.state
        return [pod.name for pod in state.pods if state.is_assumed(pod.uid)]


def racks(sizes: Mapping[str, int], cpu: str = "4") -> Iterator[Node]:
    """So many nodes in each rack."""
    for rack, size in sizes.items():
        for number in range(size):
            yield make_node(f"{rack}-{number}", cpu=cpu, labels={RACK: rack})
