"""The order of the queue by priority, quality of service and time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.contrib.qos_sort import QOSSort, QualityOfService, quality_of_service
from moorage.framework.queued_pod import QueuedPod
from moorage.testing import FakeHandle, make_pod

BOTH = {"cpu": "1", "memory": "1Gi"}


def container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}


def pod(*containers: dict[str, Any], name: str = "p", **more: Any) -> Pod:
    return make_pod(name, containers=list(containers), **more)


GUARANTEED = container(BOTH, BOTH)
BURSTABLE = container({"cpu": "1"})
BEST_EFFORT = container()


@pytest.mark.parametrize(
    ("tried", "expected"),
    [
        (pod(GUARANTEED), QualityOfService.GUARANTEED),
        (pod(GUARANTEED, GUARANTEED), QualityOfService.GUARANTEED),
        (pod(container(BOTH, {"cpu": "1000m", "memory": 1 << 30})), QualityOfService.GUARANTEED),
        (pod(GUARANTEED, BEST_EFFORT), QualityOfService.BURSTABLE),
        (pod(container(BOTH, {"cpu": "2", "memory": "1Gi"})), QualityOfService.BURSTABLE),
        (pod(container({"cpu": "1"}, {"cpu": "1"})), QualityOfService.BURSTABLE),
        (pod(container({}, {"memory": "1Gi"})), QualityOfService.BURSTABLE),
        (pod(BURSTABLE), QualityOfService.BURSTABLE),
        (pod(BEST_EFFORT), QualityOfService.BEST_EFFORT),
        (pod(container({"cpu": "0"}, {"memory": "0"})), QualityOfService.BEST_EFFORT),
        (pod(container({"example.com/gpu": "1"}, {"example.com/gpu": "1"})), QualityOfService.BEST_EFFORT),
        (pod(container({"cpu": "much"})), QualityOfService.BEST_EFFORT),
        (pod(GUARANTEED, initContainers=[BEST_EFFORT]), QualityOfService.BURSTABLE),
        (pod(GUARANTEED, initContainers=[GUARANTEED]), QualityOfService.GUARANTEED),
        (pod(BEST_EFFORT, resources={"requests": BOTH, "limits": BOTH}), QualityOfService.GUARANTEED),
        (pod(GUARANTEED, resources={"requests": BOTH}), QualityOfService.BURSTABLE),
        (pod(GUARANTEED, resources={"limits": {"cpu": "1"}}), QualityOfService.BURSTABLE),
    ],
)
def test_the_class_of_a_pod(tried: Pod, expected: QualityOfService) -> None:
    assert quality_of_service(tried) is expected


def in_order(*queued: QueuedPod) -> list[str]:
    plugin = QOSSort(None, FakeHandle())
    shuffled = random.sample(queued, len(queued))
    return [each.pod.name for each in sorted(shuffled, key=plugin.sort_key)]


def at(time: float, tried: Pod) -> QueuedPod:
    return QueuedPod(tried, timestamp=time)


def test_guaranteed_goes_before_burstable_that_came_earlier() -> None:
    late = at(2, pod(GUARANTEED, name="guaranteed"))
    assert in_order(at(1, pod(BURSTABLE, name="burstable")), late) == ["guaranteed", "burstable"]


def test_two_of_a_class_go_by_time() -> None:
    second = at(2, pod(BEST_EFFORT, name="second"))
    assert in_order(second, at(1, pod(BEST_EFFORT, name="first"))) == ["first", "second"]


def test_priority_goes_before_all() -> None:
    queued = [
        at(1, pod(BEST_EFFORT, name="effort")),
        at(2, pod(GUARANTEED, name="guaranteed")),
        at(3, pod(BURSTABLE, name="burstable")),
        at(4, pod(BEST_EFFORT, name="important", priority=1)),
        at(5, pod(GUARANTEED, name="unimportant", priority=-1)),
    ]
    assert in_order(*queued) == ["important", "guaranteed", "burstable", "effort", "unimportant"]
