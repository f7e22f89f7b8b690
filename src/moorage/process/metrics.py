"""The scheduler's metrics, under kube-scheduler's names.

The instruments here are plain numbers in dicts: one event loop both counts and answers scrapes, so that
they need no locks, and a count costs a fraction of what prometheus_client's own instruments take.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.status import Code
from moorage.process.event_recorder import WHY_DROPPED

if TYPE_CHECKING:
    from moorage.queue.scheduling_queue import SchedulingQueue
    from moorage.state.cluster import ClusterState

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
"""The results of an attempt."""

SAMPLED_CYCLES = 0.1
"""In this part of the cycles the plugins are timed one by one."""

_BINDING = ("binding",)
_PRIORITIZING = ("prioritizing_extender",)
_CODE_LABELS = tuple(code.label for code in Code)
_ATTEMPTS_LABELS = [(str(attempts),) for attempts in range(15)]
_MANY_ATTEMPTS = ("15+",)

Labels = tuple[str, ...]
Bounds = tuple[float, ...]


def exponential(start: float, factor: float, count: int) -> Bounds:
    """Bucket bounds, each the one before times the factor."""
    return tuple(accumulate([start] + [factor] * (count - 1), lambda bound, by: bound * by))


class Numbers(dict[Labels, float]):
    """A counter or a gauge: a number per combination of label values, 0 where nothing was counted."""

    def __init__(self, type: str, name: str, help: str, labels: Labels = ()) -> None:
        super().__init__()
        self.type, self.name, self.help, self.labels = type, name, help, labels

    def __missing__(self, values: Labels) -> float:
        return 0

    def family(self) -> Metric:
        metric = Metric(self.name.removesuffix("_total"), self.help, self.type)
        for values, number in self.items() if self.labels else [((), self[()])]:
            metric.add_sample(self.name, dict(zip(self.labels, values, strict=True)), number)
        return metric


class Histogram:
    """How many observations fell between which bounds, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Histograms(dict[Labels, Histogram]):
    """A histogram per combination of label values, made when it is first asked for."""

    def __init__(self, name: str, help: str, bounds: Bounds, labels: Labels = ()) -> None:
        super().__init__()
        self.name, self.help, self.bounds, self.labels = name, help, bounds, labels
        # Whole numbers without a fraction, as kube-scheduler writes them: `le` is part of a series' identity.
        self._bound_labels = [*(repr(float(bound)).removesuffix(".0") for bound in bounds), "+Inf"]

    def __missing__(self, values: Labels) -> Histogram:
        made = self[values] = Histogram(self.bounds)
        return made

    def family(self) -> Metric:
        metric = Metric(self.name, self.help, "histogram")
        for values, histogram in self.items() if self.labels else [((), self[()])]:
            named = dict(zip(self.labels, values, strict=True))
            at_most = list(accumulate(histogram.counts))
            for bound, count in zip(self._bound_labels, at_most, strict=True):
                metric.add_sample(f"{self.name}_bucket", {**named, "le": bound}, count)
            metric.add_sample(f"{self.name}_sum", named, histogram.total)
            metric.add_sample(f"{self.name}_count", named, at_most[-1])
        return metric


class SchedulerMetrics(Collector):
    """All that kube-scheduler counts; the queue, the cycle and the binding cycle call the methods.

    `registry` exports it. It also is the queue's observer.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self.registry = CollectorRegistry()
        self._chance = chance
        self._queue: SchedulingQueue | None = None
        self._state: ClusterState | None = None
        self._families: list[Numbers | Histograms] = []

        self._attempts = self._counter(
            "schedule_attempts_total", "[STABLE] Attempts to schedule pods, by result.", ("result", "profile")
        )
        self._attempt_seconds = self._histograms(
            "scheduling_attempt_duration_seconds",
            "[STABLE] Duration of an attempt to schedule a pod, binding included.",
            exponential(0.001, 2, 15),
            ("result", "profile"),
        )
        self._algorithm_seconds = self._histograms(
            "scheduling_algorithm_duration_seconds",
            "[ALPHA] Duration of the search for a node.",
            exponential(0.001, 2, 15),
        )
        self._point_seconds = self._histograms(
            "framework_extension_point_duration_seconds",
            "[STABLE] Duration of all plugins of an extension point.",
            exponential(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
        )
        self._plugin_seconds = self._histograms(
            "plugin_execution_duration_seconds",
            "[ALPHA] Duration of one plugin at an extension point, sampled.",
            exponential(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )
        self._evaluations = self._counter(
            "plugin_evaluation_total",
            "[BETA] Calls of a plugin at an extension point.",
            ("plugin", "extension_point", "profile"),
        )
        self._failures = self._counter(
            "plugin_failures_total",
            "[ALPHA] Failures of a plugin: it raised, or answered what it must not.",
            ("plugin", "profile"),
        )
        self._slow_calls = self._counter(
            "plugin_slow_calls_total",
            "[ALPHA] Calls of a plugin that held up everything else for more than half a second.",
            ("plugin", "extension_point", "profile"),
        )
        # By extension point and profile first, so that all plugins of a point are counted in one go.
        self._evaluated: defaultdict[Labels, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._victims = self._histograms(
            "preemption_victims", "[STABLE] Victims selected per preemption.", exponential(1, 2, 7)
        )
        self._preemptions = self._counter(
            "preemption_attempts_total", "[STABLE] Attempts to make room by preemption."
        )
        self._pod_attempts = self._histograms(
            "pod_scheduling_attempts",
            "[STABLE] Attempts a pod took until it was scheduled.",
            exponential(1, 2, 5),
        )
        self._pod_seconds = self._histograms(
            "pod_scheduling_sli_duration_seconds",
            "[BETA] Duration from a pod's first entry into the active queue until it was scheduled.",
            exponential(0.01, 2, 20),
            ("attempts",),
        )
        self._after_flush = self._counter(
            "pod_scheduled_after_flush_total",
            "[ALPHA] Pods scheduled after they had waited for an event for too long.",
        )
        self._permit_seconds = self._histograms(
            "permit_wait_duration_seconds",
            "[BETA] Duration of the wait that Permit plugins asked for.",
            exponential(0.001, 2, 15),
            ("result",),
        )
        self._volume_failures = self._counter(
            "volume_scheduling_stage_error_total",
            "[ALPHA] Volumes of a pod that could not be judged, reserved or bound.",
            ("operation",),
        )
        self._event_seconds = self._histograms(
            "event_handling_duration_seconds",
            "[ALPHA] Duration of what follows from an event of the cluster.",
            exponential(0.0001, 2, 12),
            ("event",),
        )
        self._incoming = self._counter(
            "queue_incoming_pods_total", "[STABLE] Pods added to a queue, by event.", ("queue", "event")
        )
        self._unschedulable = self._gauge(
            "unschedulable_pods",
            "[BETA] Pods in the queue that a plugin rejected.",
            ("plugin", "profile"),
        )
        self._running = self._gauge(
            "goroutines", "[BETA] Operations under way, by what they do.", ("operation",)
        )
        self._pending = self._gauge("pending_pods", "[STABLE] Pods that wait, by queue.", ("queue",))
        self._sizes = self._gauge("cache_size", "[ALPHA] Nodes, pods and assumed pods known.", ("type",))
        self._events_dropped = Numbers(
            "counter", "moorage_events_dropped_total", "[ALPHA] Events that were not written.", ("reason",)
        )
        self._families.append(self._events_dropped)
        self._gauges = (self._unschedulable, self._running, self._pending, self._sizes)
        self.registry.register(self)

    def watch(self, queue: SchedulingQueue, state: ClusterState) -> None:
        """Sets where the numbers come from that are read at scrape time."""
        self._queue, self._state = queue, state

    # The scheduling cycle

    def samples_plugins(self) -> bool:
        """Whether `plugin_executed` is to be called in the cycle that begins."""
        return self._chance() < SAMPLED_CYCLES

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """An attempt ended, `seconds` after the pod was popped; for one that succeeded call `bound` only."""
        labels = (result, profile)
        self._attempts[labels] += 1
        self._attempt_seconds[labels].observe(seconds)

    def algorithm(self, seconds: float) -> None:
        """The search for a node ended, whether or not there was one."""
        self._algorithm_seconds[()].observe(seconds)

    def extension_point(self, profile: str, point: str, code_label: str, seconds: float) -> None:
        self._point_seconds[point, code_label, profile].observe(seconds)

    def plugin_evaluated(self, plugin: str, point: str, profile: str, count: int = 1) -> None:
        self._evaluated[point, profile][plugin] += count

    def plugins_evaluated(self, plugins: Iterable[str], point: str, profile: str, count: int = 1) -> None:
        """As `plugin_evaluated` for each of several plugins, and cheaper."""
        evaluated = self._evaluated[point, profile]
        for plugin in plugins:
            evaluated[plugin] += count

    def plugin_executed(self, plugin: str, point: str, code_label: str, seconds: float) -> None:
        self._plugin_seconds[plugin, point, code_label].observe(seconds)

    def plugin_slow(self, plugin: str, point: str, profile: str) -> None:
        self._slow_calls[plugin, point, profile] += 1

    def plugin_failed(self, plugin: str, profile: str) -> None:
        self._failures[plugin, profile] += 1

    def preemption_attempt(self) -> None:
        self._preemptions[()] += 1

    def preemption(self, victims: int) -> None:
        """A node was chosen where so many pods have to go."""
        self._victims[()].observe(victims)

    # The binding cycle

    def volume_stage_failed(self, operation: str) -> None:
        self._volume_failures[operation,] += 1

    def prioritizing_started(self) -> None:
        self._running[_PRIORITIZING] += 1

    def prioritizing_ended(self) -> None:
        self._running[_PRIORITIZING] -= 1

    def binding_started(self) -> None:
        self._running[_BINDING] += 1

    def binding_ended(self) -> None:
        self._running[_BINDING] -= 1

    def permit_waited(self, result: str, seconds: float) -> None:
        """`result` is the label of the code with which the wait ended."""
        self._permit_seconds[(result,)].observe(seconds)

    def bound(
        self, queued: QueuedPod, profile: str, seconds_since_pop: float, sli_seconds: float | None
    ) -> None:
        """A pod was bound; `sli_seconds` counts from its first entry into the active queue."""
        self.attempt(profile, SCHEDULED, seconds_since_pop)
        attempts = queued.attempts
        self._pod_attempts[()].observe(attempts)
        if sli_seconds is not None:
            label = _ATTEMPTS_LABELS[attempts] if attempts < len(_ATTEMPTS_LABELS) else _MANY_ATTEMPTS
            self._pod_seconds[label].observe(sli_seconds)
        if queued.flushed:
            self._after_flush[()] += 1

    # The queue and the event handlers

    def incoming(self, queue: str, event: str) -> None:
        self._incoming[queue, event] += 1

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        self._unschedulable[plugin, profile] += change

    def pre_enqueue(self, profile: str, code: Code, seconds: float) -> None:
        self._point_seconds["PreEnqueue", _CODE_LABELS[code], profile].observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        self._event_seconds[(event,)].observe(seconds)

    # Events

    def events_dropped(self, reason: str, count: int) -> None:
        self._events_dropped[reason,] += count

    # The scrape

    def collect(self) -> Iterator[Metric]:
        self._read()
        for family in self._families:
            yield family.family()

    def reset(self) -> None:
        """Forgets what was counted; gauges say what is, so they stay."""
        for family in self._families:
            if not any(family is gauge for gauge in self._gauges):
                family.clear()
        self._evaluated.clear()

    def _read(self) -> None:
        """Fills in the families that are not counted as such."""
        for (point, profile), plugins in self._evaluated.items():
            for plugin, count in plugins.items():
                self._evaluations[plugin, point, profile] = count
        for reason in WHY_DROPPED:
            self._events_dropped.setdefault((reason,), 0)
        if self._queue is not None:
            for queue, pods in self._queue.counts()._asdict().items():
                self._pending[(queue,)] = pods
        if (state := self._state) is not None:
            self._sizes[("nodes",)] = len(state.table)
            self._sizes[("pods",)] = state.pod_total
            self._sizes[("assumed_pods",)] = sum(state.is_assumed(pod.uid) for pod in state.pods)

    def _counter(self, name: str, help: str, labels: Labels = ()) -> Numbers:
        return self._numbers("counter", name, help, labels)

    def _gauge(self, name: str, help: str, labels: Labels) -> Numbers:
        return self._numbers("gauge", name, help, labels)

    def _numbers(self, type: str, name: str, help: str, labels: Labels) -> Numbers:
        made = Numbers(type, f"scheduler_{name}", help, labels)
        self._families.append(made)
        return made

    def _histograms(self, name: str, help: str, bounds: Bounds, labels: Labels = ()) -> Histograms:
        made = Histograms(f"scheduler_{name}", help, bounds, labels)
        self._families.append(made)
        return made
