from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes import Machine, Nodes, default_nodes
from tests import fake_time
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.controllers.worlds import START, clock

LEASES = "leases.coordination.k8s.io"


def in_cluster(test: Callable[[FakeWriter], Awaitable[None]]) -> None:
    async def main() -> None:
        writer = FakeWriter(clock)
        machine = Machine(
            writer, folder=Path("unused"), server=("127.0.0.1", 6443), token_for=lambda *_: "t", clock=clock
        )
        nodes = Nodes(machine)
        nodes.start()
        try:
            await test(writer)
        finally:
            await nodes.stop()

    fake_time.run(main())


def node(name: str, **content: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, **content}


def test_default_nodes_are_complete_and_sort_by_number() -> None:
    nodes = default_nodes(12, lambda: START)
    names = [each["metadata"]["name"] for each in nodes]
    assert names[0] == "node-01"
    assert names == sorted(names)
    assert len({each["spec"]["podCIDR"] for each in nodes}) == 12
    assert len({each["status"]["addresses"][0]["address"] for each in nodes}) == 12
    zones = [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in nodes]
    assert zones[:4] == ["zone-a", "zone-b", "zone-c", "zone-a"]
    assert [each["metadata"]["name"] for each in default_nodes(3)] == ["node-1", "node-2", "node-3"]


def test_a_bare_node_becomes_ready_and_gets_what_it_lacks() -> None:
    async def test(writer: FakeWriter) -> None:
        writer.create("nodes", node("bare"))
        await asyncio.sleep(0.1)
        found = writer.document("nodes", "", "bare")
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert conditions["Ready"]["status"] == "True"
        assert conditions["Ready"]["reason"] == "KubeletReady"
        assert conditions["Ready"]["message"] == "kubelet is posting ready status"
        pressures = [conditions[f"{each}Pressure"]["status"] for each in ("Memory", "Disk", "PID")]
        assert pressures == ["False", "False", "False"]
        assert found["status"]["addresses"] == [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "Hostname", "address": "bare"},
        ]
        assert found["status"]["allocatable"]["pods"] == "110"
        assert found["spec"] == {"podCIDR": "10.128.1.0/24", "podCIDRs": ["10.128.1.0/24"]}
        assert found["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.4"

    in_cluster(test)


def test_what_a_node_says_itself_stays() -> None:
    async def test(writer: FakeWriter) -> None:
        given = {
            "capacity": {"cpu": "2", "memory": "8Gi", "pods": "10"},
            "allocatable": {"cpu": "1", "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Fixture", "message": "fixture"}],
        }
        writer.create("nodes", node("n1", status=dict(given)))
        await asyncio.sleep(0.1)
        status = writer.document("nodes", "", "n1")["status"]
        assert {name: status[name] for name in given} == given

    in_cluster(test)


def test_an_extended_resource_is_offered_once_it_is_in_the_capacity() -> None:
    async def test(writer: FakeWriter) -> None:
        amounts = {"cpu": "2", "memory": "8Gi", "pods": "10"}
        writer.create(
            "nodes", node("n1", status={"capacity": amounts, "allocatable": {**amounts, "cpu": "1"}})
        )
        await asyncio.sleep(0.1)

        async def allocatable(capacity: Document) -> Document:
            stored = writer.store.get("nodes", "", "n1")
            assert stored is not None
            writer.set_status("nodes", stored, capacity=capacity)
            await asyncio.sleep(0.1)
            found: Document = writer.document("nodes", "", "n1")["status"]["allocatable"]
            return found

        with_gpus = await allocatable({**amounts, "example.com/gpu": "4"})
        assert with_gpus == {**amounts, "cpu": "1", "example.com/gpu": "4"}
        assert await allocatable(amounts) == {**amounts, "cpu": "1"}

    in_cluster(test)


def test_taints_follow_cordons_and_conditions() -> None:
    async def test(writer: FakeWriter) -> None:
        startup = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        own = {"key": "team", "value": "a", "effect": "NoExecute"}
        writer.create("nodes", node("n1", spec={"taints": [startup, own]}))
        await asyncio.sleep(0.1)
        assert writer.document("nodes", "", "n1")["spec"]["taints"] == [own]
        writer.edit("nodes", "", "n1", lambda document: document["spec"].update(unschedulable=True))
        await asyncio.sleep(0.1)
        keys = [each["key"] for each in writer.document("nodes", "", "n1")["spec"]["taints"]]
        assert keys == ["team", "node.kubernetes.io/unschedulable"]
        writer.edit("nodes", "", "n1", lambda document: document["spec"].pop("unschedulable"))
        stored = writer.store.get("nodes", "", "n1")
        assert stored is not None
        writer.set_status("nodes", stored, conditions=[{"type": "Ready", "status": "Unknown"}])
        await asyncio.sleep(0.1)
        taints = writer.document("nodes", "", "n1")["spec"]["taints"]
        unreachable = "node.kubernetes.io/unreachable"
        assert [(each["key"], each["effect"]) for each in taints] == [
            ("team", "NoExecute"),
            (unreachable, "NoSchedule"),
            (unreachable, "NoExecute"),
        ]
        stored = writer.store.get("nodes", "", "n1")
        assert stored is not None
        writer.set_status("nodes", stored, conditions=[{"type": "Ready", "status": "True"}])
        await asyncio.sleep(0.1)
        assert writer.document("nodes", "", "n1")["spec"]["taints"] == [own]

    in_cluster(test)


def test_leases_are_renewed_every_ten_seconds_and_spread_over_them() -> None:
    async def test(writer: FakeWriter) -> None:
        for each in default_nodes(100, clock):
            writer.create("nodes", each)
        await asyncio.sleep(0.1)
        assert writer.store.count(LEASES) == 100
        spec = writer.document(LEASES, "kube-node-lease", "node-001")["spec"]
        assert spec["holderIdentity"] == "node-001"
        assert spec["leaseDurationSeconds"] == 40
        renewed: dict[str, list[float]] = {}
        writer.store.listen(
            LEASES, lambda change: renewed.setdefault(change.new.name, []).append(fake_time.now())
        )
        await asyncio.sleep(30.5)
        assert len(renewed) == 100
        for times in renewed.values():
            gaps = [later - earlier for earlier, later in pairwise(times)]
            assert all(9 < gap < 11 for gap in gaps)
            assert len(times) in (3, 4)
        first = sorted(times[0] for times in renewed.values())
        assert first[-1] - first[0] > 8

    in_cluster(test)


def test_conditions_are_renewed_every_five_minutes() -> None:
    async def test(writer: FakeWriter) -> None:
        writer.create("nodes", node("n1"))
        await asyncio.sleep(1)
        before = writer.document("nodes", "", "n1")["status"]["conditions"]
        await asyncio.sleep(310)
        after = writer.document("nodes", "", "n1")["status"]["conditions"]
        assert after[0]["lastHeartbeatTime"] > before[0]["lastHeartbeatTime"]
        assert after[0]["lastTransitionTime"] == before[0]["lastTransitionTime"]

    in_cluster(test)


def test_a_deleted_node_takes_its_lease_and_its_pods_with_it() -> None:
    async def test(writer: FakeWriter) -> None:
        for name in ("n1", "n2"):
            writer.create("nodes", node(name))
            writer.create(
                "pods", {"metadata": {"name": name, "namespace": "default"}, "spec": {"nodeName": name}}
            )
        await asyncio.sleep(2)
        writer.end("nodes", "", "n1")
        await asyncio.sleep(0.5)
        assert writer.names("pods") == ["n1", "n2"]
        assert writer.names(LEASES) == ["n2"]
        await asyncio.sleep(1)
        assert writer.names("pods") == ["n2"]

    in_cluster(test)


def test_a_node_that_comes_back_keeps_its_pods() -> None:
    async def test(writer: FakeWriter) -> None:
        writer.create("nodes", node("n1"))
        writer.create("pods", {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n1"}})
        await asyncio.sleep(2)
        writer.end("nodes", "", "n1")
        writer.create("nodes", node("n1"))
        await asyncio.sleep(5)
        assert writer.names("pods") == ["p"]
        assert writer.names(LEASES) == ["n1"]

    in_cluster(test)
