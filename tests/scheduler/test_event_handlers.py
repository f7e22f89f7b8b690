"""What the watches bring, and which events that means for the pods that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim, StorageClass
from moorage.api.workloads import Namespace
from moorage.framework.events import ClusterEvent
from moorage.framework.handle import Handle
from moorage.framework.status import Status, Wait
from moorage.process.metrics import SchedulerMetrics
from moorage.testing import make_node, make_pod
from tests.framework.scripted import Filters, Permits, plugin
from tests.scheduler.worlds import World, after

DELETED = {"deletionTimestamp": "2024-01-01T00:00:00Z"}


class Watched(World):
    """Keeps the events that the queue is told of, and which waiting pods each may move."""

    def __init__(self, *plugins: Any, **settings: Any) -> None:
        super().__init__(*plugins, **settings)
        self.seen: list[str] = []
        self.objects: list[tuple[Any, Any]] = []
        self.checks: list[Callable[[Pod], bool] | None] = []
        move_all = self.queue.move_all

        def watched(event: ClusterEvent, old: Any = None, new: Any = None, *, pre_check: Any = None) -> None:
            self.seen.append(event.label)
            self.objects.append((old, new))
            self.checks.append(pre_check)
            move_all(event, old, new, pre_check=pre_check)

        self.queue.move_all = watched  # type: ignore[method-assign]


@pytest.fixture
def world() -> Watched:
    return Watched()


# Nodes


def test_a_node_appears_and_goes(world: Watched) -> None:
    node = make_node("new")
    world.door.put(node)
    assert world.state.node("new") is not None
    known: list[bool] = []
    move_all = world.queue.move_all

    def look(*args: Any, **settings: Any) -> None:
        known.append(world.state.node("new") is not None)
        move_all(*args, **settings)

    world.queue.move_all = look  # type: ignore[method-assign]
    world.door.remove(node)
    assert world.seen == ["NodeAdd", "NodeDelete"]
    assert world.objects == [(None, node), (node, None)]
    assert known == [True]
    assert world.state.node("new") is None


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        ({}, {}, []),
        ({"unschedulable": True}, {}, ["NodeUpdateNodeTaint"]),
        ({}, {"unschedulable": True}, []),
        ({}, {"cpu": "8"}, ["NodeUpdateNodeAllocatable"]),
        ({"cpu": "4"}, {"cpu": "4000m"}, []),
        ({}, {"labels": {"a": "b"}}, ["NodeUpdateNodeLabel"]),
        ({}, {"taints": ["a=b:NoSchedule"]}, ["NodeUpdateNodeTaint"]),
        ({}, {"annotations": {"a": "b"}}, ["NodeUpdateNodeAnnotation"]),
        ({}, {"declaredFeatures": ["x"]}, ["NodeUpdateNodeDeclaredFeature"]),
        ({}, {"conditions": [{"type": "Ready", "status": "True"}]}, ["NodeUpdateNodeCondition"]),
        (
            {"unschedulable": True, "taints": ["a=b:NoSchedule"]},
            {"cpu": "8", "labels": {"a": "b"}, "annotations": {"a": "b"}},
            [
                "NodeUpdateNodeTaint",
                "NodeUpdateNodeAllocatable",
                "NodeUpdateNodeLabel",
                "NodeUpdateNodeTaint",
                "NodeUpdateNodeAnnotation",
            ],
        ),
        ({}, {"cpu": "many"}, ["NodeUpdate"]),
    ],
)
def test_a_node_changes(
    world: Watched, before: dict[str, Any], now: dict[str, Any], events: list[str]
) -> None:
    world.door.put(make_node("new", **before))
    world.seen.clear()
    world.door.put(new := make_node("new", **now))
    assert world.seen == events
    assert world.state.table.by_name["new"].node is new


# Pods with a node


def test_an_assigned_pod_appears_and_goes(world: Watched) -> None:
    pod = make_pod(node="n0", scheduler="foreign")
    world.door.put(pod)
    assert world.state.pod(pod.uid) is pod
    world.door.remove(pod)
    assert world.state.pod(pod.uid) is None
    assert world.seen == ["AssignedPodAdd", "AssignedPodDelete"]
    assert world.objects == [(None, pod), (pod, None)]


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        ({}, {}, ["AssignedPodUpdate"]),
        ({}, {"labels": {"a": "b"}}, ["AssignedPodUpdatePodLabel"]),
        ({"cpu": 2}, {"cpu": 1}, ["AssignedPodUpdatePodScaleDown"]),
        ({"cpu": 2}, {}, ["AssignedPodUpdatePodScaleDown"]),
        ({"cpu": 1}, {"cpu": 2}, ["AssignedPodUpdate"]),
        (
            {"schedulingGates": [{"name": "g"}]},
            {"tolerations": [{"operator": "Exists"}]},
            ["AssignedPodUpdatePodSchedulingGatesEliminated", "AssignedPodUpdatePodToleration"],
        ),
        (
            {},
            {"status": {"resourceClaimStatuses": [{"name": "c"}]}},
            ["AssignedPodUpdatePodGeneratedResourceClaim"],
        ),
        ({"cpu": 1}, {"cpu": "many"}, ["AssignedPodUpdate"]),
    ],
)
def test_an_assigned_pod_changes(
    world: Watched, before: dict[str, Any], now: dict[str, Any], events: list[str]
) -> None:
    world.door.put(make_pod(node="n0", **before))
    world.seen.clear()
    world.door.put(new := make_pod(node="n0", **now))
    assert world.seen == events
    assert world.state.pod(new.uid) is new


def test_a_pod_that_finishes_is_gone(world: Watched) -> None:
    world.door.put(old := make_pod(node="n0"))
    world.door.put(make_pod(node="n0", status={"phase": "Succeeded"}))
    assert world.seen == ["AssignedPodAdd", "AssignedPodDelete"]
    assert world.state.pod(old.uid) is None
    assert world.door.find(old) is None


def test_a_finished_pod_is_never_seen(world: Watched) -> None:
    world.door.put(pod := make_pod(node="n0", status={"phase": "Failed"}))
    assert world.seen == []
    assert world.door.find(pod) is None


def test_a_pod_becomes_assigned(world: Watched) -> None:
    world.add(status={"nominatedNodeName": "n0"})
    assert len(world.services.nominations) == 1
    world.door.put(make_pod(node="n0"))
    assert world.seen == ["AssignedPodAdd"]
    assert world.place() == "nowhere"
    assert len(world.services.nominations) == 0


def test_a_pod_assumed_elsewhere_is_where_the_watch_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    world = Watched(nodes=2)
    pod = world.add()
    world.state.assume(pod, "n0")
    world.door.put(make_pod(node="n1"))
    placement = world.state.placement(pod.uid)
    assert placement is not None
    assert (placement.node.name, placement.assumed) == ("n1", False)
    assert any("was assumed on" in message for message in caplog.messages)


# Pods without a node


def test_a_pod_without_a_node_is_queued_if_a_profile_runs_it(world: Watched) -> None:
    mine = world.add("mine")
    foreign = world.add("foreign", scheduler="foreign", status={"nominatedNodeName": "n0"})
    assert (world.place("mine"), world.place("foreign")) == ("active", "nowhere")
    assert world.door.is_pending(mine)
    assert world.door.find(foreign) is foreign
    assert len(world.services.nominations) == 0
    assert world.seen == []
    world.delete("mine")
    assert not world.door.is_pending(mine)
    assert world.place("mine") == "nowhere"
    assert world.seen == []


def test_a_pod_of_another_uid_is_another_pod(world: Watched) -> None:
    world.door.put(old := make_pod(node="n0"))
    world.door.put(make_pod(uid="another"))
    assert world.seen == ["AssignedPodAdd", "AssignedPodDelete"]
    assert world.state.pod(old.uid) is None
    assert world.place() == "active"


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [("", "", False), ("", "n0", False), ("n0", "n0", False), ("n0", "n1", True), ("n0", "", True)],
)
def test_a_nomination_that_ends_makes_room_for_lesser_pods(
    world: Watched, before: str, now: str, told: bool
) -> None:
    old = world.add(status={"nominatedNodeName": before}, priority=5)
    world.door.put(make_pod(status={"nominatedNodeName": now}, priority=5))
    assert world.services.nominations.node_of(old.uid) == now
    assert world.seen == (["AssignedPodDelete"] if told else [])
    for check in world.checks:
        assert check is not None
        assert [check(make_pod(priority=priority)) for priority in (4, 5, 6)] == [True, True, False]


@pytest.mark.parametrize(("nominated", "told"), [("", False), ("n0", True)])
def test_a_nominated_pod_that_goes_makes_room_for_lesser_pods(
    world: Watched, nominated: str, told: bool
) -> None:
    world.add(status={"nominatedNodeName": nominated}, priority=5)
    world.delete()
    assert world.seen == (["AssignedPodDelete"] if told else [])
    assert all(check is not None and not check(make_pod(priority=6)) for check in world.checks)


# Pods that are assumed


@pytest.mark.parametrize("marked", [True, False])
def test_an_assumed_pod_that_goes_is_forgotten_and_all_hear_of_it(world: Watched, marked: bool) -> None:
    pod = world.add(status={"nominatedNodeName": "n0"})
    assumed = world.state.assume(pod, "n0")
    if marked:
        world.door.put(make_pod(metadata=DELETED))
    else:
        world.delete()
    assert world.state.placement(pod.uid) is None
    assert world.seen == ["AssignedPodDelete"]
    assert world.objects == [(assumed, None)]
    assert world.checks == [None]


@pytest.mark.parametrize("marked", [True, False])
def test_an_assumed_pod_that_waits_on_permit_is_rejected(marked: bool) -> None:
    world = Watched(plugin(Permits, "A", Wait(60), events=lambda self: []))
    pod = world.add()

    def go() -> None:
        world.seen.clear()
        if marked:
            world.client.pods[pod.key] = new = make_pod(metadata=DELETED)
            world.door.put(new)
        else:
            world.delete()
        assert world.state.is_assumed(pod.uid)
        assert world.seen == ["AssignedPodDelete"]

    world.schedule(after(5, go))
    assert world.state.placement(pod.uid) is None
    assert world.notes == [("FailedScheduling", "0/1 nodes are available: 1 removed.")]


def test_other_changes_of_an_assumed_pod_are_ignored(world: Watched) -> None:
    pod = world.add()
    world.state.assume(pod, "n0")
    world.door.put(make_pod(status={"nominatedNodeName": "n0"}))
    world.door.put(make_pod(labels={"a": "b"}))
    assert world.seen == []
    assert world.state.is_assumed(pod.uid)


# Everything else


class Price(Object, kw_only=True):
    group = "example.com"
    version = "v1"
    resource = "prices"
    kind = "Price"


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        (Namespace, "Namespace"),
        (PersistentVolumeClaim, "PersistentVolumeClaim"),
        (StorageClass, "storage.k8s.io/StorageClass"),
        (Price, "prices.v1.example.com"),
    ],
)
def test_other_objects_appear_change_and_go(world: Watched, kind: type[Any], resource: str) -> None:
    old, new = kind(metadata=make_pod().metadata), kind(metadata=make_pod().metadata)
    store = world.state.objects.of(kind)
    world.door.put(old)
    assert list(store.list()) == [old]
    world.door.put(new)
    assert list(store.list()) == [new]
    world.door.remove(new)
    assert list(store.list()) == []
    assert world.seen == [f"{resource}{action}" for action in ("Add", "Update", "Delete")]
    assert world.objects == [(None, old), (old, new), (new, None)]


@pytest.mark.parametrize(
    ("group", "version", "resource", "kind"),
    [("", "v1", "nodes", None), ("", "v1", "pods", None), ("example.com", "v1", "prices", Price)],
)
def test_the_listers_of_plugins_are_fed(group: str, version: str, resource: str, kind: Any) -> None:
    seen: list[str] = []

    class Asks(Filters):
        def __init__(self, args: Any, handle: Handle) -> None:
            super().__init__(args, handle)
            self.lister = handle.lister(group, version, resource, kind)
            self.lister.on_change(
                added=lambda item: seen.append(f"added {item.name}"),
                updated=lambda old, new: seen.append(f"updated {new.name}"),
                deleted=lambda item: seen.append(f"deleted {item.name}"),
            )

    world = World(Asks, nodes=0)
    asks = world.scheduler.profiles["default-scheduler"].plugins["Asks"]
    assert isinstance(asks, Asks)
    makers: dict[str, Callable[[str], Object]] = {
        "nodes": make_node,
        "pods": make_pod,
        "prices": lambda name: Price(metadata=make_pod(name).metadata),
    }
    old, new = makers[resource]("x"), makers[resource]("x")
    world.door.put(old)
    assert list(asks.lister.list()) == [old]
    world.door.put(new)
    assert list(asks.lister.list()) == [new]
    world.door.remove(new)
    assert list(asks.lister.list()) == []
    assert seen == ["added x", "updated x", "deleted x"]


def test_a_rejected_pod_is_tried_again_when_something_changes() -> None:
    world = World(plugin(Filters, "A", Status.unschedulable("no")))
    world.client.refuses = OSError("no status is written, so that no pod is woken by that")
    world.add()
    world.schedule()
    assert world.place() == "unschedulable"
    world.door.put(make_node("new"))
    assert world.place() == "backoff"


def test_how_long_each_event_took_is_observed() -> None:
    metrics = SchedulerMetrics()
    door = World(nodes=0, observer=metrics).door
    node, labelled = make_node("n"), make_node("n", labels={"a": "b"}, allocatable={"cpu": "64"})
    waiting, bound = make_pod("p"), make_pod("p", node="n")
    door.put(node)
    door.put(labelled)
    door.put(waiting)
    door.put(waiting)
    door.put(bound)
    door.put(bound)
    door.remove(bound)
    door.put(Price(metadata=waiting.metadata))  # no plugin waits for prices
    door.remove(labelled)

    samples = [sample for family in metrics.collect() for sample in family.samples]
    name = "scheduler_event_handling_duration_seconds_count"
    assert {sample.labels["event"]: sample.value for sample in samples if sample.name == name} == {
        "NodeAdd": 1,
        "NodeUpdateNodeAllocatable": 1,
        "NodeUpdateNodeLabel": 1,
        "NodeDelete": 1,
        "UnschedulablePodAdd": 1,
        "UnschedulablePodUpdate": 1,
        "UnschedulablePodDelete": 1,
        "AssignedPodAdd": 1,
        "AssignedPodUpdate": 2,
        "AssignedPodDelete": 1,
    }
