"""A scheduler with scripted plugins, a cluster in memory and a clock that tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from moorage.api.nodes import Node
from moorage.api.pods import DEFAULT_SCHEDULER, Condition, Pod
from moorage.client.memory import MemoryClient
from moorage.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    PluginRef,
    Plugins,
    PluginSet,
    Profile,
)
from moorage.framework.door import Door
from moorage.framework.extension_points import Plugin
from moorage.plugins.catalog import in_tree_registry
from moorage.process.metrics import SchedulerMetrics
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod
from moorage.testing.fakes import RecordedEvent
from tests import fake_time

START = 1_700_000_000.0


class Recorder:
    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []

    def event(self, *fields: Any) -> None:
        self.events.append(RecordedEvent(*fields))


class Client(MemoryClient):
    """Remembers what is written, and fails to if it is told so."""

    def __init__(self, door: Door) -> None:
        super().__init__(door.put)
        self.written: list[tuple[str, Condition | None, str | None]] = []
        self.refuses: Exception | None = None

    def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        self.written.append((pod.name, condition, nominated_node))
        if self.refuses is not None:
            raise self.refuses
        super().write_pod_status(pod, condition=condition, nominated_node=nominated_node)

    @property
    def nominations(self) -> list[str | None]:
        """The nominated nodes written, one after the other."""
        return [nominated for _, _, nominated in self.written if nominated is not None]


class World:
    """One scheduler; each plugin stands at every point it implements, after those that `in_tree` names."""

    def __init__(
        self,
        *plugins: type[Plugin],
        nodes: int | Iterable[Node] = 1,
        in_tree: Sequence[str] = ("PrioritySort", "DefaultBinder"),
        schedulers: Sequence[str] = (DEFAULT_SCHEDULER,),
        observer: SchedulerMetrics | None = None,
        extenders: Sequence[Extender] = (),
    ) -> None:
        registry = in_tree_registry()
        for each in plugins:
            registry.add_class(each, "test")
        names = dict.fromkeys((*in_tree, *(each.name for each in plugins)))
        enabled = [PluginRef(name=name) for name in names]
        lists = Plugins(multi_point=PluginSet(enabled=enabled))
        config = KubeSchedulerConfiguration(
            profiles=[Profile(scheduler_name=name, plugins=lists) for name in schedulers],
            extenders=list(extenders),
        )
        self.now = START
        self.recorder = Recorder()
        self.door = Door()
        self.client = Client(self.door)
        self.scheduler = Scheduler(
            config,
            registry,
            client=self.client,
            door=self.door,
            recorder_of=lambda profile: self.recorder,
            observer=observer,
            clock=lambda: self.now,
        )
        self.queue = self.scheduler.queue
        self.state = self.scheduler.state
        self.services = self.scheduler.services
        for node in [make_node(f"n{i}") for i in range(nodes)] if isinstance(nodes, int) else nodes:
            self.door.put(node)

    def add(self, name: str = "pod", **fields: Any) -> Pod:
        pod = make_pod(name, **fields)
        self.client.add(pod)
        self.door.put(pod)
        return pod

    def delete(self, name: str = "pod") -> Pod:
        pod = self.client.pods.pop(f"default/{name}")
        self.door.remove(pod)
        return pod

    def allow(self, plugin: str) -> None:
        """Lets all pods that wait on permit go on."""
        for waiting in self.services.waiting_pods:
            waiting.allow(plugin)

    def schedule(self, *meanwhile: Awaitable[None]) -> None:
        """Tries the pods that are active now and lets their binding end; beside it runs `meanwhile`."""

        async def main() -> None:
            await asyncio.gather(self.scheduler.drain(), *meanwhile)

        fake_time.run(main())

    def place(self, name: str = "pod") -> str:
        """Where the pod is: active, backoff, unschedulable, gated or nowhere."""
        pending = self.queue.pending()._asdict().items()
        found = [place for place, pods in pending for queued in pods if queued.pod.name == name]
        return "".join(found) or "nowhere"

    def plugins_of(self, name: str = "pod") -> tuple[set[str], set[str]]:
        """The plugins that rejected a pod, and those among them that are pending."""
        queued = self.queue.get(make_pod(name))
        assert queued is not None
        return queued.unschedulable_plugins, queued.pending_plugins

    def node_of(self, name: str = "pod") -> str:
        return self.client.pods[f"default/{name}"].spec.node_name

    def condition(self, name: str = "pod") -> tuple[str, str, str] | None:
        found = self.client.pods[f"default/{name}"].condition("PodScheduled")
        return None if found is None else (found.status, found.reason, found.message)

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Reason and note of every event."""
        return [(event.reason, event.note) for event in self.recorder.events]


async def after(seconds: float, act: Any, *args: Any) -> None:
    await asyncio.sleep(seconds)
    act(*args)
