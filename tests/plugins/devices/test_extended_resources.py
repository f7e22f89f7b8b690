"""Extended resources that devices serve."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass
from moorage.api.pods import Pod
from moorage.framework.events import DEVICE_CLASS, NODE, Action, Hint
from moorage.plugins.devices.extended_resources import ExtendedResources, asked_of_devices
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.testing import make_node, make_pod
from tests.plugins.devices.clusters import claim, claiming, gpu_class, world
from tests.plugins.helpers import hint

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def named(name: str, resource: str | None, created: str = "2026-01-01T00:00:00Z") -> DeviceClass:
    spec = {} if resource is None else {"extendedResourceName": resource}
    return from_document(
        DeviceClass, {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}
    )


def container(name: str, amount: str | None, **fields: Any) -> dict[str, Any]:
    requests = {} if amount is None else {GPU: amount, "cpu": "1"}
    return {"name": name, "image": "i", "resources": {"requests": requests}, **fields}


def pod_of(containers: list[dict[str, Any]], init: list[dict[str, Any]] | None = None) -> Pod:
    return make_pod("p", containers=containers, initContainers=init or [])


def asked(pod: Pod) -> tuple[dict[str, int], list[tuple[str, str]]]:
    _, plugin = world(gpu_class("gpus", extendedResourceName=GPU))
    found = asked_of_devices(pod, [GPU], plugin.devices.extended)
    counts = {request["name"]: request["exactly"]["count"] for request in found.requests}
    return counts, [(each["containerName"], each["requestName"]) for each in found.mappings]


def test_each_container_asks_for_its_own() -> None:
    pod = pod_of([container("a", "2"), container("b", None), container("c", "1")])
    counts, mappings = asked(pod)
    assert counts == {"container-0-request-1": 2, "container-2-request-1": 1}
    assert mappings == [("a", "container-0-request-1"), ("c", "container-2-request-1")]


def test_init_containers_use_what_comes_later_and_take_turns_with_the_rest() -> None:
    init = [
        container("first", "3"),
        container("sidecar", "1", restartPolicy="Always"),
        container("second", "5"),
    ]
    counts, mappings = asked(pod_of([container("app", "1")], init))
    assert counts == {
        "container-1-request-1": 1,
        "container-2-request-1": 4,
        "container-3-request-1": 1,
    }
    assert mappings == [
        ("sidecar", "container-1-request-1"),
        ("app", "container-3-request-1"),
        ("first", "container-1-request-1"),
        ("first", "container-3-request-1"),
        ("first", "container-2-request-1"),
        ("second", "container-3-request-1"),
        ("second", "container-2-request-1"),
    ]


def test_what_is_no_whole_number_is_no_request() -> None:
    assert asked(pod_of([container("a", "1500m"), container("b", "0")])) == ({}, [])


@pytest.mark.parametrize(
    ("classes", "serves"),
    [
        ([named("a", GPU)], "a"),
        ([named("a", GPU, "2026-01-01T00:00:00Z"), named("b", GPU, "2026-01-02T00:00:00Z")], "b"),
        ([named("b", GPU, "2026-01-02T00:00:00Z"), named("a", GPU, "2026-01-01T00:00:00Z")], "b"),
        ([named("b", GPU), named("a", GPU)], "a"),
        ([named("a", GPU), named("a", None)], None),
        ([named("a", GPU), named("a", "example.com/other")], None),
    ],
    ids=["one", "younger", "older", "by name", "no longer", "another"],
)
def test_which_class_serves_a_resource(classes: list[DeviceClass], serves: str | None) -> None:
    scenario, plugin = world()
    extended = plugin.handle.shared(ExtendedResources)
    for each in classes:
        scenario.add(each)
    found = extended.class_of(GPU)
    assert (None if found is None else found.name) == serves
    assert (GPU in scenario.profile.state.table.device_resources) is (serves is not None)


def test_a_class_that_goes_serves_nothing() -> None:
    scenario, plugin = world()
    gone = named("a", GPU)
    scenario.add(gone)
    plugin.handle.services.door.remove(gone)
    assert plugin.devices.extended.class_of(GPU) is None
    assert scenario.profile.state.table.device_resources == {IMPLICIT}


def test_a_node_that_has_the_resource_itself_serves_it_itself() -> None:
    scenario, _ = world(nodes=1)
    scenario.add(make_node("plugged", allocatable={"cpu": "8", "pods": "10", IMPLICIT: "1"}))
    told = scenario.evaluate(make_pod("p", requests={IMPLICIT: 1})).document()
    assert told["feasible"] == ["n1", "plugged"]
    assert told["plans"]["plugged"] == {}
    assert told["plans"]["n1"] == {
        "default/<extended-resources>": ["container-0-request-0: gpu.example.com/n1/gpu-0"]
    }
    told = scenario.evaluate(make_pod("p", requests={IMPLICIT: 2})).document()
    assert told["nodeStatus"]["plugged"]["reasons"] == [f"Insufficient {IMPLICIT}"]
    told = scenario.evaluate(make_pod("p", requests={IMPLICIT: 3})).document()
    assert told["nodeStatus"]["n1"]["reasons"] == ["cannot allocate all claims"]


def test_what_was_known_of_like_pods_is_forgotten_when_a_class_begins_to_serve_their_resource() -> None:
    scenario, plugin = world()
    pods = [make_pod(name, requests={GPU: 1}) for name in ("a", "b", "c", "d")]
    for pod in pods[:2]:
        told = scenario.evaluate(pod).document()
        assert told["nodeStatus"]["n1"]["reasons"] == [f"Insufficient {GPU}"]
    scenario.add(gpu_class("gpu", extendedResourceName=GPU))
    assert scenario.evaluate(pods[2]).document()["feasible"] == ["n1", "n2"]
    plugin.handle.services.door.remove(gpu_class("gpu", extendedResourceName=GPU))
    assert scenario.evaluate(pods[3]).document()["feasible"] == []


def test_a_claim_left_by_an_earlier_attempt_is_deleted_first() -> None:
    pod = make_pod("p", requests={IMPLICIT: 1})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.uid, "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    left = claim("left", metadata={"ownerReferences": [owner], "annotations": annotations})
    scenario, _ = world(left)
    told = scenario.evaluate(pod).document()
    assert told["nodeStatus"]["n1"]["reasons"] == ["cannot schedule extended resource claim"]
    assert told["postFilter"]["deleted"] == ["default/left"]


def test_it_comes_after_the_claims_of_the_pod() -> None:
    scenario, _ = world(claim("c"), nodes=1)
    told = scenario.evaluate(claiming("p", "c", requests={IMPLICIT: 1})).document()
    assert told["plans"]["n1"] == {
        "default/c": ["r: gpu.example.com/n1/gpu-0"],
        "default/<extended-resources>": ["container-0-request-0: gpu.example.com/n1/gpu-1"],
    }
    assert told["bind"]["n1"]["writes"] == [
        "update default/c",
        "updateStatus default/c",
        "create default/p-extended-resources-00000",
        "update default/p-extended-resources-00000",
        "updateStatus default/p-extended-resources-00000",
        "patchStatus pod default/p",
    ]


def test_nodes_that_may_have_devices_are_worth_a_try() -> None:
    scenario, _ = world()
    fit = next(each for each in scenario.profile.plugins.values() if isinstance(each, NodeResourcesFit))
    pod, node = make_pod("p", requests={IMPLICIT: 1}), make_node("new")
    assert hint(fit, NODE, Action.ADD, pod, None, node) is Hint.QUEUE
    assert hint(fit, NODE, Action.UPDATE_NODE_ALLOCATABLE, pod, node, node) is Hint.QUEUE
    other = make_pod("p", requests={GPU: 1})
    assert hint(fit, NODE, Action.ADD, other, None, node) is Hint.SKIP
    assert hint(fit, DEVICE_CLASS, Action.ADD, other, None, named("a", GPU)) is Hint.QUEUE
