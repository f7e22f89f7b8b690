"""`Cycles`: pods through whole cycles, one after the other, on a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.door import Door
from moorage.framework.extension_points import Plugin
from moorage.framework.observer import NoObserver
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.queue.observer import NoQueueObserver
from moorage.scheduler.cycle import Decision, NodeChooser
from moorage.scheduler.scheduler import Scheduler
from moorage.testing.api_in_memory import ApiInMemory, listed_type
from moorage.testing.failures import Failures
from moorage.testing.fake_client import FakeClient
from moorage.testing.injected_time import InjectedTimeLoop
from moorage.testing.plugins_under_test import Plugins, configured
from moorage.testing.recording import RecordedEvent, Recorder, Write
from moorage.testing.results import Run, show

START = 1_700_000_000.0

_CURRENT: ContextVar[Run | None] = ContextVar("moorage_testing_current", default=None)
"""In whose cycle something happens; tasks that a cycle starts inherit it."""


class Cycles:
    """A scheduler with a cluster in memory, for plugins that act on what they decided or on several pods.

        with Cycles(Gang, [make_node("a"), make_node("b")]) as cycles:
            first = cycles.run(make_pod("first", labels={"gang": "x"}))
            assert first.waiting == ["Gang"]
            second = cycles.run(make_pod("second", labels={"gang": "x"}))
            assert first.bound and second.bound

    Queue, cycles and plugins are the real ones; what they write, `writes` has, and shows up in the listers.
    Every pod without a node is scheduled, and tried again when something may have helped it and its pause (a
    second at first) is over. The time stands still unless `advance` moves it or a plugin sleeps. A `Run` is
    kept up to date with its pod until the block ends.

    Arguments are those of `run`.
    """

    def __init__(
        self,
        plugin: Plugins,
        nodes: Iterable[Node] = (),
        *,
        args: Any = None,
        objects: Iterable[Object] = (),
        pods: Iterable[Pod] = (),
        config: KubeSchedulerConfiguration | None = None,
        raises: bool = True,
    ) -> None:
        self.events: list[RecordedEvent] = []
        """All events, the pods' own and those of plugins, in order."""
        self.writes: list[Write] = []
        """All that was written, in order: binds, statuses, and what plugins wrote."""
        self.runs: dict[str, Run] = {}
        """What became of every pod that had no node, by `namespace/name`."""
        self._registry, self._config = configured(plugin, args, config)
        self._given = (*nodes, *objects, *pods)
        self._raises = raises
        self._failures = Failures()
        self._watch = _Watch()
        self._door = Door()
        self._api = ApiInMemory(
            self._door.put,
            self._door.remove,
            types=lambda *name: listed_type(self._door.listers, name),
            wrote=self._wrote,
            clock=lambda: self.now,
        )
        self.client = FakeClient(self._api, self._sleep)
        """The client of the plugins; `client.fail_next` plans errors."""
        self._live: _Live | None = None
        self._shown: dict[str, str] = {}

    def __enter__(self) -> Self:
        if _a_loop_is_running():
            raise RuntimeError("Cycles has an event loop of its own: use it in a test that is not async")
        loop = InjectedTimeLoop(self._is_busy)
        try:
            scheduler = loop.run_until_complete(self._start())
        except BaseException:
            loop.close()
            raise
        self._live = _Live(loop, scheduler, loop.create_task(scheduler.run()))
        try:
            self.add(*self._given)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    # What a test does

    def run(self, pod: Pod) -> Run:
        """Puts a pod into the cluster and schedules until nothing is left to do."""
        __tracebackhide__ = True
        return self.run_all([pod])[0]

    def run_all(self, pods: Iterable[Pod]) -> list[Run]:
        """As `run`, for pods that come together; the first is tried first unless priorities say otherwise."""
        __tracebackhide__ = True
        added = list(pods)
        for pod in added:
            if pod.spec.node_name:
                raise ValueError(f"pod {pod.key} has a node already: give it to `pods` or to `add`")
        self.add(*added)
        return [self.runs[pod.key] for pod in added]

    def add(self, *objects: Object) -> None:
        """Puts objects into the cluster, or changes them; pods that this helps are tried again."""
        __tracebackhide__ = True
        for item in objects:
            if isinstance(item, Pod) and not item.spec.node_name:
                self._expect(item)
            self._api.add(item)
        _CURRENT.set(None)
        self._settle()

    def remove(self, item: Object) -> None:
        """Takes an object out of the cluster."""
        __tracebackhide__ = True
        self._api.discard(item)
        self._settle()

    def advance(self, seconds: float) -> None:
        """Lets time pass: Permit times out, pauses end, and pods are tried again that are due."""
        __tracebackhide__ = True
        self._settle(seconds)

    def allow(self, pod: Pod, plugin: str = "") -> None:
        """Lets a pod go that waits on Permit, for this plugin or for all that hold it back."""
        __tracebackhide__ = True
        waiting = self._waiting(pod)
        for name in [plugin] if plugin else waiting.pending_plugins:
            waiting.allow(name)
        self._settle()

    def reject(self, pod: Pod, message: str, plugin: str = "") -> None:
        """Rejects a pod that waits on Permit, for this plugin or for the first that holds it back."""
        __tracebackhide__ = True
        waiting = self._waiting(pod)
        waiting.reject(plugin or waiting.pending_plugins[0], message)
        self._settle()

    # What a test looks at

    @property
    def now(self) -> float:
        """The time in the cluster, in seconds since the epoch."""
        return START if self._live is None else START + self._live.loop.time()

    @property
    def plugins(self) -> dict[str, Plugin]:
        """The plugin objects by name, of the first profile."""
        return next(iter(self._running.scheduler.profiles.values())).plugins

    # How it is done

    @property
    def _running(self) -> _Live:
        if self._live is None:
            raise RuntimeError("use Cycles in a with statement: `with Cycles(...) as cycles:`")
        return self._live

    async def _start(self) -> Scheduler:
        """Makes the scheduler where it runs: plugins may need the event loop when they are made."""
        recorder = Recorder(self._recorded)
        scheduler = Scheduler(
            self._config,
            self._registry,
            client=self.client,
            door=self._door,
            recorder_of=lambda profile_name: recorder,
            observer=self._watch,
            clock=lambda: self.now,
        )
        scheduler.services.plugin_raised = self._failures.note
        scheduler.queue.be_patient()  # or a pod that was rejected would be tried again at once
        scheduler.chooser = _TellingChooser(self._beginning, self._decided)
        for profile in scheduler.profiles.values():
            profile.treats_like_pods_alike = False  # every pod is to have a decision of its own
        self._door.listers.set_synced()
        return scheduler

    def _expect(self, pod: Pod) -> None:
        """A pod is about to come that is to be scheduled, or changes while it waits."""
        known = self._api.find(pod)
        if known is None:
            self.runs[pod.key] = Run(pod, plugins=self.plugins, is_whole=True)
        elif known["spec"].get("nodeName") or _uid(known) != pod.uid:
            raise ValueError(f"there are two pods {pod.key}: give one of them another name")
        _CURRENT.set(self.runs[pod.key])

    def _settle(self, seconds: float = 0.0) -> None:
        """Runs everything there is to do; what waits goes on the next time."""
        __tracebackhide__ = True
        live = self._running
        if _a_loop_is_running():
            raise RuntimeError("Cycles has an event loop of its own: use it in a test that is not async")
        live.loop.run_for(seconds)
        for run in self.runs.values():
            self._update(run)
            if self._shown.get(run.pod.key) != repr(run):
                self._shown[run.pod.key] = repr(run)
                show(run)
        if live.scheduling.done():
            live.scheduling.result()
        if self._raises:
            self._failures.raise_first()

    def _update(self, run: Run) -> None:
        waiting = self._find_waiting(run.pod)
        run.waiting = waiting.pending_plugins if waiting is not None else []
        document = self._api.find(run.pod)
        if document is not None and document is not run.pod.raw and run.pod.uid == _uid(document):
            run.pod = from_document(Pod, document)
        queued = self._running.scheduler.queue.get(run.pod)
        if queued is not None and queued.gated and not run.error:
            run.message = queued.gating_reason

    def _waiting(self, pod: Pod) -> WaitingPod:
        found = self._find_waiting(pod)
        if found is None:
            raise ValueError(f"pod {pod.key} does not wait on Permit")
        return found

    def _find_waiting(self, pod: Pod) -> WaitingPod | None:
        held_back = self._running.scheduler.services.waiting_pods
        return next((waiting for waiting in held_back if waiting.pod.uid == pod.uid), None)

    def _is_busy(self) -> bool:
        """Whether a pod is under way that does not just wait on Permit."""
        parked = len(self._running.scheduler.services.waiting_pods)
        in_flight = self._running.scheduler.queue.in_flight_counts()["PodPopped"]
        return self._watch.bindings > parked or in_flight > parked or self._watch.sleeping > 0

    async def _sleep(self, seconds: float) -> None:
        self._watch.sleeping += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._watch.sleeping -= 1

    def _close(self) -> None:
        live = self._running
        live.scheduler.stop(at_once=True)
        try:
            live.loop.finish(live.end())
        finally:
            self._live = None

    # What is heard of the scheduler

    def _beginning(self, profile: Profile, pod: Pod) -> None:
        made_by_a_plugin = Run(pod, plugins=profile.plugins, is_whole=True)
        run = self.runs.setdefault(pod.key, made_by_a_plugin)
        run.bound = False
        _CURRENT.set(run)

    def _decided(self, profile: Profile, pod: Pod, decision: Decision) -> None:
        run = self.runs[pod.key]
        run.note(decision, profile.state.table.by_name)

    def _recorded(self, event: RecordedEvent) -> None:
        self.events.append(event)
        about = self.runs.get(event.regarding.key) if isinstance(event.regarding, Pod) else None
        owner = about or _CURRENT.get()
        if owner is not None:
            owner.events.append(event)
        if about is not None and event.reason == "Scheduled":
            about.bound = True
        elif about is not None and event.reason == "FailedScheduling":
            about.node = ""
            failed = self._watch.last_result == "error"
            about.message, about.error = ("", event.note) if failed else (about.message or event.note, "")
        elif event.reason == "Preempted":
            self._gone(event.regarding.key)

    def _wrote(self, write: Write) -> None:
        self.writes.append(write)
        about = self.runs.get(write.key) if write.resource.partition("/")[0] == "pods" else None
        owner = about or _CURRENT.get()
        if owner is not None:
            owner.writes.append(write)
        if write.verb == "delete" and write.resource == "pods":
            self._gone(write.key)

    def _gone(self, key: str) -> None:
        run = _CURRENT.get()
        if run is not None and key != run.pod.key and key not in run.victims:
            run.victims.append(key)


@dataclass
class _Live:
    """What runs while the block of a `Cycles` lasts."""

    loop: InjectedTimeLoop
    scheduler: Scheduler
    scheduling: asyncio.Task[None]

    async def end(self) -> None:
        """Ends what is left when the scheduler was stopped, whatever it waits for."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(self.scheduling, return_exceptions=True)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self.scheduler.close()


class _Watch(NoObserver, NoQueueObserver):
    """Knows what is under way."""

    def __init__(self) -> None:
        self.bindings = 0
        self.sleeping = 0
        self.last_result = ""

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        self.last_result = result

    def plugin_failed(self, plugin: str, profile: str) -> None:
        self.last_result = "error"

    def binding_started(self) -> None:
        self.bindings += 1

    def binding_ended(self) -> None:
        self.bindings -= 1


class _TellingChooser(NodeChooser):
    """Looks at every node, and tells what was decided."""

    def __init__(
        self,
        beginning: Callable[[Profile, Pod], None],
        decided: Callable[[Profile, Pod, Decision], None],
    ) -> None:
        super().__init__(find_all=True)
        self._beginning = beginning
        self._decided = decided

    def decide(self, profile: Profile, pod: Pod) -> Decision:
        self._beginning(profile, pod)
        decision = super().decide(profile, pod)
        self._decided(profile, pod, decision)
        return decision


def _uid(document: dict[str, Any]) -> str:
    uid: str = document["metadata"].get("uid", "")
    return uid


def _a_loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
