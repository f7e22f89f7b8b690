"""DynamicResources: what it says of pods, claims and nodes."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass
from moorage.framework.cycle_state import CycleState, NothingWritten
from moorage.framework.events import DEVICE_CLASS, NODE, POD, RESOURCE_CLAIM, RESOURCE_SLICE, Action, Hint
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Status
from moorage.testing import make_pod
from tests.plugins.devices.clusters import allocation, claim, claiming, world
from tests.plugins.devices.device_objects import device_class, exactly
from tests.plugins.helpers import hint, registered

READY = "example.com/ready"
FAILED = "example.com/failed"


def test_pods_without_claims_do_not_concern_it() -> None:
    _, plugin = world()
    pod, cycle = make_pod("p"), CycleState()
    assert plugin.pre_enqueue(pod) is None
    assert plugin.pre_filter(cycle, pod) == Status.skip()
    assert plugin.filter_nodes(cycle, pod, plugin.handle.nodes).codes is None
    assert plugin.score_nodes(cycle, pod, plugin.handle.nodes).tolist() == [0, 0]
    assert plugin.reserve(cycle, pod, "n1") is None
    plugin.unreserve(cycle, pod, "n1")
    assert plugin.pre_bind_pre_flight(cycle, pod, "n1") == Status.skip()
    answer = plugin.post_filter(cycle, pod, NodeStatuses(plugin.handle.state.table))
    assert answer == Status.unschedulable("no new claims to deallocate")


def test_without_its_earlier_point() -> None:
    _, plugin = world()
    pod, cycle = make_pod("p"), CycleState()
    for ask in (plugin.filter_nodes, plugin.score_nodes):
        with pytest.raises(NothingWritten, match=r"^not found$"):
            ask(cycle, pod, plugin.handle.nodes)
    answer = plugin.post_filter(cycle, pod, NodeStatuses(plugin.handle.state.table))
    assert answer == Status.error("not found")


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (claiming("p", "gone"), 'could not find ResourceClaim "default/gone"'),
        (claiming("p", "going"), 'resourceclaim "going" is being deleted'),
        (
            make_pod("p", resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}]),
            'pod "default/p": ResourceClaim not created yet',
        ),
        (
            make_pod("p", resourceClaims=[{"name": "c"}]),
            'pod "default/p", spec.resourceClaim "c": none of the supported fields are set',
        ),
        (
            make_pod(
                "p",
                resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}],
                status={"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "mine"}]},
            ),
            "ResourceClaim default/mine was not created for Pod default/p (Pod is not owner)",
        ),
    ],
    ids=["missing", "deleted", "not made", "unknown", "of another"],
)
def test_a_pod_waits_for_its_claims(pod: Any, text: str) -> None:
    deleted = claim("going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    scenario, plugin = world(deleted, claim("mine"))
    assert plugin.pre_enqueue(pod) == Status.unresolvable(text)
    assert plugin.pre_filter(CycleState(), pod) == Status.unresolvable(text)
    told = scenario.evaluate(pod).document()
    assert told["preEnqueue"] == {
        "plugin": "DynamicResources",
        "code": "UnschedulableAndUnresolvable",
        "reasons": [text],
    }


def test_an_entry_of_which_nothing_had_to_be_made_is_passed_over() -> None:
    entries = [{"name": "c", "resourceClaimTemplateName": "t"}]
    pod = make_pod("p", resourceClaims=entries, status={"resourceClaimStatuses": [{"name": "c"}]})
    scenario, plugin = world()
    assert plugin.pre_enqueue(pod) is None
    assert scenario.evaluate(pod).document()["feasible"] == ["n1", "n2"]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({**exactly("a", deviceClassName="no")}, "request a: device class no does not exist"),
        (
            {"name": "a", "firstAvailable": [{"name": "s", "deviceClassName": "no"}]},
            "request a/s: device class no does not exist",
        ),
        ({"name": "a"}, "resource claim default/c, request a: unknown request type"),
    ],
    ids=["class", "class of an alternative", "nothing asked for"],
)
def test_what_a_claim_asks_for_must_exist(request_: dict[str, Any], text: str) -> None:
    _, plugin = world(claim("c", request_))
    assert plugin.pre_filter(CycleState(), claiming("p", "c")) == Status.unresolvable(text)


def test_a_request_without_a_class_is_an_error() -> None:
    _, plugin = world(claim("c", exactly("a", deviceClassName="")))
    answer = plugin.pre_filter(CycleState(), claiming("p", "c"))
    assert answer == Status.error("request a: unsupported request type")


def test_a_claim_that_is_being_allocated_is_waited_for() -> None:
    _, plugin = world(claim("shared"))
    first, second = claiming("first", "shared"), claiming("second", "shared")
    cycle = CycleState()
    assert plugin.pre_filter(cycle, first) is None
    plugin.filter_nodes(cycle, first, plugin.handle.nodes)
    assert plugin.reserve(cycle, first, "n1") is None
    text = "resource claim default/shared is in the process of being allocated"
    assert plugin.pre_filter(CycleState(), second) == Status.unresolvable(text)
    plugin.unreserve(cycle, first, "n1")
    assert plugin.pre_filter(CycleState(), second) is None


def test_devices_in_flight_are_not_given_to_others() -> None:
    scenario, plugin = world(claim("a"), claim("b"), nodes=1, devices=1)
    first, cycle = claiming("first", "a"), CycleState()
    plugin.pre_filter(cycle, first)
    plugin.filter_nodes(cycle, first, plugin.handle.nodes)
    plugin.reserve(cycle, first, "n1")
    told = scenario.evaluate(claiming("second", "b")).document()
    assert told["nodeStatus"]["n1"]["reasons"] == ["cannot allocate all claims"]
    plugin.unreserve(cycle, first, "n1")
    assert scenario.evaluate(claiming("second", "b")).document()["feasible"] == ["n1"]


def test_an_allocated_claim_ties_the_pod_to_its_node() -> None:
    scenario, _ = world(claim("c", status={"allocation": allocation("n2")}))
    told = scenario.evaluate(claiming("p", "c")).document()
    assert told["feasible"] == ["n2"]
    assert told["nodeStatus"]["n1"]["reasons"] == ["resourceclaim not available on the node"]
    assert told["plans"] == {"n2": {}}


@pytest.mark.parametrize("users", [[], ["p"], ["other"], ["p", "other"]], ids=str)
def test_a_claim_that_keeps_the_pod_from_nodes_is_freed_if_nobody_else_uses_it(users: list[str]) -> None:
    reserved = [{"resource": "pods", "name": name, "uid": f"pod-default-{name}"} for name in users]
    status = {"allocation": allocation("n2"), "reservedFor": reserved}
    scenario, _ = world(claim("c", status=status))
    told = scenario.evaluate(claiming("p", "c", nodeSelector={"only": "elsewhere"})).document()
    assert told["postFilter"].get("deallocated") is None, "no node came so far as to ask for the claim"
    scenario, _ = world(claim("c", status=status), claim("big", exactly(count=2)), nodes=1)
    told = scenario.evaluate(claiming("p", "c", "big")).document()
    freed = ["default/c"] if set(users) <= {"p"} else None
    assert told["postFilter"].get("deallocated") == freed


@pytest.mark.parametrize(
    ("conditions", "feasible"),
    [
        ([], False),
        ([{"type": READY, "status": "True"}], True),
        ([{"type": READY, "status": "True"}, {"type": FAILED, "status": "True"}], False),
    ],
    ids=["late", "ready", "failed"],
)
def test_binding_conditions_of_an_allocated_claim(conditions: list[Any], feasible: bool) -> None:
    given = allocation("n1", bindingConditions=[READY], bindingFailureConditions=[FAILED])
    given["allocationTimestamp"] = "2026-03-01T08:00:00Z"
    device = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": conditions}
    scenario, _ = world(claim("c", status={"allocation": given, "devices": [device]}))
    assert (scenario.evaluate(claiming("p", "c")).document()["feasible"] == ["n1"]) is feasible


def test_registered_events() -> None:
    _, plugin = world()
    of_nodes = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    assert registered(plugin) == [
        (NODE, of_nodes, False),
        (RESOURCE_CLAIM, Action.ADD | Action.UPDATE, True),
        (POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, True),
        (DEVICE_CLASS, Action.ADD | Action.UPDATE, False),
        (RESOURCE_SLICE, Action.ADD | Action.UPDATE, False),
    ]


def test_which_changes_of_claims_help() -> None:
    allocated = claim("c", status={"allocation": allocation("n1")})
    mine, other = claim("mine"), claim("c")
    _, plugin = world(mine, other)
    pod, incomplete = claiming("p", "mine"), claiming("p", "gone")

    def after(pod: Any, old: Any, new: Any) -> Hint:
        action = Action.ADD if old is None else Action.UPDATE
        return hint(plugin, RESOURCE_CLAIM, action, pod, old, new)

    assert after(incomplete, allocated, other) is Hint.SKIP
    assert after(pod, allocated, other) is Hint.QUEUE, "its devices are free"
    assert after(pod, other, allocated) is Hint.SKIP
    assert after(pod, None, mine) is Hint.QUEUE
    assert after(pod, None, other) is Hint.SKIP
    relabelled = claim("mine", metadata={"labels": {"a": "b"}})
    assert after(pod, mine, relabelled) is Hint.SKIP
    reserved = claim("mine", status={"reservedFor": [{"name": "x", "uid": "1"}]})
    assert after(pod, mine, reserved) is Hint.QUEUE


def test_a_change_of_the_pod_helps_when_its_claims_are_there() -> None:
    _, plugin = world(claim("mine"))
    waits = make_pod("p", resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}])
    ready, other = claiming("p", "mine"), claiming("other", "mine")
    event = (POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    assert hint(plugin, *event, waits, waits, ready) is Hint.QUEUE
    assert hint(plugin, *event, waits, waits, waits) is Hint.SKIP
    assert hint(plugin, *event, waits, other, other) is Hint.SKIP


def test_a_class_that_is_changed_is_asked_anew() -> None:
    scenario, _ = world(claim("c"))
    pod = claiming("p", "c")
    assert scenario.evaluate(pod).document()["feasible"] == ["n1", "n2"]
    scenario.add(from_document(DeviceClass, device_class("gpu", 'device.driver == "none"')))
    assert scenario.evaluate(pod).document()["feasible"] == []
