"""Scheduling in memory: real queue, real cycle, real plugins, and a cluster that only exists here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.memory import MemoryClient
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.door import Door
from moorage.framework.loading.registry import Registry
from moorage.scheduler.journal import Journal
from moorage.scheduler.scheduler import Scheduler
from moorage.what_if.failed_plugins import FailedPlugins


@dataclass
class Result:
    """What became of the pods."""

    placed: dict[str, str] = field(default_factory=dict)
    """Pod to node."""
    pending: dict[str, str] = field(default_factory=dict)
    """Pod to the reason why it has no node."""
    errors: set[str] = field(default_factory=set)
    """Those of the pending pods for which something broke, instead of no node being right."""
    nominated: dict[str, str] = field(default_factory=dict)
    """Those of the pending pods for which others had to go, to the node where that was."""
    failed_plugins: dict[str, int] = field(default_factory=dict)
    """How often each plugin raised, or answered what it must not."""
    seconds: float = 0.0

    @property
    def pods_per_second(self) -> float:
        return (len(self.placed) + len(self.pending)) / self.seconds if self.seconds else 0.0


class Simulation:
    """A scheduler with a cluster in memory. Time stands still.

    Extenders are asked, but not to bind: the pods are here only.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        journal: Journal | None = None,
        gates: FeatureGates | None = None,
    ) -> None:
        self._now = time.time()
        self._door = Door()
        self.client = MemoryClient(self._door.put, self._door.remove)
        self._failed_plugins = FailedPlugins()
        self.scheduler = Scheduler(
            _binding_here(config),
            registry,
            client=self.client,
            door=self._door,
            observer=self._failed_plugins,
            clock=lambda: self._now,
            journal=journal,
            gates=gates,
        )
        self._door.listers.set_synced()

    def add(self, item: Object) -> None:
        """Puts an object into the cluster; a pod without a node is queued."""
        if isinstance(item, Pod):
            self.client.add(item)
        self._door.put(item)

    def utilisation(self) -> list[tuple[str, int, int]]:
        """For each resource that nodes have: its name, what pods request of it, and how much there is."""
        nodes = self.scheduler.state.nodes
        found: list[tuple[str, int, int]] = []
        for name in nodes.table.allocatable.names():
            available = int(nodes.allocatable[name].sum())
            used = nodes.pod_count if name == "pods" else nodes.requested[name]
            if available:
                found.append((name, int(used.sum()), available))
        return found

    async def run(self, pods: Iterable[Pod], progress: Callable[[int], None] | None = None) -> Result:
        """Adds pods and schedules until each has a node or waits for something to change."""
        added = list(pods)
        for pod in added:
            self.add(pod)
        result = Result()
        started = time.perf_counter()
        await self.scheduler.drain(progress)
        result.seconds = time.perf_counter() - started
        for pod in added:
            now = self.client.pods.get(pod.key)
            if now is None:
                result.pending[pod.key] = "it had a node, and was preempted"
            elif now.spec.node_name:
                result.placed[pod.key] = now.spec.node_name
            else:
                result.pending[pod.key] = self._why_pending(now)
                if now.status.nominated_node_name:
                    result.nominated[pod.key] = now.status.nominated_node_name
                condition = now.condition("PodScheduled")
                if condition is not None and condition.reason == "SchedulerError":
                    result.errors.add(pod.key)
        result.failed_plugins = dict(self._failed_plugins.counts)
        return result

    def _why_pending(self, pod: Pod) -> str:
        if pod.deleting:
            return "it is being deleted"
        if pod.spec.scheduling_gates:
            gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
            return f"waiting for scheduling gates: {gates}"
        if pod.spec.scheduler_name not in self.scheduler.profiles:
            return f"no profile is called {pod.spec.scheduler_name}"
        queued = self.scheduler.queue.get(pod)
        if queued is not None and queued.gated:
            return f"plugin {queued.gating_plugin} does not let it into the queue"
        condition = pod.condition("PodScheduled")
        return condition.message if condition else "it was not tried"


def _binding_here(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    extenders = [replace(extender, bind_verb="") for extender in config.extenders]
    return replace(config, extenders=extenders)
