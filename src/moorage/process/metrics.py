"""The scheduler's metrics, under kube-scheduler's names."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from moorage.framework.observer import Points
from moorage.framework.queued_pod import QueuedPod
from moorage.process.event_recorder import WHY_DROPPED
from moorage.process.instruments import Families, Histogram, Labels, exponential

if TYPE_CHECKING:
    from moorage.framework.extension_points import Plugin
    from moorage.framework.runtime.profile import Profile
    from moorage.queue.scheduling_queue import SchedulingQueue
    from moorage.state.cluster import ClusterState

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
"""The results of an attempt."""

SAMPLED_CYCLES = 0.1
"""In this part of the cycles the plugins are timed one by one."""

_BINDING = ("binding",)
_PRIORITIZING = ("prioritizing_extender",)
_ATTEMPTS_LABELS = [(str(attempts),) for attempts in range(15)]
_MANY_ATTEMPTS = ("15+",)


class SchedulerMetrics(Families):
    """All that kube-scheduler counts; the queue, the cycle and the binding cycle call the methods.

    `registry` exports it. It also is the queue's observer.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        super().__init__()
        self._chance = chance
        self._queue: SchedulingQueue | None = None
        self._state: ClusterState | None = None
        self._profiles: Iterable[Profile] = ()
        self._silences: Callable[[], Mapping[str, float]] = dict

        self._attempts = self.counter(
            "scheduler_schedule_attempts_total",
            "[STABLE] Attempts to schedule pods, by result.",
            ("result", "profile"),
        )
        self._attempt_seconds = self.histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            "[STABLE] Duration of an attempt to schedule a pod, binding included.",
            exponential(0.001, 2, 15),
            ("result", "profile"),
        )
        self._algorithm_seconds = self.histograms(
            "scheduler_scheduling_algorithm_duration_seconds",
            "[ALPHA] Duration of the search for a node.",
            exponential(0.001, 2, 15),
        )
        self._point_seconds = self.histograms(
            "scheduler_framework_extension_point_duration_seconds",
            "[STABLE] Duration of all plugins of an extension point.",
            exponential(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
        )
        self._plugin_seconds = self.histograms(
            "scheduler_plugin_execution_duration_seconds",
            "[ALPHA] Duration of one plugin at an extension point, sampled.",
            exponential(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )
        self._evaluations = self.counter(
            "scheduler_plugin_evaluation_total",
            "[BETA] Calls of a plugin at an extension point.",
            ("plugin", "extension_point", "profile"),
        )
        self._failures = self.counter(
            "scheduler_plugin_failures_total",
            "[ALPHA] Failures of a plugin: it raised, or answered what it must not.",
            ("plugin", "profile"),
        )
        self._background_failures = self.counter(
            "moorage_plugin_background_errors_total",
            "[ALPHA] Failures of a plugin's background work, by the method that raised.",
            ("plugin", "task", "profile"),
        )
        self._slow_calls = self.counter(
            "scheduler_plugin_slow_calls_total",
            "[ALPHA] Calls of a plugin that held up everything else for more than half a second.",
            ("plugin", "extension_point", "profile"),
        )
        self._writes = self.counter(
            "scheduler_plugin_writes_total",
            "[ALPHA] Writes that a plugin started and that were done beside scheduling, by result.",
            ("plugin", "profile", "result"),
        )
        # By extension point and profile first, so that all plugins of a point are counted in one go.
        self._evaluated: defaultdict[Labels, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._passed: defaultdict[tuple[str, Points], int] = defaultdict(int)
        self._victims = self.histograms(
            "scheduler_preemption_victims", "[STABLE] Victims selected per preemption.", exponential(1, 2, 7)
        )
        self._preemptions = self.counter(
            "scheduler_preemption_attempts_total", "[STABLE] Attempts to make room by preemption."
        )
        self._evictions = self.counter(
            "scheduler_preemption_goroutines_execution_total",
            "[ALPHA] Preemptions carried out beside scheduling, by result.",
            ("result",),
        )
        self._eviction_seconds = self.histograms(
            "scheduler_preemption_goroutines_duration_seconds",
            "[ALPHA] Duration of carrying out a preemption, until the last victim was told to go.",
            exponential(0.01, 2, 20),
            ("result",),
        )
        self._pod_attempts = self.histograms(
            "scheduler_pod_scheduling_attempts",
            "[STABLE] Attempts a pod took until it was scheduled.",
            exponential(1, 2, 5),
        )
        self._pod_seconds = self.histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "[BETA] Duration from a pod's first entry into the active queue until it was scheduled.",
            exponential(0.01, 2, 20),
            ("attempts",),
        )
        self._after_flush = self.counter(
            "scheduler_pod_scheduled_after_flush_total",
            "[ALPHA] Pods scheduled after they had waited for an event for too long.",
        )
        self._permit_seconds = self.histograms(
            "scheduler_permit_wait_duration_seconds",
            "[BETA] Duration of the wait that Permit plugins asked for.",
            exponential(0.001, 2, 15),
            ("result",),
        )
        self._volume_failures = self.counter(
            "scheduler_volume_scheduling_stage_error_total",
            "[ALPHA] Volumes of a pod that could not be judged, reserved or bound.",
            ("operation",),
        )
        self._event_seconds = self.histograms(
            "scheduler_event_handling_duration_seconds",
            "[ALPHA] Duration of what follows from an event of the cluster.",
            exponential(0.0001, 2, 12),
            ("event",),
        )
        self._hint_seconds = self.histograms(
            "scheduler_queueing_hint_execution_duration_seconds",
            "[ALPHA] Duration of asking a plugin whether an event helps a pod that it rejected.",
            exponential(0.00001, 1.5, 20),
            ("plugin", "event", "hint"),
        )
        self._incoming = self.counter(
            "scheduler_queue_incoming_pods_total",
            "[STABLE] Pods added to a queue, by event.",
            ("queue", "event"),
        )
        self._unschedulable = self.gauge(
            "scheduler_unschedulable_pods",
            "[BETA] Pods in the queue that a plugin rejected.",
            ("plugin", "profile"),
        )
        self._running = self.gauge(
            "scheduler_goroutines", "[BETA] Operations under way, by what they do.", ("operation",)
        )
        self._pending = self.gauge("scheduler_pending_pods", "[STABLE] Pods that wait, by queue.", ("queue",))
        self._sizes = self.gauge(
            "scheduler_cache_size", "[ALPHA] Nodes, pods and assumed pods known.", ("type",)
        )
        self._in_flight = self.gauge(
            "scheduler_inflight_events",
            "[ALPHA] Pods being scheduled (PodPopped), and events remembered for them.",
            ("event",),
        )
        self._events_dropped = self.counter(
            "moorage_events_dropped_total", "[ALPHA] Events that were not written.", ("reason",)
        )
        self._silence = self.gauge(
            "moorage_watch_silence_seconds",
            "[ALPHA] Time since the API server last said anything on a watch, by resource.",
            ("resource",),
        )

    def watch(self, queue: SchedulingQueue, state: ClusterState, profiles: Iterable[Profile] = ()) -> None:
        """Sets where the numbers come from that are read at scrape time."""
        self._queue, self._state, self._profiles = queue, state, profiles

    def watch_silences(self, silences: Callable[[], Mapping[str, float]]) -> None:
        """Sets what tells, by resource, for how long its watch has been silent."""
        self._silences = silences

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

    def points_passed(self, profile: str, points: Points) -> None:
        """As `extension_point` for each of them with no time at all, and cheaper."""
        self._passed[profile, points] += 1

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

    def plugin_wrote(self, plugin: str, profile: str, result: str) -> None:
        self._writes[plugin, profile, result] += 1

    def background_failed(self, plugin: str, task: str, profile: str) -> None:
        self._background_failures[plugin, task, profile] += 1

    def preemption_attempt(self) -> None:
        self._preemptions[()] += 1

    def preemption(self, victims: int) -> None:
        """A node was chosen where so many pods have to go."""
        self._victims[()].observe(victims)

    def evicted(self, result: str, seconds: float) -> None:
        """A preemption was carried out, or failed."""
        self._evictions[(result,)] += 1
        self._eviction_seconds[(result,)].observe(seconds)

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

    def pre_enqueue(self, profile: str, seconds: float) -> None:
        # kube-scheduler counts gated pods as a success, too; `pending_pods` tells how many there are.
        self._point_seconds["PreEnqueue", "Success", profile].observe(seconds)

    def hint_given(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self._hint_seconds[plugin, event, hint].observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        self._event_seconds[(event,)].observe(seconds)

    # Events

    def events_dropped(self, reason: str, count: int) -> None:
        self._events_dropped[reason,] += count

    # Insight

    def plugin_times(self) -> dict[str, dict[str, Any]]:
        """By plugin: what its calls took at each point, how often it failed and was slow.

        Plugins are timed in some attempts only: `calls` counts all where all are counted, `samples` those
        that were timed, of which `seconds` is the sum.
        """
        merged: dict[Labels, Histogram] = {}
        for (plugin, point, _), timed in self._plugin_seconds.items():
            merged.setdefault((plugin, point), Histogram(timed.bounds)).add(timed)
        calls: Counter[Labels] = Counter()
        for (point, _), evaluated in self._evaluated.items():
            for plugin, count in evaluated.items():
                calls[plugin, point] += count
        found: dict[str, dict[str, Any]] = {}

        def of(plugin: str) -> dict[str, Any]:
            return found.setdefault(plugin, {"points": [], "failures": 0, "slow": 0})

        for (plugin, point), timed in merged.items():
            samples = sum(timed.counts)
            of(plugin)["points"].append(
                {
                    "point": point,
                    "calls": max(calls[plugin, point], samples),
                    "samples": samples,
                    "seconds": timed.total,
                    "mean": timed.total / samples if samples else 0.0,
                    "p99": timed.quantile(0.99),
                }
            )
        for (plugin, _), failures in self._failures.items():
            of(plugin)["failures"] += int(failures)
        for (plugin, _, _), slow in self._slow_calls.items():
            of(plugin)["slow"] += int(slow)
        return found

    # The scrape

    def reset(self) -> None:
        super().reset()
        self._evaluated.clear()
        self._passed.clear()

    def read(self) -> None:
        for (passed_in, points), count in self._passed.items():
            for point, label in points:
                self._point_seconds[point, label, passed_in].observe(0.0, count)
        self._passed.clear()
        for profile in self._profiles:
            self._show_plugins(profile)
        for (point, name), plugins in self._evaluated.items():
            for plugin, count in plugins.items():
                self._evaluations[plugin, point, name] = count
        for reason in WHY_DROPPED:
            self._events_dropped.setdefault((reason,), 0)
        for resource, seconds in self._silences().items():
            self._silence[(resource,)] = seconds
        if (queue := self._queue) is not None:
            for part, pods in queue.counts()._asdict().items():
                self._pending[(part,)] = pods
            for event in self._in_flight:
                self._in_flight[event] = 0
            for label, count in queue.in_flight_counts().items():
                self._in_flight[(label,)] = count
        if (state := self._state) is not None:
            self._sizes[("nodes",)] = len(state.table)
            self._sizes[("pods",)] = state.pod_total
            self._sizes[("assumed_pods",)] = state.assumed_total

    def _show_plugins(self, profile: Profile) -> None:
        """Has the plugins of a profile shown that were not asked yet."""
        asked: dict[str, Iterable[Plugin]] = {
            "PreFilter": profile.pre_filter,
            "Filter": [entry.plugin for entry in profile.filter],
            "PreScore": profile.pre_score,
            "Score": [entry.plugin for entry in profile.score],
        }
        for point, plugins in asked.items():
            self.plugins_evaluated([plugin.name for plugin in plugins], point, profile.name, 0)
