"""The scheduler's metrics: names, labels, buckets, and what the hooks count."""

from __future__ import annotations

import itertools
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod
from moorage.plugins.catalog import in_tree_registry
from moorage.process.instruments import bound_label, exponential
from moorage.process.metrics import ERROR, SCHEDULED, UNSCHEDULABLE, SchedulerMetrics
from moorage.queue.change_events import NODE_ADD
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.profiles import default_configuration, make_profiles
from moorage.server.exposition import render
from moorage.testing import make_node, make_pod

PROFILE = "default-scheduler"

NAMES = {
    "cache_size": "gauge",
    "event_handling_duration_seconds": "histogram",
    "framework_extension_point_duration_seconds": "histogram",
    "goroutines": "gauge",
    "inflight_events": "gauge",
    "pending_pods": "gauge",
    "permit_wait_duration_seconds": "histogram",
    "plugin_evaluation_total": "counter",
    "plugin_execution_duration_seconds": "histogram",
    "plugin_failures_total": "counter",
    "plugin_slow_calls_total": "counter",
    "plugin_writes_total": "counter",
    "pod_scheduled_after_flush_total": "counter",
    "pod_scheduling_attempts": "histogram",
    "pod_scheduling_sli_duration_seconds": "histogram",
    "preemption_attempts_total": "counter",
    "preemption_goroutines_duration_seconds": "histogram",
    "preemption_goroutines_execution_total": "counter",
    "preemption_victims": "histogram",
    "queue_incoming_pods_total": "counter",
    "queueing_hint_execution_duration_seconds": "histogram",
    "schedule_attempts_total": "counter",
    "scheduling_algorithm_duration_seconds": "histogram",
    "scheduling_attempt_duration_seconds": "histogram",
    "unschedulable_pods": "gauge",
    "volume_scheduling_stage_error_total": "counter",
}


def queued(attempts: int = 1, *, flushed: bool = False) -> QueuedPod:
    record = QueuedPod(make_pod(), 0.0)
    record.attempts, record.flushed = attempts, flushed
    return record


def shown(metrics: SchedulerMetrics, name: str) -> list[str]:
    """The lines of a metric, without the prefix of its name."""
    lines = render([metrics.registry]).splitlines()
    return [line.removeprefix("scheduler_") for line in lines if line.startswith(f"scheduler_{name}")]


def bounds(metrics: SchedulerMetrics, name: str) -> list[str]:
    return re.findall(r'[{,]le="([^"]+)"', "".join(shown(metrics, f"{name}_bucket")))


def used() -> tuple[SchedulerMetrics, SchedulingQueue]:
    """Metrics of which every one has counted something, and the queue they watch."""
    metrics = SchedulerMetrics()
    services = Services()
    registry = in_tree_registry()
    profiles = make_profiles(default_configuration(registry), registry, services)
    queue = SchedulingQueue(profiles, clock=lambda: 0.0, nominations=services.nominations, observer=metrics)
    metrics.watch(queue, services.state, profiles.values())
    services.state.put_node(make_node("n1"))
    services.state.add_pod(make_pod("bound", node="n1", uid="1"))
    services.state.assume(make_pod("assumed", uid="2"), "n1")
    queue.add(make_pod("waits"))
    queue.add(make_pod("gated", schedulingGates=[{"name": "g"}]))
    metrics.attempt(PROFILE, UNSCHEDULABLE, 0.5)
    metrics.algorithm(0.001)
    metrics.extension_point(PROFILE, "Filter", "Success", 0.0003)
    metrics.plugin_evaluated("NodeName", "Filter", PROFILE)
    metrics.plugin_executed("NodeName", "Filter", "Success", 0.00002)
    metrics.preemption_attempt()
    metrics.preemption(3)
    metrics.binding_started()
    metrics.permit_waited("Success", 2.0)
    metrics.bound(queued(), PROFILE, 0.002, 0.03)
    metrics.event_handled("NodeAdd", 0.0001)
    return metrics, queue


def test_all_are_named_from_the_start() -> None:
    metrics = SchedulerMetrics()
    types = dict(line.split()[2:4] for line in render([metrics.registry]).splitlines() if "# TYPE" in line)
    ours = {
        "moorage_events_dropped_total": "counter",
        "moorage_plugin_background_errors_total": "counter",
        "moorage_watch_silence_seconds": "gauge",
    }
    assert types == {f"scheduler_{name}": kind for name, kind in NAMES.items()} | ours


def test_the_text_can_be_parsed_and_has_no_other_series() -> None:
    metrics, _ = used()
    families = list(text_string_to_metric_families(render([metrics.registry])))
    assert len(families) == len(NAMES) + 3
    names = {sample.name for family in families for sample in family.samples}
    assert not [name for name in names if name.endswith("_created")]


def test_what_has_no_labels_is_there_from_the_start() -> None:
    lines = shown(SchedulerMetrics(), "")
    for line in (
        "preemption_attempts_total 0",
        "pod_scheduled_after_flush_total 0",
        "preemption_victims_count 0",
        'pod_scheduling_attempts_bucket{le="+Inf"} 0',
    ):
        assert line in lines


def test_dropped_events_are_counted_from_zero_on() -> None:
    metrics = SchedulerMetrics()

    def dropped() -> dict[str, float]:
        text = render([metrics.registry])
        return {
            reason: float(count)
            for reason, count in re.findall(r'moorage_events_dropped_total\{reason="(\w+)"\} (\S+)', text)
        }

    none = {"too_many": 0, "unreachable": 0, "rejected": 0, "shutdown": 0}
    assert dropped() == none
    metrics.events_dropped("too_many", 3)
    metrics.events_dropped("too_many", 1)
    assert dropped() == none | {"too_many": 4}
    metrics.reset()
    assert dropped() == none


@pytest.mark.parametrize(
    ("name", "start", "factor", "count"),
    [
        ("scheduling_attempt_duration_seconds", 0.001, 2, 15),
        ("scheduling_algorithm_duration_seconds", 0.001, 2, 15),
        ("framework_extension_point_duration_seconds", 0.0001, 2, 12),
        ("plugin_execution_duration_seconds", 0.00001, 1.5, 20),
        ("permit_wait_duration_seconds", 0.001, 2, 15),
        ("pod_scheduling_sli_duration_seconds", 0.01, 2, 20),
        ("preemption_goroutines_duration_seconds", 0.01, 2, 20),
        ("queueing_hint_execution_duration_seconds", 0.00001, 1.5, 20),
    ],
)
def test_buckets(name: str, start: float, factor: float, count: int) -> None:
    metrics = SchedulerMetrics()
    metrics.attempt(PROFILE, ERROR, 1.0)
    metrics.extension_point(PROFILE, "Bind", "Success", 1.0)
    metrics.plugin_executed("A", "Bind", "Success", 1.0)
    metrics.permit_waited("Success", 1.0)
    metrics.bound(queued(), "other", 1.0, 1.0)
    metrics.evicted("success", 1.0)
    metrics.hint_given("A", "NodeAdd", "Queue", 1.0)
    found = bounds(metrics, name)[: count + 1]
    assert found[-1] == "+Inf"
    assert [float(bound) for bound in found[:-1]] == list(exponential(start, factor, count))


def test_whole_bounds_have_no_fraction() -> None:
    metrics = SchedulerMetrics()
    assert bounds(metrics, "preemption_victims") == ["1", "2", "4", "8", "16", "32", "64", "+Inf"]
    assert bounds(metrics, "pod_scheduling_attempts") == ["1", "2", "4", "8", "16", "+Inf"]


@pytest.mark.parametrize(
    ("bound", "label"),
    [
        (0.00016, "0.00016"),
        (0.000015, "1.5e-05"),
        (604800, "604800"),
        (1e6, "1e+06"),
        (1048576, "1.048576e+06"),
        (124416000, "1.24416e+08"),
    ],
)
def test_bounds_are_written_as_go_does(bound: float, label: str) -> None:
    assert bound_label(bound) == label


def test_a_histogram_counts_up_to_and_including_its_bounds() -> None:
    metrics = SchedulerMetrics()
    for victims in (1, 2, 2, 100):
        metrics.preemption(victims)
    assert shown(metrics, "preemption_victims") == [
        'preemption_victims_bucket{le="1"} 1',
        'preemption_victims_bucket{le="2"} 3',
        *(f'preemption_victims_bucket{{le="{bound}"}} 3' for bound in (4, 8, 16, 32, 64)),
        'preemption_victims_bucket{le="+Inf"} 4',
        "preemption_victims_sum 105",
        "preemption_victims_count 4",
    ]


def test_attempts_by_result() -> None:
    metrics = SchedulerMetrics()
    metrics.attempt(PROFILE, UNSCHEDULABLE, 0.5)
    metrics.attempt(PROFILE, UNSCHEDULABLE, 0.5)
    metrics.attempt(PROFILE, ERROR, 0.25)
    assert shown(metrics, "schedule_attempts_total") == [
        f'schedule_attempts_total{{profile="{PROFILE}",result="unschedulable"}} 2',
        f'schedule_attempts_total{{profile="{PROFILE}",result="error"}} 1',
    ]
    assert shown(metrics, "scheduling_attempt_duration_seconds_sum") == [
        f'scheduling_attempt_duration_seconds_sum{{profile="{PROFILE}",result="unschedulable"}} 1',
        f'scheduling_attempt_duration_seconds_sum{{profile="{PROFILE}",result="error"}} 0.25',
    ]


def test_a_bound_pod() -> None:
    metrics = SchedulerMetrics()
    metrics.bound(queued(3, flushed=True), PROFILE, 0.5, 4.0)
    labels = f'{{profile="{PROFILE}",result="{SCHEDULED}"}}'
    for line in (
        f"schedule_attempts_total{labels} 1",
        f"scheduling_attempt_duration_seconds_sum{labels} 0.5",
        "pod_scheduling_attempts_sum 3",
        'pod_scheduling_sli_duration_seconds_sum{attempts="3"} 4',
        "pod_scheduled_after_flush_total 1",
    ):
        assert line in shown(metrics, line.split("{")[0].split()[0])


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (99, "15+")])
def test_many_attempts_share_a_label(attempts: int, label: str) -> None:
    metrics = SchedulerMetrics()
    metrics.bound(queued(attempts), PROFILE, 0.5, 4.0)
    name = "pod_scheduling_sli_duration_seconds_count"
    assert shown(metrics, name) == [f'{name}{{attempts="{label}"}} 1']


def test_a_pod_that_never_entered_the_active_queue_has_no_duration() -> None:
    metrics = SchedulerMetrics()
    metrics.bound(queued(), PROFILE, 0.5, None)
    assert shown(metrics, "pod_scheduling_sli_duration_seconds") == []
    assert "pod_scheduling_attempts_count 1" in shown(metrics, "pod_scheduling_attempts")


def test_evaluations() -> None:
    metrics = SchedulerMetrics()
    metrics.plugin_evaluated("Fit", "Score", PROFILE, 3)
    metrics.plugins_evaluated(["Fit", "Image"], "Score", PROFILE, 2)
    shown(metrics, "plugin_evaluation_total")
    metrics.plugin_evaluated("Fit", "PreScore", PROFILE)
    assert shown(metrics, "plugin_evaluation_total") == [
        f'plugin_evaluation_total{{extension_point="Score",plugin="Fit",profile="{PROFILE}"}} 5',
        f'plugin_evaluation_total{{extension_point="Score",plugin="Image",profile="{PROFILE}"}} 2',
        f'plugin_evaluation_total{{extension_point="PreScore",plugin="Fit",profile="{PROFILE}"}} 1',
    ]


def test_plugins_that_were_not_asked_yet_are_shown() -> None:
    metrics, _ = used()
    shown_at_first = shown(metrics, "plugin_evaluation_total")
    labels = 'extension_point="{}",plugin="{}",profile="default-scheduler"'
    for point, plugin, count in (
        ("Filter", "NodeName", 1),
        ("PreFilter", "NodeAffinity", 0),
        ("Filter", "TaintToleration", 0),
        ("PreScore", "PodTopologySpread", 0),
        ("Score", "ImageLocality", 0),
    ):
        assert f"plugin_evaluation_total{{{labels.format(point, plugin)}}} {count}" in shown_at_first
    metrics.reset()
    assert len(shown(metrics, "plugin_evaluation_total")) == len(shown_at_first)


def test_what_is_kept_for_pods_in_flight() -> None:
    metrics, queue = used()
    assert shown(metrics, "inflight_events") == ['inflight_events{event="PodPopped"} 0']
    popped = queue.pop()
    assert popped is not None
    queue.move_all(NODE_ADD, None, make_node("n2"))
    assert shown(metrics, "inflight_events") == [
        'inflight_events{event="PodPopped"} 1',
        'inflight_events{event="NodeAdd"} 1',
    ]
    queue.done(popped.pod.uid)
    assert shown(metrics, "inflight_events") == [
        'inflight_events{event="PodPopped"} 0',
        'inflight_events{event="NodeAdd"} 0',
    ]


def test_labels_of_an_extension_point_and_a_plugin() -> None:
    metrics = SchedulerMetrics()
    metrics.extension_point(PROFILE, "Filter", "Unschedulable", 0.5)
    metrics.pre_enqueue(PROFILE, 0.25)
    metrics.plugin_executed("Fit", "Filter", "Success", 0.5)
    name = "framework_extension_point_duration_seconds_sum"
    assert shown(metrics, name) == [
        f'{name}{{extension_point="Filter",profile="{PROFILE}",status="Unschedulable"}} 0.5',
        f'{name}{{extension_point="PreEnqueue",profile="{PROFILE}",status="Success"}} 0.25',
    ]
    name = "plugin_execution_duration_seconds_sum"
    assert shown(metrics, name) == [f'{name}{{extension_point="Filter",plugin="Fit",status="Success"}} 0.5']


def test_a_tenth_of_the_cycles_is_sampled() -> None:
    chances = itertools.cycle(place / 100 for place in range(100))
    metrics = SchedulerMetrics(chance=lambda: next(chances))
    assert sum(metrics.samples_plugins() for _ in range(1000)) == 100


def test_bindings_under_way() -> None:
    metrics = SchedulerMetrics()
    metrics.binding_started()
    metrics.binding_started()
    metrics.binding_ended()
    assert shown(metrics, "goroutines") == ['goroutines{operation="binding"} 1']


def test_the_queue_is_observed() -> None:
    metrics, queue = used()
    assert shown(metrics, "queue_incoming_pods_total") == [
        'queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"} 1',
        'queue_incoming_pods_total{event="UnschedulablePodAdd",queue="unschedulable"} 1',
    ]
    gates = f'unschedulable_pods{{plugin="SchedulingGates",profile="{PROFILE}"}}'
    assert shown(metrics, "unschedulable_pods") == [f"{gates} 1"]
    queue.delete(make_pod("gated"))
    assert shown(metrics, "unschedulable_pods") == [f"{gates} 0"]


def test_sizes_are_read_when_they_are_asked_for() -> None:
    metrics, queue = used()
    assert shown(metrics, "pending_pods") == [
        'pending_pods{queue="active"} 1',
        'pending_pods{queue="backoff"} 0',
        'pending_pods{queue="unschedulable"} 0',
        'pending_pods{queue="gated"} 1',
    ]
    assert shown(metrics, "cache_size") == [
        'cache_size{type="nodes"} 1',
        'cache_size{type="pods"} 2',
        'cache_size{type="assumed_pods"} 1',
    ]
    queue.pop()
    assert 'pending_pods{queue="active"} 0' in shown(metrics, "pending_pods")


def test_a_reset_forgets_what_was_counted_but_not_what_is() -> None:
    metrics, _ = used()
    metrics.reset()
    for name in ("schedule_attempts_total", "plugin_failures_total", "queue_incoming_pods_total"):
        assert shown(metrics, name) == []
    assert "preemption_victims_count 0" in shown(metrics, "preemption_victims")
    assert shown(metrics, "goroutines") == ['goroutines{operation="binding"} 1']
    assert shown(metrics, "unschedulable_pods")[0].endswith(" 1")
    metrics.binding_ended()
    assert shown(metrics, "goroutines") == ['goroutines{operation="binding"} 0']
