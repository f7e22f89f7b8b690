"""Pods whose claims for devices are made of templates."""

from __future__ import annotations

from typing import Any

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.testing import make_node, make_pod
from moorage.what_if.capacity.adding import Adding
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.leaving import Rules
from moorage.what_if.capacity.node_types import like_existing
from moorage.what_if.capacity.removing import Removal, Removing
from moorage.what_if.capacity.room import Room, room_for
from moorage.what_if.capacity.world import World
from tests.what_if.capacity.clusters import given

DRIVER = "gpu.example"
DEVICES = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}
GPUS = from_document(
    DeviceClass,
    {
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
    },
)
TEMPLATE = from_document(
    ResourceClaimTemplate,
    {"metadata": {"name": "one", "namespace": "default"}, "spec": {"spec": {"devices": DEVICES}}},
)


def slice_of(node: str, count: int) -> ResourceSlice:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(count)],
    }
    return from_document(ResourceSlice, {"metadata": {"name": f"{node}-gpus", "uid": node}, "spec": spec})


def wants_one(name: str, **more: Any) -> Pod:
    return make_pod(
        name,
        cpu="100m",
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}],
        **more,
    )


def runs_with_one(name: str, node: str, device: str) -> list[Object]:
    """A pod of a controller, and the claim that was made for it."""
    pod = wants_one(name, node=node)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    running = from_document(
        Pod,
        {
            **pod.raw,
            "metadata": {**pod.raw["metadata"], "ownerReferences": [owner]},
            "status": {
                "phase": "Running",
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu-x"}],
            },
        },
    )
    result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": device}
    metadata = {
        "name": f"{name}-gpu-x",
        "namespace": running.namespace,
        "uid": f"claim-{name}",
        "resourceVersion": "1",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": running.uid, "controller": True}
        ],
    }
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": running.uid}],
    }
    claim = {"metadata": metadata, "spec": {"devices": DEVICES}, "status": status}
    return [running, from_document(ResourceClaim, claim)]


def two_nodes(second: int) -> list[Object]:
    nodes = [make_node("n1", cpu=8), make_node("n2", cpu=8)]
    return [*nodes, GPUS, slice_of("n1", 1), slice_of("n2", second)]


def room(*objects: Object) -> Room:
    with World(given(*objects)) as world:
        return room_for(world, wants_one("more"), most=100, effort=Effort(60))


def removal(*objects: Object) -> Removal:
    with World(given(*objects)) as world:
        return Removing(world, {"n1": 1.0}, Rules(), Effort(60)).search()


def test_so_many_fit_as_there_are_devices() -> None:
    found = room(*two_nodes(3), TEMPLATE)
    assert found.where == {"n1": 1, "n2": 3}


def test_a_claim_that_was_made_tells_what_its_template_is() -> None:
    found = room(*two_nodes(3), *runs_with_one("there", "n2", "gpu-0"))
    assert found.where == {"n1": 1, "n2": 2}


def test_without_a_template_none_fits() -> None:
    assert room(*two_nodes(3)).fits == 0


def test_a_pod_moves_to_where_there_is_a_device_for_another_claim() -> None:
    found = removal(*two_nodes(1), *runs_with_one("there", "n1", "gpu-0"))
    assert [(move.pod.name, move.to) for move in found.plan.moves] == [("there", "n2")]


def test_a_pod_stays_where_no_other_node_has_a_device_left() -> None:
    there = [*runs_with_one("there", "n1", "gpu-0"), *runs_with_one("also", "n2", "gpu-0")]
    found = removal(*two_nodes(1), *there)
    assert found.plan.nodes == ()
    assert [each.pod for each in found.kept["n1"]] == ["default/there"]


def test_a_new_node_has_the_devices_of_its_model() -> None:
    objects = [*two_nodes(2), TEMPLATE]
    world_of = given(*objects)
    with World(world_of) as world:
        types = [each for each in like_existing(objects) if each.name == "n2"]
        found = Adding(world, types, Effort(60)).search([wants_one(f"w{i}") for i in range(7)])
    assert (found.nodes, found.hopeless) == ({"n2": 2}, {})
    # What a claim takes is only known when it is bound, so other placements cannot be tried.
    assert found.is_least and found.at_least < found.cost and not found.is_reached
    assert len(found.placed) == 7
