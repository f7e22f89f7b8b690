from __future__ import annotations

import asyncio
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes import default_nodes
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.controllers.worlds import clock
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster


def pod(name: str, node: str = "node-1", **spec: Any) -> Document:
    containers = [{"name": "c", "image": "nginx"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": containers, **spec},
    }


def add_nodes(writer: FakeWriter, count: int = 1) -> None:
    for each in default_nodes(count, clock):
        writer.create("nodes", each)


def values(document: Document) -> dict[str, str]:
    return {each["type"]: each["status"] for each in document["status"]["conditions"]}


def test_a_bound_pod_runs_after_a_moment() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", initContainers=[{"name": "i", "image": "busybox"}]))
        await asyncio.sleep(0.3)
        assert writer.document("pods", "default", "p")["status"]["phase"] == "Pending"
        await asyncio.sleep(0.7)
        found = writer.document("pods", "default", "p")
        status = found["status"]
        assert status["phase"] == "Running"
        assert values(found) == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        assert status["hostIP"] == "10.0.0.1"
        assert status["hostIPs"] == [{"ip": "10.0.0.1"}]
        assert status["podIP"] == "10.128.1.1"
        assert status["podIPs"] == [{"ip": "10.128.1.1"}]
        assert status["observedGeneration"] == 1
        assert status["startTime"]
        [container] = status["containerStatuses"]
        assert container["ready"] is container["started"] is True
        assert container["restartCount"] == 0
        assert list(container["state"]) == ["running"]
        [init] = status["initContainerStatuses"]
        assert init["state"]["terminated"]["reason"] == "Completed"
        events = [event.document for event in writer.store.objects("events")]
        assert [(event["reason"], event["involvedObject"]["fieldPath"]) for event in events] == [
            (reason, path)
            for path in ("spec.initContainers{i}", "spec.containers{c}")
            for reason in ("Pulled", "Created", "Started")
        ]
        assert events[0]["source"] == {"component": "kubelet", "host": "node-1"}

    in_cluster(test)


def test_addresses_are_unique_and_used_again_only_later() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer, 2)
        for number in range(300):
            writer.create("pods", pod(f"p-{number}", f"node-{number % 2 + 1}"))
        await asyncio.sleep(5)
        addresses = [each.document["status"]["podIP"] for each in writer.store.objects("pods")]
        assert len(set(addresses)) == 300
        assert {address.rpartition(".")[0] for address in addresses} == {"10.128.1", "10.128.2"}
        writer.end("pods", "default", "p-0")
        await asyncio.sleep(2)
        writer.create("pods", pod("again"))
        await asyncio.sleep(2)
        address = writer.document("pods", "default", "again")["status"]["podIP"]
        assert address not in addresses

    in_cluster(test)


def test_a_full_range_is_continued_elsewhere() -> None:
    async def test(writer: FakeWriter) -> None:
        [node] = default_nodes(1, clock)
        node["spec"]["podCIDR"] = "192.168.0.0/29"
        writer.create("nodes", node)
        for number in range(8):
            writer.create("pods", pod(f"p-{number}"))
        await asyncio.sleep(2)
        addresses = [each.document["status"]["podIP"] for each in writer.store.objects("pods")]
        assert len(set(addresses)) == 8
        assert addresses[5:] == ["192.168.0.6", "100.64.0.1", "100.64.0.2"]

    in_cluster(test)


def test_pods_on_the_network_of_their_node_have_its_address() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", hostNetwork=True))
        await asyncio.sleep(1)
        assert writer.document("pods", "default", "p")["status"]["podIP"] == "10.0.0.1"

    in_cluster(test)


def test_many_pods_at_once_make_no_events() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        for number in range(200):
            writer.create("pods", pod(f"p-{number}"))
        await asyncio.sleep(5)
        assert all(each.document["status"]["phase"] == "Running" for each in writer.store.objects("pods"))
        assert writer.store.count("events") <= 3 * 60

    in_cluster(test)


def test_a_deleted_pod_is_not_ready_and_then_gone() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p"))
        await asyncio.sleep(1)
        seen: list[Document] = []
        writer.store.listen("pods", lambda change: seen.append(change.new.document))
        writer.end("pods", "default", "p")
        await asyncio.sleep(1)
        assert writer.names("pods") == []
        assert [values(each)["Ready"] for each in seen] == ["True", "False", "False"]
        state = seen[-1]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (0, "Completed")

    in_cluster(test)


def test_a_deleted_pod_with_a_finalizer_is_ended_once() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        document = pod("p")
        document["metadata"]["finalizers"] = ["example.com/wait"]
        writer.create("pods", document)
        await asyncio.sleep(1)
        writer.end("pods", "default", "p")
        await asyncio.sleep(1)
        revision = writer.store.revision
        await asyncio.sleep(5)
        assert writer.store.revision - revision <= 1  # a lease
        writer.edit("pods", "default", "p", lambda each: each["metadata"].pop("finalizers"))
        assert writer.names("pods") == []

    in_cluster(test)


def test_a_pod_waits_for_its_node() -> None:
    async def test(writer: FakeWriter) -> None:
        writer.create("pods", pod("p"))
        await asyncio.sleep(5)
        assert writer.document("pods", "default", "p")["status"] == {"phase": "Pending"}
        add_nodes(writer)
        await asyncio.sleep(1)
        assert writer.document("pods", "default", "p")["status"]["phase"] == "Running"

    in_cluster(test)


def test_readiness_gates_are_waited_for() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", readinessGates=[{"conditionType": "example.com/gate"}]))
        await asyncio.sleep(1)
        found = writer.document("pods", "default", "p")
        [ready] = [each for each in found["status"]["conditions"] if each["type"] == "Ready"]
        assert (ready["status"], ready["reason"], ready["message"]) == (
            "False",
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "example.com/gate" does not exist.',
        )
        stored = writer.store.get("pods", "default", "p")
        assert stored is not None
        gate = {"type": "example.com/gate", "status": "True"}
        writer.set_status("pods", stored, conditions=[*found["status"]["conditions"], gate])
        await asyncio.sleep(1)
        assert values(writer.document("pods", "default", "p"))["Ready"] == "True"

    in_cluster(test)
