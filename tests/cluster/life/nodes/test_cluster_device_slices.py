from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.api.simulated_devices import NODE_NAME, SimulatedDevices, counted
from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes import default_nodes
from moorage.cluster.life.nodes.device_slices import CLASSES, SLICES
from tests import fake_time
from tests.cluster.api_worlds import World, living

NODES = "/api/v1/nodes"
PATH = "/apis/resource.k8s.io/v1/resourceslices"
MOMENT = 0.1


def node(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def offered(name: str, **spec: Any) -> Document:
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": "d.example.com", "pool": pool, **spec},
    }


def in_cluster(devices: SimulatedDevices, test: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with living(Path(folder), default_nodes(2), devices=devices) as world:
                await asyncio.sleep(MOMENT)
                await test(world)

    fake_time.run(main())


def names(world: World, resource: str = SLICES) -> list[str]:
    return [each.name for each in world.store.objects(resource)]


def test_slices_come_and_go_with_their_nodes() -> None:
    async def test(world: World) -> None:
        assert names(world, CLASSES) == ["gpu"]
        assert names(world) == ["node-1-gpu.example.com", "node-2-gpu.example.com"]
        world.create(NODES, node("late"))
        await asyncio.sleep(MOMENT)
        assert names(world)[0] == "late-gpu.example.com"
        made = world.get(f"{PATH}/late-gpu.example.com")
        late = world.get(f"{NODES}/late")["metadata"]["uid"]
        assert made["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Node", "name": "late", "uid": late, "controller": True}
        ]
        assert made["spec"]["nodeName"] == made["spec"]["pool"]["name"] == "late"
        assert len(made["spec"]["devices"]) == 8
        world.done("DELETE", f"{NODES}/late")
        await asyncio.sleep(2)
        assert names(world) == ["node-1-gpu.example.com", "node-2-gpu.example.com"]

    in_cluster(counted("gpu", 8), test)


def test_a_node_that_comes_back_at_once_has_slices_of_its_own() -> None:
    async def test(world: World) -> None:
        world.done("DELETE", f"{NODES}/node-1")
        world.create(NODES, node("node-1"))
        await asyncio.sleep(5)
        [owner] = world.get(f"{PATH}/node-1-gpu.example.com")["metadata"]["ownerReferences"]
        assert owner["uid"] == world.get(f"{NODES}/node-1")["metadata"]["uid"]

    in_cluster(counted("gpu", 1), test)


def test_what_people_make_of_slices_stays() -> None:
    async def test(world: World) -> None:
        path, merge = f"{PATH}/node-1-gpu.example.com", "application/merge-patch+json"
        world.done("PATCH", path, {"spec": {"devices": [{"name": "own"}]}}, content_type=merge)
        world.done("DELETE", f"{PATH}/node-2-gpu.example.com")
        for name in ("node-1", "node-2"):
            cordon = {"spec": {"unschedulable": True}}
            world.done("PATCH", f"{NODES}/{name}", cordon, content_type=merge)
        await asyncio.sleep(400)
        assert names(world) == ["node-1-gpu.example.com"]
        assert world.get(path)["spec"]["devices"] == [{"name": "own"}]

    in_cluster(counted("gpu", 2), test)


def test_slices_of_one_node_and_of_none() -> None:
    async def test(world: World) -> None:
        assert names(world) == ["everywhere", "fixed"]
        assert "ownerReferences" not in world.get(f"{PATH}/everywhere")["metadata"]
        world.done("DELETE", f"{NODES}/node-2")
        await asyncio.sleep(2)
        assert names(world) == ["everywhere"]

    fixed = offered("fixed", nodeName="node-2", devices=[{"name": "d"}])
    missing = offered("missing", nodeName="node-9", devices=[{"name": "d"}])
    shared = offered("everywhere", allNodes=True, devices=[{"name": "d"}])
    in_cluster(SimulatedDevices([], [fixed, missing, shared]), test)


def test_slices_are_kept_with_the_data(tmp_path: Path) -> None:
    async def main() -> None:
        for run, devices in enumerate((counted("gpu", 2), counted("gpu", 4))):
            data = DataFile(tmp_path / "data")
            async with living(tmp_path, default_nodes(1), data=data, devices=devices) as world:
                await asyncio.sleep(MOMENT)
                found = world.get(f"{PATH}/node-1-gpu.example.com")["spec"]["devices"]
                assert len(found) == 2, "only what is missing is added"
                assert names(world, CLASSES) == ["gpu"], run
            data.close()

    fake_time.run(main())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            offered(f"{NODE_NAME}_x", nodeName=NODE_NAME, devices=[{"name": "d"}]),
            'ResourceSlice.resource.k8s.io "node_x" is invalid: metadata.name: Invalid value: "node_x": a ',
        ),
        (
            offered(f"{NODE_NAME}-x", nodeName=NODE_NAME, allNodes=True, devices=[{"name": "d"}]),
            '"node-x" is invalid: spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of ',
        ),
        (
            offered("x", allNodes=True, devices=[{"name": "d", "memory": "1Gi"}]),
            'unknown field "spec.devices',
        ),
        (
            offered("x", allNodes=True, devices=5),
            "cannot be handled as a ResourceSlice: json: cannot unmarshal",
        ),
    ],
)
def test_what_the_api_would_refuse(wrong: Document, message: str) -> None:
    world = World().prepared()
    with pytest.raises(Refusal) as refused:
        world.cluster.accepted(SimulatedDevices([], [wrong]))
    assert message in str(refused.value)


def test_amounts_are_written_as_the_api_has_them() -> None:
    device = {"name": "d", "capacity": {"memory": {"value": 1000}}}
    accepted = World().cluster.accepted(SimulatedDevices([], [offered("x", allNodes=True, devices=[device])]))
    [document] = accepted.of_no_node()
    assert document["spec"]["devices"][0]["capacity"] == {"memory": {"value": "1k"}}
