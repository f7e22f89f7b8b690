"""A queue with small plugins, a clock that tests set and an observer that remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from moorage.api.pods import DEFAULT_SCHEDULER, Pod
from moorage.config.types import PluginRef
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ClusterEvent
from moorage.framework.extension_points import FilterPlugin, Plugin, PreEnqueuePlugin, QueueSortPlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.queue.backoff import Outlook
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.state.node_info import NodeInfo
from moorage.state.nominations import Nominations
from moorage.testing.builders import make_pod

HANDLE = Handle(Services())


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Observer:
    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []
        self.gauge: Counter[tuple[str, str]] = Counter()
        self.pre_enqueued: list[str] = []

    def incoming(self, queue: str, event: str) -> None:
        self.entries.append((queue, event))

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        self.gauge[plugin, profile] += change

    def pre_enqueue(self, profile: str, seconds: float) -> None:
        assert seconds >= 0
        self.pre_enqueued.append(profile)

    @property
    def rejections(self) -> dict[str, int]:
        """Pods per plugin, zeros left out."""
        return {plugin: number for (plugin, _), number in self.gauge.items() if number}


class ByPriority(QueueSortPlugin):
    def sort_key(self, queued: QueuedPod) -> Any:
        return (-queued.pod.priority, queued.timestamp)


class Named(Plugin):
    """A plugin with the name and the events that its constructor is given."""

    def __init__(self, name: str, events: Sequence[ClusterEvent] | None) -> None:
        super().__init__(None, HANDLE)
        self.name = name  # type: ignore[misc]  # One class stands for many plugins here.
        self._events = events

    def events(self) -> Sequence[ClusterEvent] | None:
        return self._events


class Rejecter(Named, FilterPlugin):
    """Stands for a plugin that rejects pods; tests put its name on the records themselves."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


class Gate(Named, PreEnqueuePlugin):
    """Keeps out the pods whose names are in `closed_to`."""

    def __init__(self, name: str = "Gate", events: Sequence[ClusterEvent] | None = ()) -> None:
        super().__init__(name, events)
        self.closed_to: set[str] = set()
        self.asked: list[str] = []
        self.answer: Status | None = Status.unresolvable("not yet")

    def pre_enqueue(self, pod: Pod) -> Status | None:
        self.asked.append(pod.name)
        return self.answer if pod.name in self.closed_to else None


def make_queue_profile(
    name: str = DEFAULT_SCHEDULER, *plugins: Rejecter | Gate, sort: QueueSortPlugin | None = None
) -> Profile:
    sort = sort or ByPriority(None, HANDLE)
    return Profile(
        name,
        {
            "queueSort": [PluginRef(name=sort.name)],
            "filter": [PluginRef(name=plugin.name) for plugin in plugins if isinstance(plugin, Rejecter)],
            "preEnqueue": [PluginRef(name=plugin.name) for plugin in plugins if isinstance(plugin, Gate)],
        },
        {plugin.name: plugin for plugin in (sort, *plugins)},
        HANDLE.services,
    )


class World:
    """A queue of one profile, or of the given ones, and what is around it."""

    def __init__(
        self,
        *plugins: Rejecter | Gate,
        profiles: Sequence[Profile] = (),
        sort: QueueSortPlugin | None = None,
        now: float = 1000.0,
        outlook: Outlook | None = None,
        **settings: float,
    ) -> None:
        self.clock = Clock(now)
        self.observer = Observer()
        self.nominations = Nominations()
        all_profiles = profiles or [make_queue_profile(DEFAULT_SCHEDULER, *plugins, sort=sort)]
        self.queue = SchedulingQueue(
            {profile.name: profile for profile in all_profiles},
            clock=self.clock,
            nominations=self.nominations,
            observer=self.observer,
            outlook=outlook,
            **settings,
        )

    def add(self, name: str = "pod", **fields: Any) -> Pod:
        pod = make_pod(name, **fields)
        self.queue.add(pod)
        return pod

    def pop(self) -> QueuedPod:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def pop_all(self) -> list[str]:
        """Names in the order in which they come out."""
        names = []
        while (queued := self.queue.pop()) is not None:
            names.append(queued.pod.name)
        return names

    def give_back(self, queued: QueuedPod, by: Iterable[str] = (), pending: Iterable[str] = ()) -> QueuedPod:
        """The attempt failed, because of these plugins or else by an error."""
        queued.unschedulable_plugins = set(by)
        queued.pending_plugins = set(pending)
        self.queue.requeue(queued)
        return queued

    def rejected(
        self,
        name: str = "pod",
        by: Iterable[str] = (),
        pending: Iterable[str] = (),
        **fields: Any,
    ) -> QueuedPod:
        """Adds a pod and fails its first attempt; nothing else may be active."""
        self.add(name, **fields)
        queued = self.pop()
        assert queued.pod.name == name
        return self.give_back(queued, by, pending)

    def place(self, name: str = "pod") -> str:
        """Where the pod is: active, backoff, unschedulable, gated or nowhere."""
        places = [
            place
            for place, pods in self.queue.pending()._asdict().items()
            for queued in pods
            if queued.pod.name == name
        ]
        assert len(places) <= 1
        return places[0] if places else "nowhere"


def newer(pod: Pod, version: str = "2", **fields: Any) -> Pod:
    """Another version of a pod that make_pod made, with the fields that make_pod takes."""
    metadata = {"resourceVersion": version, **fields.pop("metadata", {})}
    return make_pod(pod.name, namespace=pod.namespace, uid=pod.uid, metadata=metadata, **fields)
