"""The gate DRAWorkloadResourceClaims: pods of a PodGroup share claims, which are reserved for the group."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceClaim
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.client.errors import ApiError
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.testing import make_node, make_pod
from moorage.what_if.device_outcomes import devices_plugin
from tests.plugins.devices.clusters import allocation, claim, gpu_class, slices
from tests.plugins.devices.test_claim_binding import Writes
from tests.workloads.group_worlds import GANGS, GroupWorld

Document = dict[str, Any]

CLAIMS = f"{GANGS},DRAWorkloadResourceClaims=true"
SHARED = {"name": "gpus", "resourceClaimName": "c"}
MADE = {"name": "gpus", "resourceClaimTemplateName": "t"}
FOR_GROUP = {
    "apiGroup": "scheduling.k8s.io",
    "resource": "podgroups",
    "name": "g",
    "uid": "default-g",
}
OWNER = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "name": "g",
    "uid": "default-g",
    "controller": True,
}
TAKEN_BACK = "ResourceClaim unreserved for PodGroup"


def group(minimum: int, *entries: Document, **status: Any) -> PodGroup:
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    metadata = {"name": "g", "namespace": "default", "uid": "default-g"}
    spec = {"schedulingPolicy": policy, "resourceClaims": list(entries)}
    return from_document(PodGroup, {"metadata": metadata, "spec": spec, "status": status})


def member(place: int, *entries: Document, **pod: Any) -> Pod:
    named = {"schedulingGroup": {"podGroupName": "g"}, "resourceClaims": list(entries)}
    return make_pod(f"g-{place}", **{"cpu": "1", **named, **pod})


def world(*cpu: str, gates: str = CLAIMS, devices: int = 1) -> GroupWorld:
    """Nodes n1 and so on, each with devices."""
    made = GroupWorld([make_node(f"n{place}", cpu=each) for place, each in enumerate(cpu, 1)], gates)
    for item in (gpu_class(), *(slices(f"n{place}", devices) for place, _ in enumerate(cpu, 1))):
        made.simulation.add(item)
    return made


def plugin_of(made: GroupWorld) -> DynamicResources:
    [profile] = made.scheduler.profiles.values()
    plugin = devices_plugin(profile)
    assert plugin is not None
    return plugin


def status_of(made: GroupWorld, name: str = "c") -> Document:
    found = made.scheduler.state.objects.of(ResourceClaim).get(name, "default")
    assert found is not None
    status: Document = found.raw.get("status") or {}
    return status


def in_flight(made: GroupWorld) -> bool:
    return plugin_of(made).devices.in_use.is_in_flight("uid-of-c")


def test_the_pods_of_a_group_share_one_claim_that_is_reserved_for_the_group() -> None:
    made = world("4", "4")
    placed = made.run(group(3, SHARED), claim("c"), *(member(place, SHARED) for place in range(3)))
    assert len(placed) == 3
    assert len(set(placed.values())) == 1, "they can use the device on one node only"
    assert status_of(made)["reservedFor"] == [FOR_GROUP]
    assert len(status_of(made)["allocation"]["devices"]["results"]) == 1
    assert not in_flight(made)
    assert made.told("g") == ("True", "Scheduled", "")


def test_one_that_comes_later_uses_it_too() -> None:
    made = world("4", "4")
    made.run(group(2, SHARED), claim("c"), member(0, SHARED), member(1, SHARED))
    [node] = set(made.run(member(2, SHARED)).values())
    assert made.pod("g-2").spec.node_name == node
    assert status_of(made)["reservedFor"] == [FOR_GROUP]


@pytest.mark.parametrize("entry", [{**SHARED, "name": "other"}, {**MADE, "resourceClaimName": "c"}], ids=str)
def test_an_entry_of_another_name_or_source_is_the_pod_s_own(entry: Document) -> None:
    made = world("4")
    placed = made.run(group(1, entry), claim("c"), member(0, SHARED))
    assert placed == {"g-0": "n1"}
    [consumer] = status_of(made)["reservedFor"]
    assert (consumer["resource"], consumer["name"]) == ("pods", "g-0")


def test_with_the_gate_off_claims_are_shared_and_reserved_for_pods() -> None:
    made = world("4", gates=GANGS)
    placed = made.run(group(2, SHARED), claim("c"), member(0, SHARED), member(1, SHARED))
    assert placed == {"g-0": "n1", "g-1": "n1"}
    reserved = sorted(status_of(made)["reservedFor"], key=lambda each: str(each["name"]))
    assert reserved == [
        {"resource": "pods", "name": name, "uid": made.pod(name).uid} for name in ("g-0", "g-1")
    ]
    assert not in_flight(made)


@pytest.mark.parametrize("gates", [GANGS, CLAIMS])
def test_pods_that_share_a_claim_that_the_group_does_not_name_are_reserved_one_by_one(gates: str) -> None:
    made = world("4", gates=gates)
    assert len(made.run(group(2), claim("c"), member(0, SHARED), member(1, SHARED))) == 2
    assert sorted(each["name"] for each in status_of(made)["reservedFor"]) == ["g-0", "g-1"]


def test_a_group_that_does_not_fit_was_promised_nothing() -> None:
    made = world("2")
    assert made.run(group(3, SHARED), claim("c"), *(member(place, SHARED) for place in range(3))) == {}
    assert not in_flight(made)
    assert "allocation" not in status_of(made)
    devices = plugin_of(made).devices
    assert not devices.in_use.is_allocated(("gpu.example.com", "n1", "gpu-0"))
    assert len(made.run(make_node("m", cpu="1"), slices("m"), make_node("n3", cpu="3"), slices("n3"))) == 3


def test_a_pod_of_no_group_waits_while_the_claim_is_in_flight_for_one() -> None:
    made = world("4")
    plugin = plugin_of(made)
    devices = plugin.devices
    made.run(group(3, SHARED), claim("c"))
    given = claim("c", status={"allocation": allocation("n1")}).status.allocation
    assert given is not None
    devices.in_use.begin_flight("uid-of-c", given)
    made.run(make_pod("p", resourceClaims=[SHARED]))
    assert "resource claim default/c is in the process of being allocated" in made.why("p")
    devices.in_use.end_flight("uid-of-c")


def test_who_fails_to_write_leaves_the_promise_to_the_others() -> None:
    made = world("4")
    writes = Writes(plugin_of(made))

    def fail() -> None:
        assert in_flight(made)
        raise ApiError(403, "Forbidden", "not now")

    writes.before[1] = fail
    placed = made.run(group(3, SHARED), claim("c"), *(member(place, SHARED) for place in range(3)))
    assert sorted(placed) == ["g-1", "g-2"]
    assert status_of(made)["reservedFor"] == [FOR_GROUP]
    assert not in_flight(made)
    assert len(made.run()) == 3
    assert writes.told.count("updateStatus") == 1


def test_if_all_fail_nothing_stays_promised() -> None:
    made = world("4")
    writes = Writes(plugin_of(made))

    def fail() -> None:
        raise ApiError(403, "Forbidden", "not now")

    writes.before.update({1: fail, 2: fail})
    assert made.run(group(2, SHARED), claim("c"), member(0, SHARED), member(1, SHARED)) == {}
    assert not in_flight(made)
    assert len(made.run()) == 2


def test_devices_that_were_freed_meanwhile_are_not_taken_again() -> None:
    """The first has it written, then somebody frees it, then it is the turn of the second."""
    made = world("4")
    writes = Writes(plugin_of(made))
    plain = writes.update_status

    async def update_status(document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        await plain(document, keeps_allocation=keeps_allocation)
        writes.change("c", allocation=None, reservedFor=[])
        return writes._stored("c", "default")

    writes.update_status = update_status  # type: ignore[method-assign]
    assert len(made.run(group(2, SHARED), claim("c"), member(0, SHARED), member(1, SHARED))) == 1
    assert "claim default/c got deallocated elsewhere in the meantime" in made.why("g-1")


def reserved_in_vain(minimum: int = 2) -> tuple[GroupWorld, list[Any]]:
    """A claim that an attempt left on a node without room for the group."""
    made = world("1", "4")
    status = {"allocation": allocation("n1"), "reservedFor": [FOR_GROUP]}
    left = claim("c", status=status, metadata={"finalizers": ["resource.kubernetes.io/delete-protection"]})
    return made, [group(minimum, SHARED), left, *(member(place, SHARED) for place in range(2))]


def test_a_group_without_scheduled_pods_gives_its_claim_back_and_gets_another_device() -> None:
    made, objects = reserved_in_vain()
    assert made.run(*objects) == {}
    assert any(TAKEN_BACK in made.why(f"g-{place}") for place in range(2))
    assert status_of(made)["reservedFor"] == []
    assert made.run() == {}
    assert "allocation" not in status_of(made)
    assert made.run() == {"g-0": "n2", "g-1": "n2"}
    assert status_of(made)["reservedFor"] == [FOR_GROUP]


def test_a_group_with_a_scheduled_pod_keeps_its_claim() -> None:
    made, objects = reserved_in_vain()
    made.run(*objects[:2], member(7, SHARED, nodeName="n1"))
    assert made.run(*objects[2:]) == {"g-7": "n1"}
    assert status_of(made)["reservedFor"] == [FOR_GROUP]
    assert not any(TAKEN_BACK in made.why(f"g-{place}") for place in range(2))


def test_a_claim_that_is_taken_back_while_pods_are_bound_is_reserved_again() -> None:
    """A group that needs one pod gets it although the others, which do not fit, had the claim taken back."""
    made, objects = reserved_in_vain(minimum=1)
    assert made.run(*objects) == {"g-0": "n1"}
    assert status_of(made)["reservedFor"] == [FOR_GROUP]


def test_a_claim_made_for_the_group() -> None:
    made = world("4")
    told = [{"name": "gpus", "resourceClaimName": "c"}]
    pods = [member(place, MADE, status={"resourceClaimStatuses": told}) for place in range(2)]
    owned = claim("c", metadata={"ownerReferences": [OWNER]})
    assert len(made.run(group(2, MADE, resourceClaimStatuses=told), owned, *pods)) == 2
    assert status_of(made)["reservedFor"] == [FOR_GROUP]


@pytest.mark.parametrize("gates", [CLAIMS, GANGS])
def test_a_claim_made_for_somebody_else(gates: str) -> None:
    made = world("4", gates=gates)
    told = [{"name": "gpus", "resourceClaimName": "c"}]
    owner = {**OWNER, "name": "h"} if gates == CLAIMS else OWNER
    owned = claim("c", metadata={"ownerReferences": [owner]})
    made.run(group(1, MADE), owned, member(0, MADE, status={"resourceClaimStatuses": told}))
    who = "neither Pod nor PodGroup g is the owner" if gates == CLAIMS else "Pod is not owner"
    assert made.gated_by("g-0") == "DynamicResources"
    known = plugin_of(made).pre_enqueue(made.pod("g-0"))
    assert known is not None
    assert known.message == f"ResourceClaim default/c was not created for Pod default/g-0 ({who})"


def test_pods_of_a_group_that_does_not_exist() -> None:
    made = world("4", gates="GenericWorkload=true,DRAWorkloadResourceClaims=true")
    assert made.run(member(0)) == {}
    assert 'podgroup.scheduling.k8s.io "g" not found' in made.why("g-0")
