from __future__ import annotations

from typing import Any, ClassVar

import pytest

from moorage import Code, CycleState, FilterPlugin, NodeInfo, Object, Pod, Status
from moorage.api.workloads import PodDisruptionBudget
from moorage.testing import FakeHandle, make_node, make_pod


class Quota(Object, kw_only=True):
    group: ClassVar[str] = "example.com"
    resource: ClassVar[str] = "quotas"
    kind: ClassVar[str] = "Quota"

    limit: int = 0


def quota(name: str, limit: int = 0) -> Quota:
    made = Quota(limit=limit)
    made.metadata.name, made.metadata.namespace = name, "default"
    return made


class Counts(FilterPlugin):
    """Allows as many pods per node as a quota says, and tells the world about it."""

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.quotas = handle.lister("example.com", "v1", "quotas", Quota)

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        found = self.quotas.get("main", namespace=pod.namespace)
        if found is not None and len(node.pods) < found.limit:
            return None
        self.handle.recorder.event(pod, None, "Warning", "Full", "Scheduling", f"{node.name} is full")
        self.handle.activate([pod])
        return Status.unschedulable(f"full at {self.handle.clock():.0f}")


def test_a_plugin_on_its_own() -> None:
    handle = FakeHandle([make_node("a"), make_pod("one", node="a"), quota("main", 2)])
    plugin, pod = Counts(None, handle), make_pod("p")
    node = handle.node("a")
    assert node is not None
    assert plugin.filter(CycleState(), pod, node) is None
    handle.add(make_pod("two", node="a"))
    handle.now = 100.0
    status = plugin.filter(CycleState(), pod, node)
    assert status is not None
    assert status.message == "full at 100"
    assert handle.activated == [pod]
    (event,) = handle.events
    assert event.regarding is pod
    assert event[1:] == (None, "Warning", "Full", "Scheduling", "a is full")


def test_nodes_and_pods_come_and_go() -> None:
    one, two = make_pod("one", node="a", cpu=1), make_pod("two", node="b")
    handle = FakeHandle([make_node("a"), make_node("b"), one, two, make_pod("waiting")])
    assert handle.nodes.names == ["a", "b"]
    assert sorted(pod.name for pod in handle.pods) == ["one", "two"]
    assert handle.nodes.requested["cpu"].tolist() == [1000, 0]
    handle.remove(one)
    assert handle.nodes.requested["cpu"].tolist() == [0, 0]
    handle.remove(make_node("a"))
    assert handle.nodes.names == ["b"]
    assert handle.node("a") is None
    handle.add(make_node("b", cpu=8))
    assert handle.nodes.allocatable["cpu"].tolist() == [8000]


def test_columns_are_in_order_after_every_change() -> None:
    zone = "topology.kubernetes.io/zone"
    handle = FakeHandle(make_node(name, labels={zone: name[0]}) for name in ("a1", "a2", "b1"))
    assert handle.nodes.names == ["a1", "b1", "a2"], "zone by zone"
    handle.remove(make_node("a1"))
    assert handle.nodes.names == ["a2", "b1"]


def test_nominated_pods() -> None:
    pod = make_pod("p", status={"nominatedNodeName": "a"})
    handle = FakeHandle([make_node("a"), pod])
    assert [nominated.key for nominated in handle.nominator.on("a")] == ["default/p"]
    handle.remove(pod)
    assert not handle.nominator.on("a")


@pytest.mark.parametrize("asked_first", [True, False])
def test_custom_resources_reach_their_lister(asked_first: bool) -> None:
    handle = FakeHandle()
    if not asked_first:
        handle.add(quota("old"))
    lister = handle.lister("example.com", "v1", "quotas", Quota)
    assert lister.has_synced
    told: list[Any] = []
    lister.on_change(
        added=lambda new: told.append(("added", new.name)),
        updated=lambda old, new: told.append(("updated", old.limit, new.limit)),
        deleted=lambda old: told.append(("deleted", old.name)),
    )
    handle.add(quota("main", 1))
    handle.add(quota("main", 2))
    found = lister.get("main", namespace="default")
    assert found is not None
    assert found.limit == 2
    assert len(lister.list(namespace="default")) == (1 if asked_first else 2)
    handle.remove(found)
    assert lister.get("main", namespace="default") is None
    assert told == [("added", "main"), ("updated", 1, 2), ("deleted", "main")]


def test_a_lister_without_a_type_sees_the_same_objects() -> None:
    handle = FakeHandle()
    untyped = handle.lister("example.com", "v1", "quotas")
    handle.add(quota("main", 1))
    assert [found.name for found in untyped.list()] == ["main"]


def test_built_in_kinds_nodes_and_pods_have_listers_too() -> None:
    budget = PodDisruptionBudget()
    budget.metadata.name = "b"
    pod = make_pod("waiting")
    handle = FakeHandle([make_node("a"), pod, budget])
    assert [found.name for found in handle.lister("policy", "v1", "poddisruptionbudgets").list()] == ["b"]
    assert [found.name for found in handle.lister("", "v1", "nodes").list()] == ["a"]
    assert [found.name for found in handle.lister("", "v1", "pods").list()] == ["waiting"]
    handle.remove(pod)
    assert not handle.lister("", "v1", "pods").list()


def test_a_second_type_for_a_resource_sees_what_is_there_already() -> None:
    class Limits(Object, kw_only=True):
        group: ClassVar[str] = "example.com"
        resource: ClassVar[str] = "quotas"
        kind: ClassVar[str] = "Quota"

        limit: float = 0.0

    handle = FakeHandle([quota("main", 1)])
    assert [found.limit for found in handle.lister_of(Limits).list()] == [1.0]


def test_a_node_as_plugins_get_it() -> None:
    handle = FakeHandle([make_node("a"), make_node("b")])
    assert handle.node_info("a") is handle.node("a")
    with pytest.raises(KeyError, match="there is no node c; the nodes are a, b"):
        handle.node_info("c")


def test_pods_that_wait_on_permit() -> None:
    handle = FakeHandle()
    first = handle.add_waiting(make_pod("first"), "Gang", "Quota")
    second = handle.add_waiting(make_pod("second"), "Gang")
    assert [waiting.pod.name for waiting in handle.waiting_pods] == ["first", "second"]
    for waiting in handle.waiting_pods:
        waiting.allow("Gang")
    assert (first.allowed, first.pending_plugins, second.allowed) == (False, ["Quota"], True)
    assert [waiting.pod.name for waiting in handle.waiting_pods] == ["first"]
    assert first.reject("Quota", "too many")
    assert first.rejection == Status(Code.UNSCHEDULABLE, "too many", plugin="Quota")
    assert not first.preempt("Quota", "again"), "it is decided"
    assert len(handle.waiting_pods) == 0


def test_a_callback_that_fails_is_told_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    handle = FakeHandle()
    lister = handle.lister("example.com", "v1", "quotas", Quota)

    def fail(item: Quota) -> None:
        raise ValueError("no idea")

    lister.on_change(added=fail)
    handle.add(quota("main"))
    assert "a plugin failed to take note of quotas default/main" in caplog.text


def test_what_a_fake_cannot_do_says_so() -> None:
    handle = FakeHandle([make_node("a")], profile_name="mine")
    assert handle.profile_name == "mine"
    node = handle.node("a")
    assert node is not None
    with pytest.raises(RuntimeError, match="plugins are not available"):
        handle.run_filters(CycleState(), make_pod(), node)
