"""The metrics of one workload, once under kube-scheduler and once under Moorage in its place."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.metrics_workload import Labels, Page, Pages, Workload, extender, furnish, two_nodes
from tests.controlplane.schedulers import Api, configuration, moorage
from tests.controlplane.servers import ControlPlane, free_ports
from tests.docs.metrics_page import OWN, described, is_left_out, left_out

SHOWN_ONCE_FED = {
    "leader_election_slowpath_total",
    "rest_client_exec_plugin_call_total",
    "rest_client_request_retries_total",
    "scheduler_permit_wait_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_volume_scheduling_stage_error_total",
}
"""What kube-scheduler does not show before it has a value, which this workload need not bring."""

NEVER_SHOWN = {
    "scheduler_async_api_call_*",
    "scheduler_dra_bindingconditions_*",
    "scheduler_pending_async_api_calls",
    "scheduler_podgroup_*",
    "scheduler_resourceclaim_creates_total",
    "scheduler_volume_binder_cache_requests_total",
}
"""What kube-scheduler has but cannot be seen in this workload."""

SAME_AT_FIRST = (
    "kubernetes_feature_enabled",
    "leader_election_master_status",
    "scheduler_cache_size",
    "scheduler_pending_pods",
    "scheduler_plugin_evaluation_total",
    "version_info",
)
SAME_MIDWAY = ("scheduler_plugin_evaluation_total",)
SAME_AT_LAST = (
    "scheduler_cache_size",
    "scheduler_event_handling_duration_seconds",
    "scheduler_pending_pods",
    "scheduler_pod_scheduled_after_flush_total",
    "scheduler_preemption_attempts_total",
    "scheduler_preemption_goroutines_execution_total",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_algorithm_duration_seconds",
    "scheduler_scheduling_attempt_duration_seconds",
    "scheduler_unschedulable_pods",
)
SAME_BUCKETS = ("scheduler_pod_scheduling_attempts", "scheduler_preemption_victims")
CHANCE = {"AssignedPodDelete", "BackoffComplete", "PopFromBackoffQ"}
"""Whether such events find a pod still backing off depends on who is faster."""

Both = dict[str, Pages]


@pytest.fixture(scope="module")
def pages(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """What both showed, one after the other on the same cluster."""
    return dict(play(control_plane, tmp_path_factory.mktemp("metrics")))


def play(plane: ControlPlane, folder: Path) -> Iterator[tuple[str, Pages]]:
    api = Api(plane)
    furnish(api)
    with extender() as asked:
        for who in ("kube", "moorage"):
            config = configuration(plane, "default-scheduler", election={})
            verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize"}
            config["extenders"] = [{"urlPrefix": asked.url, **verbs, "weight": 1, "nodeCacheCapable": True}]
            file = folder / f"{who}.json"
            file.write_text(json.dumps(config))
            [port] = free_ports(1)
            reviews = (
                f"--{what}-kubeconfig={plane.kubeconfig}" for what in ("authentication", "authorization")
            )
            flags = (f"--config={file}", f"--secure-port={port}", *reviews)
            running: AbstractContextManager[Any] = (
                plane.kube_scheduler(*flags, "--leader-elect=true")
                if who == "kube"
                else moorage(plane, *flags, ready=False)
            )
            with two_nodes(api), running:
                yield who, Workload(api, port, plane.admin_token).play()
            api.delete("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")


def counts(page: Page, name: str) -> dict[Labels, float]:
    """The values of a metric; of a histogram, how many observations there were."""
    family = page[name]
    return family.values.get("_count" if family.type == "histogram" else "", {})


def test_every_metric_of_kube_scheduler_is_there_or_left_out(pages: Both) -> None:
    ours, theirs = pages["moorage"].last, pages["kube"].last
    assert sorted(name for name in theirs if name not in ours and not is_left_out(name)) == []


def test_what_is_left_out_is_something_of_kube_schedulers(pages: Both) -> None:
    theirs = pages["kube"].last
    unseen = [name for name in left_out() if not any(fnmatchcase(each, name) for each in theirs)]
    assert {*unseen} == NEVER_SHOWN


def test_every_other_metric_is_said_to_be_ours(pages: Both) -> None:
    ours, theirs = pages["moorage"].last, pages["kube"].last
    own = {name for name, row in described().items() if row.section == OWN}
    own = {name for name in own if not name.startswith("moorage_shadow_")}  # those of another command
    assert ours.keys() - theirs.keys() - SHOWN_ONCE_FED == own


def test_all_are_named_from_the_start(pages: Both) -> None:
    assert pages["moorage"].first.keys() == pages["moorage"].last.keys()


def test_those_that_have_a_value_from_the_start_have_it_too(pages: Both) -> None:
    ours, theirs = pages["moorage"].first, pages["kube"].first
    assert [name for name in theirs if name in ours and not ours[name].values] == []


@pytest.mark.parametrize("what", ["type", "stability"])
def test_of_the_same(what: str, pages: Both) -> None:
    ours, theirs = pages["moorage"].last, pages["kube"].last
    both = theirs.keys() & ours.keys()
    assert {name: getattr(ours[name], what) for name in both} == {
        name: getattr(theirs[name], what) for name in both
    }


@pytest.mark.parametrize("what", ["labels", "bounds"])
def test_with_the_same(what: str, pages: Both) -> None:
    ours, theirs = pages["moorage"].last, pages["kube"].last
    both = [name for name in theirs if name in ours and ours[name].values]
    assert len(both) > 40
    assert {name: getattr(ours[name], what) for name in both} == {
        name: getattr(theirs[name], what) for name in both
    }


@pytest.mark.parametrize("name", SAME_AT_FIRST)
def test_the_same_before_any_pod(name: str, pages: Both) -> None:
    assert counts(pages["moorage"].first, name) == counts(pages["kube"].first, name)


@pytest.mark.parametrize("name", SAME_MIDWAY)
def test_the_same_before_the_preemption(name: str, pages: Both) -> None:
    assert counts(pages["moorage"].midway, name) == counts(pages["kube"].midway, name)


@pytest.mark.parametrize("name", SAME_AT_LAST)
def test_the_same_in_the_end(name: str, pages: Both) -> None:
    assert counts(pages["moorage"].last, name) == counts(pages["kube"].last, name)
    assert sum(counts(pages["moorage"].last, name).values()) or name.endswith("after_flush_total")


@pytest.mark.parametrize("name", SAME_BUCKETS)
def test_the_same_numbers_in_the_same_buckets(name: str, pages: Both) -> None:
    assert pages["moorage"].last[name].values == pages["kube"].last[name].values


def test_the_same_extension_points_as_often(pages: Both) -> None:
    name = "scheduler_framework_extension_point_duration_seconds"
    ours, theirs = (counts(pages[who].last, name) for who in ("moorage", "kube"))
    sign = {labels for labels in theirs if ("extension_point", "Sign") in labels}
    assert ours == {labels: count for labels, count in theirs.items() if labels not in sign}


def test_the_same_pods_come_into_the_queue(pages: Both) -> None:
    ours, theirs = (
        {
            labels: count
            for labels, count in counts(pages[who].last, "scheduler_queue_incoming_pods_total").items()
            if dict(labels)["event"] not in CHANCE
        }
        for who in ("moorage", "kube")
    )
    assert ours == theirs


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
def test_as_many_requests_change_pods(method: str, pages: Both) -> None:
    name = "rest_client_requests_total"
    assert pages["moorage"].last.value(name, method=method) == pages["kube"].last.value(name, method=method)
