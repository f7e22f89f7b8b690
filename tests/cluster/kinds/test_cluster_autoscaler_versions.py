"""Autoscalers are the same in both versions of their group."""

from __future__ import annotations

import json

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.autoscaling.first_version import to_first, to_second
from tests.cluster.api_worlds import World
from tests.embedded.chart_objects import BEHAVIORS, GOOD_METRICS, autoscaler

NEW = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
OLD = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
MERGE = "application/merge-patch+json"
NOTES = "autoscaling.alpha.kubernetes.io"
SPECS = [
    autoscaler(),
    autoscaler(metrics=GOOD_METRICS),
    *(autoscaler(metrics=[each]) for each in GOOD_METRICS),
    *(autoscaler(behavior=each) for each in BEHAVIORS),
]


def _in_order(metrics: list[Document]) -> list[Document]:
    return sorted(metrics, key=lambda each: json.dumps(each, sort_keys=True))


@pytest.mark.parametrize("document", SPECS, ids=lambda each: json.dumps(each["spec"])[-40:])
def test_a_change_by_the_old_version_loses_nothing(document: Document) -> None:
    world = World().prepared()
    created = world.create(NEW, document)
    again = to_second(to_first(created))
    assert (again["metadata"], again["status"]) == (created["metadata"], created["status"])
    world.done("PATCH", f"{OLD}/x", {"spec": {"maxReplicas": 9}}, content_type=MERGE)
    found = world.get(f"{NEW}/x")
    metrics, others = found["spec"].pop("metrics"), created["spec"].pop("metrics")
    assert _in_order(metrics) == _in_order(others)  # that for CPU is now last
    assert found["spec"] == {**created["spec"], "maxReplicas": 9}
    assert "annotations" not in found["metadata"]


def test_what_the_old_version_shows() -> None:
    world = World().prepared()
    pods = {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1k"}}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    metrics = [{"type": "Resource", "resource": cpu}, {"type": "Pods", "pods": pods}]
    world.create(NEW, autoscaler(metrics=metrics))
    found = world.get(f"{OLD}/x")
    assert found["spec"]["targetCPUUtilizationPercentage"] == 70
    assert found["metadata"]["annotations"] == {
        f"{NOTES}/metrics": '[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"1k"}}]'
    }
    assert (found["apiVersion"], found["status"]) == (
        "autoscaling/v1",
        {"currentReplicas": 0, "desiredReplicas": 0},
    )


def test_a_replacement_by_the_old_version_keeps_the_status() -> None:
    world = World().prepared()
    world.create(NEW, autoscaler())
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"desiredReplicas": 2, "conditions": [condition]}}
    world.done("PATCH", f"{NEW}/x/status", status, content_type=MERGE)
    world.done("PUT", f"{OLD}/x", autoscaler(minReplicas=2))
    found = world.get(f"{NEW}/x")
    assert found["status"]["conditions"] == [condition]
    assert found["spec"]["minReplicas"] == 2


@pytest.mark.parametrize("text", ["nonsense", "[1]", '{"a": 1}', '[{"type": {}}]', "[" * 5000])
def test_annotations_that_cannot_be_read(text: str) -> None:
    world = World().prepared()
    names = ("metrics", "behavior", "current-metrics", "conditions")
    for name in names:
        document = {**autoscaler(), "metadata": {"name": "x", "annotations": {f"{NOTES}/{name}": text}}}
        reply = world.ask("POST", OLD, document, dryRun="All")
        assert reply.code in (201, 422), reply
