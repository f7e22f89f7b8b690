from __future__ import annotations

import asyncio
from pathlib import Path

from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.nodes.csi_nodes import CSI_NODES
from tests import fake_time
from tests.cluster.api_worlds import living
from tests.cluster.life.controllers.living_worlds import Cluster, in_cluster

NODES = "/api/v1/nodes"
PATH = "/apis/storage.k8s.io/v1/csinodes"


def node(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def csi_node(cluster: Cluster, name: str) -> Stored:
    found = cluster.store.get(CSI_NODES, "", name)
    assert found is not None
    return found


def with_room_for(count: int, name: str) -> Document:
    driver = {"name": "local.moorage.example", "nodeID": name, "topologyKeys": ["kubernetes.io/hostname"]}
    return {"spec": {"drivers": [driver | {"allocatable": {"count": count}}]}}


def room(cluster: Cluster, name: str) -> int:
    [driver] = csi_node(cluster, name).spec["drivers"]
    count: int = driver["allocatable"]["count"]
    return count


def test_every_node_has_a_csi_node_and_takes_it_along() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.world.create(NODES, node("own"))
        await asyncio.sleep(0.1)
        assert cluster.names(CSI_NODES) == ["node-1", "node-2", "own"]
        assert csi_node(cluster, "own").spec == {
            "drivers": [
                {
                    "name": "local.moorage.example",
                    "nodeID": "own",
                    "topologyKeys": ["kubernetes.io/hostname"],
                    "allocatable": {"count": 256},
                }
            ]
        }
        cluster.delete(f"{NODES}/own")
        await asyncio.sleep(2)
        assert cluster.names(CSI_NODES) == ["node-1", "node-2"]

    in_cluster(test)


def test_what_people_make_of_a_csi_node_stays() -> None:
    async def test(cluster: Cluster) -> None:
        own = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "own"}}
        cluster.world.create(PATH, own | with_room_for(7, "own"))
        cluster.world.create(NODES, node("own"))
        cluster.patch(f"{PATH}/node-1", with_room_for(1, "node-1"))
        cluster.delete(f"{PATH}/node-2")
        for name in ("node-1", "node-2"):
            cluster.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True}})
        await asyncio.sleep(400)
        assert (room(cluster, "node-1"), room(cluster, "own")) == (1, 7)
        assert cluster.names(CSI_NODES) == ["node-1", "own"]

    in_cluster(test)


def test_a_node_that_comes_back_at_once_has_one_of_its_own() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.patch(f"{PATH}/node-1", with_room_for(1, "node-1"))
        cluster.delete(f"{NODES}/node-1")
        cluster.world.create(NODES, node("node-1"))
        await asyncio.sleep(5)
        found = cluster.store.get("nodes", "", "node-1")
        assert found is not None
        [owner] = csi_node(cluster, "node-1").owners
        assert owner["uid"] == found.uid
        assert room(cluster, "node-1") == 256

    in_cluster(test)


def test_a_csi_node_is_kept_with_the_data(tmp_path: Path) -> None:
    async def main() -> None:
        for run in (1, 2):
            data = DataFile(tmp_path / "data")
            async with living(tmp_path, [node("n")], data=data) as world:
                await asyncio.sleep(0.1)
                cluster = Cluster(world)
                assert room(cluster, "n") == (256 if run == 1 else 3)
                cluster.patch(f"{PATH}/n", with_room_for(3, "n"))
            data.close()

    fake_time.run(main())
