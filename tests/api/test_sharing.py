from __future__ import annotations

from typing import Any

from moorage.api.pods import Pod
from moorage.api.sharing import share_parts
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod

TOLERATIONS = [{"key": "a", "operator": "Exists"}]
RUNNING = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}


def placed(name: str, cpu: str = "1", **more: Any) -> Pod:
    return make_pod(name, node="n", cpu=cpu, labels={"app": "a"}, tolerations=TOLERATIONS, **more)


def test_equal_parts_are_kept_once() -> None:
    first, second = placed("first", status=RUNNING), placed("second", status=RUNNING)
    for pod in (first, second):
        share_parts(pod)
    assert first.spec.containers is second.spec.containers
    assert first.spec.tolerations is second.spec.tolerations
    assert first.labels is second.labels
    assert first.status.container_statuses is second.status.container_statuses
    assert (first.name, second.name) == ("first", "second")


def test_what_differs_stays_as_it_is() -> None:
    small, large = placed("small"), placed("large", cpu="2", status=RUNNING)
    for pod in (small, large):
        share_parts(pod)
    assert small.spec.containers[0].resources.requests == {"cpu": "1"}
    assert large.spec.containers[0].resources.requests == {"cpu": "2"}
    assert small.status.container_statuses == ()


def test_a_number_without_end_is_not_shared() -> None:
    pod = placed("p")
    containers = pod.spec.containers
    containers[0].resources.requests["cpu"] = 2**70
    share_parts(pod)
    assert pod.spec.containers is containers


def test_a_newer_version_uses_the_parts_of_the_older_one() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    old, new = placed("p", status=RUNNING), placed("p", status=RUNNING | {"phase": "Running"})
    state.add_pod(old)
    state.add_pod(new)
    assert state.pod(new.uid) is new
    assert new.spec.containers is old.spec.containers
    assert new.status.container_statuses is old.status.container_statuses
    assert (old.status.phase, new.status.phase) == ("", "Running")
