"""Requests and limits of pods as metrics."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.server import pod_resources
from moorage.server.pod_resources import pod_limits, texts, unit
from moorage.testing import make_pod


def lines(*pods: Any) -> list[str]:
    return "".join(texts(pods)).splitlines()


def containers(*limits: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": f"c{place}", "resources": {"limits": limit}} for place, limit in enumerate(limits)]


def test_requests_of_a_pod() -> None:
    pod = make_pod("p", cpu="250m", memory="1Ki", node="n1", priority=7)
    before = 'kube_pod_resource_request{namespace="default",node="n1",pod="p",priority="7"'
    scheduler = 'scheduler="default-scheduler"'
    assert lines(pod)[2:] == [
        f'{before},resource="cpu",{scheduler},unit="cores"}} 0.25',
        f'{before},resource="memory",{scheduler},unit="bytes"}} 1024',
    ]


def test_each_metric_has_one_header() -> None:
    limited = make_pod("b", containers=containers({"cpu": "1"}))
    found = [line for line in lines(make_pod("a", cpu=1), limited, make_pod("c", cpu=1)) if line[0] == "#"]
    assert [line.split()[1:3] for line in found] == [
        ["HELP", "kube_pod_resource_request"],
        ["TYPE", "kube_pod_resource_request"],
        ["HELP", "kube_pod_resource_limit"],
        ["TYPE", "kube_pod_resource_limit"],
    ]


def test_nothing_for_pods_that_ended_or_ask_for_nothing() -> None:
    ended = make_pod("p", cpu=1, node="n1", status={"phase": "Succeeded"})
    assert lines(ended, make_pod("q"), make_pod("r", cpu=0)) == []


def test_a_pod_with_an_unreadable_amount_is_left_out() -> None:
    assert lines(make_pod("p", cpu="many")) == []


def test_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_resources, "_PODS_AT_ONCE", 2)
    parts = list(texts([make_pod(f"p{place}", cpu=1) for place in range(5)]))
    assert [part.count("\n") for part in parts if not part.startswith("#") and part] == [2, 2, 1]


def test_limits_add_up_and_init_containers_count_by_their_peak() -> None:
    pod = make_pod(
        containers=containers({"cpu": "1"}, {"cpu": "500m", "memory": "10"}),
        initContainers=[
            {"name": "side", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}},
            {"name": "init", "resources": {"limits": {"cpu": "3"}}},
        ],
        overhead={"cpu": "1", "ephemeral-storage": "5"},
    )
    # max(1 + 0.5 + 1, 3 + 1) + 1, and overhead only where there is a limit
    assert pod_limits(pod) == {"cpu": 5 * 10**9, "memory": 10 * 10**9}


def test_limits_of_the_pod_replace_those_of_its_containers() -> None:
    pod = make_pod(containers=containers({"cpu": "1", "memory": "10"}), resources={"limits": {"cpu": "4"}})
    assert pod_limits(pod) == {"cpu": 4 * 10**9, "memory": 10 * 10**9}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("cpu", "cores"),
        ("ephemeral-storage", "bytes"),
        ("hugepages-2Mi", "bytes"),
        ("attachable-volumes-x", "integer"),
        ("example.com/gpu", ""),
    ],
)
def test_units(resource: str, expected: str) -> None:
    assert unit(resource) == expected
