"""What is put in at the door is in the state, in the listers and told to whoever follows."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.meta import Object, ObjectMeta
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Namespace
from moorage.framework.door import Door
from moorage.testing import make_node, make_pod


class Price(Object, kw_only=True):
    group = "example.com"
    resource = "prices"
    kind = "Price"


class Follower:
    """Writes down what it is told, and whether the state knew the pod or the node by then."""

    def __init__(self, door: Door) -> None:
        self._state = door.state
        self.told: list[tuple[Any, ...]] = []

    def adopt(self, pod: Pod) -> Pod:
        return pod

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        about = new or old
        assert about is not None
        self.told.append((old, new, self._state.node(about.name) is not None))

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        about = new or old
        assert about is not None
        self.told.append((old, new, self._state.pod(about.uid) is not None))

    def object_changed(self, resource: str, old: Object | None, new: Object | None) -> None:
        self.told.append((resource, old, new))


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def follower(door: Door) -> Follower:
    made = Follower(door)
    door.follow(made)
    return made


def price(name: str) -> Price:
    return Price(metadata=ObjectMeta(name=name))


@pytest.mark.parametrize(
    ("old", "new"),
    [(make_node("n"), make_node("n", cpu=8)), (make_pod("p", node="n"), make_pod("p", node="n", cpu=1))],
)
def test_nodes_and_pods_are_in_the_state_whenever_somebody_is_told(
    door: Door, follower: Follower, old: Object, new: Object
) -> None:
    door.put(old)
    door.put(new)
    door.remove(new)
    assert follower.told == [(None, old, True), (old, new, True), (new, None, True)]
    assert door.state.node("n") is None
    assert door.state.pod_total == 0


def test_a_pod_without_a_node_is_pending_and_not_in_the_state(door: Door, follower: Follower) -> None:
    door.put(pod := make_pod("p"))
    assert door.is_pending(pod)
    assert (door.find(make_pod("p")), door.pods()) == (pod, [pod])
    door.remove(pod)
    assert not door.is_pending(pod)
    assert follower.told == [(None, pod, False), (pod, None, False)]


def test_a_pod_whose_last_version_names_no_node_leaves_its_node(door: Door) -> None:
    door.put(make_pod("p", node="n"))
    door.remove(make_pod("p"))
    assert door.state.pod_total == 0


def test_a_pod_takes_the_place_of_another_of_its_name(door: Door, follower: Follower) -> None:
    door.put(first := make_pod("p", node="n", uid="1"))
    door.put(second := make_pod("p", node="n", uid="2"))
    assert follower.told == [(None, first, True), (first, None, True), (None, second, True)]
    door.remove(first)
    assert [pod.uid for pod in door.state.pods] == ["2"]
    assert door.pods() == [second]


def test_finished_pods_stay_outside(door: Door, follower: Follower) -> None:
    door.put(make_pod("done", node="n", status={"phase": "Failed"}))
    assert follower.told == []
    door.put(make_pod("p", node="n"))
    door.put(make_pod("p", node="n", status={"phase": "Succeeded"}))
    assert (door.pods(), door.state.pod_total) == ([], 0)


def test_other_objects_are_told_under_the_names_of_their_events(door: Door, follower: Follower) -> None:
    door.put(old := Namespace(metadata=ObjectMeta(name="a")))
    door.put(new := Namespace(metadata=ObjectMeta(name="a")))
    door.put(cheap := price("cheap"))
    door.remove(new)
    assert follower.told == [
        ("Namespace", None, old),
        ("Namespace", old, new),
        ("prices.v1.example.com", None, cheap),
        ("Namespace", new, None),
    ]
    assert list(door.state.objects.of(Price).list()) == [cheap]


def test_an_object_goes_to_the_lister_of_its_resource(door: Door, follower: Follower) -> None:
    untyped = door.listers.get("example.com", "v1", "prices", Object)
    door.put(cheap := price("cheap"))
    assert list(untyped.list()) == [cheap]


class Cost(Price):
    """The same resource as another plugin sees it."""

    note: str = "none"


def test_plugins_with_types_of_their_own_see_the_same_objects(door: Door) -> None:
    untyped = door.listers.get("example.com", "v1", "prices", Object)
    prices = door.listers.get("example.com", "v1", "prices", Price)
    costs = door.listers.get("example.com", "v1", "prices", Cost)
    door.put(cheap := price("cheap"))
    assert list(prices.list()) == [cheap]
    assert [(type(item), item.name, item.note) for item in costs.list()] == [(Cost, "cheap", "none")]
    assert [item.name for item in untyped.list()] == ["cheap"]
    assert door.listers.get("example.com", "v1", "prices", Price) is prices
    door.remove(cheap)
    assert (list(untyped.list()), list(prices.list()), list(costs.list())) == ([], [], [])


def test_an_object_of_no_type_goes_where_it_is_said_to_belong(door: Door, follower: Follower) -> None:
    classes = door.listers.get("storage.k8s.io", "v1", "storageclasses", Object)
    door.put(item := Object(metadata=ObjectMeta(name="fast")), classes)
    assert list(classes.list()) == [item]
    door.remove(item, classes)
    assert list(classes.list()) == []
    assert [resource for resource, *_ in follower.told] == ["storage.k8s.io/StorageClass"] * 2
