"""What NoExecute taints do to the pods of a node."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.taints import Taint
from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes.taint_eviction import _tolerated_seconds
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_simulated_pods import add_nodes, pod

TAINT = {"key": "maintenance", "effect": "NoExecute"}


def toleration(seconds: int | None = None, key: str = "maintenance") -> Document:
    times = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **times}


def taint(writer: FakeWriter, *taints: Document, node: str = "node-1") -> None:
    writer.edit("nodes", "", node, lambda document: document["spec"].update(taints=list(taints)))


def told(writer: FakeWriter) -> list[str]:
    events = (each.document for each in writer.store.objects("events"))
    return [event["message"] for event in events if event["reason"] == "TaintManagerEviction"]


def test_pods_leave_a_tainted_node_when_they_no_longer_tolerate_it() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer, 2)
        tolerations = {"none": [], "other": [toleration(key="x")], "some": [toleration(60)]}
        tolerations |= {"ever": [toleration()], "first": [toleration(60), toleration()]}
        for name, own in tolerations.items():
            writer.create("pods", pod(name, tolerations=own))
        writer.create("pods", pod("elsewhere", "node-2"))
        await asyncio.sleep(5)
        deleted: list[Document] = []
        writer.store.listen(
            "pods", lambda change: deleted.append(change.new.document) if change.type == "DELETED" else None
        )
        taint(writer, TAINT)
        await asyncio.sleep(2)
        assert writer.names("pods") == ["elsewhere", "ever", "first", "some"]
        for document in deleted:
            [found] = [
                each for each in document["status"]["conditions"] if each["type"] == "DisruptionTarget"
            ]
            assert (found["status"], found["reason"]) == ("True", "DeletionByTaintManager")
            assert found["message"] == "Taint manager: deleting due to NoExecute taint"
            assert found["observedGeneration"] == 1
        await asyncio.sleep(57)
        assert writer.names("pods") == ["elsewhere", "ever", "first", "some"]
        await asyncio.sleep(3)
        assert writer.names("pods") == ["elsewhere", "ever"]
        assert told(writer) == [
            f"Marking for deletion Pod default/{name}" for name in ("first", "none", "other", "some")
        ]

    in_cluster(test)


def test_a_taint_that_goes_away_in_time_harms_nobody() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", tolerations=[toleration(60)]))
        await asyncio.sleep(5)
        taint(writer, TAINT)
        await asyncio.sleep(30)
        taint(writer)
        await asyncio.sleep(100)
        assert writer.names("pods") == ["p"]
        assert told(writer) == ["Cancelling deletion of Pod default/p"]
        taint(writer, TAINT)
        await asyncio.sleep(59)
        assert writer.names("pods") == ["p"]
        await asyncio.sleep(2)
        assert writer.names("pods") == []

    in_cluster(test)


def test_a_toleration_that_is_added_holds_a_pod() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", tolerations=[toleration(60)]))
        taint(writer, TAINT)
        await asyncio.sleep(30)
        writer.edit("pods", "default", "p", lambda each: each["spec"].update(tolerations=[toleration()]))
        await asyncio.sleep(60)
        assert writer.names("pods") == ["p"]

    in_cluster(test)


def test_a_pod_that_comes_to_a_tainted_node_has_its_own_time() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        taint(writer, TAINT)
        await asyncio.sleep(1)
        writer.create("pods", pod("late", tolerations=[]))
        writer.create("pods", pod("p", tolerations=[toleration(60)]))
        await asyncio.sleep(30)
        assert writer.names("pods") == ["p"]
        stored = writer.store.get("pods", "default", "p")
        assert stored is not None
        writer.delete("pods", stored, grace_seconds=0)
        writer.create("pods", pod("p", tolerations=[toleration(60)]))
        await asyncio.sleep(45)
        assert writer.names("pods") == ["p"]
        await asyncio.sleep(20)
        assert writer.names("pods") == []

    in_cluster(test)


def test_pods_of_a_node_that_is_not_ready_leave_after_their_time() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        usual = [toleration(300, f"node.kubernetes.io/{each}") for each in ("not-ready", "unreachable")]
        writer.create("pods", pod("p", tolerations=usual))
        await asyncio.sleep(5)
        stored = writer.store.get("nodes", "", "node-1")
        assert stored is not None
        writer.set_status("nodes", stored, conditions=[{"type": "Ready", "status": "False"}])
        await asyncio.sleep(290)
        assert writer.names("pods") == ["p"]
        await asyncio.sleep(15)
        assert writer.names("pods") == []

    in_cluster(test)


KEYS = st.sampled_from(["a", "b", ""])
TOLERATIONS = st.lists(
    st.tuples(KEYS, st.none() | st.integers(-5, 100)).map(lambda pair: toleration(pair[1], pair[0])),
    max_size=4,
)


@given(keys=st.lists(st.sampled_from(["a", "b"]), max_size=3), tolerations=TOLERATIONS)
def test_the_shortest_of_the_tolerations_that_are_used_counts(
    keys: list[str], tolerations: list[Document]
) -> None:
    used = [next((each for each in tolerations if each["key"] in ("", key)), None) for key in keys]
    times = [each["tolerationSeconds"] for each in used if each is not None and "tolerationSeconds" in each]
    expected = 0 if None in used else min(times, default=None)
    found = _tolerated_seconds([Taint(key, "", "NoExecute") for key in keys], tolerations)
    assert found == expected
