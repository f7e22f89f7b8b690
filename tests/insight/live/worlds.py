"""A scheduler with a decision log and all in-tree plugins, in memory, to be asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from moorage.api.pods import Pod
from moorage.client.memory import MemoryClient
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.extension_points import Plugin
from moorage.insight.live.questions import Questions
from moorage.insight.log.decision_log import DecisionLog
from moorage.plugins.catalog import in_tree_registry
from moorage.process.metrics import SchedulerMetrics
from moorage.scheduler.profiles import default_configuration
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod

START = 1_700_000_000.0

T = TypeVar("T")


class World:
    """A cluster in memory. Time stands still unless `now` is set."""

    def __init__(
        self,
        *plugins: type[Plugin],
        nodes: int = 3,
        config: KubeSchedulerConfiguration | None = None,
        gates: FeatureGates | None = None,
    ) -> None:
        registry = in_tree_registry()
        for plugin in plugins:
            registry.add_class(plugin, "test")
        self.now = START
        self.registry = registry
        self.log = DecisionLog(clock=lambda: self.now)
        self.metrics = SchedulerMetrics(chance=lambda: 0.0)
        names = [plugin.name for plugin in plugins]
        self.client = MemoryClient(lambda pod: self.scheduler.door.put(pod))
        self.scheduler: Scheduler = Scheduler(
            config or default_configuration(registry, names),
            registry,
            client=self.client,
            observer=self.metrics,
            clock=lambda: self.now,
            journal=self.log,
            gates=gates,
        )
        for number in range(nodes):
            self.put(make_node(f"node-{number}", cpu="4", labels={"zone": f"z{number % 2}"}))
        self.questions = Questions(
            self.scheduler,
            self.log,
            registry,
            plugin_times=self.metrics.plugin_times,
            clock=lambda: self.now,
        )

    def put(self, item: Any) -> None:
        self.scheduler.door.put(item)

    def pod(self, name: str, cpu: str = "100m", **more: Any) -> Pod:
        """Puts a pod into the cluster, which waits until `schedule`."""
        made = make_pod(name, requests={"cpu": cpu}, **{"uid": f"uid-{name}", **more})
        made.metadata.creation_timestamp = "2023-11-14T22:13:20Z"
        self.client.add(made)
        self.put(made)
        return made

    def schedule(self) -> None:
        run(lambda: self.scheduler.drain())

    def fingerprint(self) -> tuple[Any, ...]:
        """All that a question could have changed: the same as long as nothing has happened."""
        scheduler, services = self.scheduler, self.scheduler.services
        table = scheduler.state.table
        queued = [
            (each.pod.key, id(each), each.attempts, each.timestamp, sorted(each.rejecting_plugins))
            for place in scheduler.queue.pending()
            for each in place
        ]
        return (
            scheduler.state.version,
            sorted(column.data.tobytes() for column in table.columns),
            [(info.name, id(info.node), [id(pod) for pod in info.pods]) for info in table.infos],
            [(pod.key, id(pod)) for pod in scheduler.door.pods()],
            services.nominations.version,
            queued,
            scheduler.queue.in_flight_counts(),
            self.log.newest,
            len(self.client.pods),
            [id(value) for value in vars(services).values()],
            self.metrics.plugin_times(),
        )


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs it in an event loop of its own, for which no test waits longer than a minute."""

    async def main() -> T:
        async with asyncio.timeout(60):
            return await work()

    return asyncio.run(main())
