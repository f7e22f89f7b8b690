"""The state can be looked at as it was a little earlier, and is afterwards as if nobody had."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod, on_node
from moorage.state.cluster import ClusterState
from moorage.state.nominations import Nominations
from moorage.testing import make_node, make_pod
from moorage.what_if.recent import Expected, RememberingDoor
from tests.state.worlds import described

CONDITION = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class World:
    """Nodes and pods that come, change and go through a door, by chance."""

    def __init__(self, chance: Random, **limits: Any) -> None:
        self.chance = chance
        self.clock = Clock()
        self.door = RememberingDoor(clock=self.clock, **limits)
        self.nominations = Nominations()
        self.expected = Expected(self.door.state, self.nominations)
        self.door.follow(self.expected)
        self.door.coming = self._coming
        self.number = 0

    def _coming(self, old: Pod | None, new: Pod) -> str:
        node = new.status.nominated_node_name
        if not node.startswith("announce") or new.spec.node_name:
            return ""
        self.expected.announce(new, node)
        return node

    @property
    def state(self) -> ClusterState:
        return self.door.state

    def picture(self) -> object:
        nominated = {pod.uid: self.nominations.node_of(pod.uid) for pod in self.nominations}
        return described(self.state), nominated, {pod.key: pod for pod in self.door.pods()}

    def act(self) -> None:
        self.clock.now += 0.01
        chance, pods = self.chance, self.door.pods()
        self.number += 1
        node = chance.choice(("n0", "n1", "nominate-n1", "announce-n0"))
        waiting = [pod for pod in pods if not pod.spec.node_name]
        kind = chance.choice(("come", "come", "bind", "bind", "node", "unnode", "go", "nominate", "announce"))
        if kind == "node":
            self.door.put(
                make_node(node, cpu=chance.choice(("1", "4")), labels={"zone": chance.choice("ab")})
            )
        elif kind == "unnode":
            info = self.state.node(node)
            if info is not None:
                self.door.remove(info.node)
        elif kind == "go" and pods:
            gone = chance.choice(pods)
            self.door.remove(gone) if chance.random() < 0.5 else self.door.put(_ended(gone))
        elif kind == "bind" and waiting:
            self.door.put(on_node(chance.choice(waiting), node))
        elif kind in ("nominate", "announce") and waiting:
            old = chance.choice(waiting)
            conditions = [{**CONDITION, "message": each.message} for each in old.status.conditions]
            if kind == "nominate":
                conditions = [{**CONDITION, "message": str(self.number)}]
            # Which of both a nomination was is remembered by pod and node.
            self.door.put(_nominated(old, f"{kind}-{node[-2:]}", conditions))
        else:
            name = f"p{chance.randrange(12)}"
            self.door.put(
                make_pod(name, uid=f"{name}-{self.number}", cpu="500m", priority=chance.choice((0, 5)))
            )


def _ended(pod: Pod) -> Pod:
    return _with_status(pod, {"phase": "Succeeded"})


def _nominated(pod: Pod, node: str, conditions: list[dict[str, str]]) -> Pod:
    return _with_status(pod, {"nominatedNodeName": node, "conditions": conditions})


def _with_status(pod: Pod, status: dict[str, Any]) -> Pod:
    named: dict[str, Any] = {"uid": pod.uid, "node": pod.spec.node_name, "priority": pod.priority}
    return make_pod(pod.name, cpu="500m", status=status, **named)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_moment_that_is_remembered_can_be_looked_at(seed: int) -> None:
    world = World(Random(seed))
    pictures: dict[int, object] = {}
    for _ in range(60):
        pictures.setdefault(world.door.number, world.picture())
        world.act()
    last = world.picture()
    for number, picture in pictures.items():
        with world.door.rewound(number):
            assert world.picture() == picture, number
        assert world.picture() == last, number


def test_little_is_remembered() -> None:
    world = World(Random(1), most=20, seconds=5.0)
    for _ in range(200):
        world.act()
    assert len(world.door.since(0)) <= 20
    assert len(world.door._arrivals) <= 20 + len(world.door.pods())
    world.clock.now += 6
    world.door.put(make_node("late"))
    assert [past.item.name for past in world.door.since(0)] == ["late"]
    assert world.door.oldest == world.door.number - 1


def test_what_is_announced_is_as_good_as_bound() -> None:
    world = World(Random(1))
    pod = make_pod("p", cpu="500m", priority=0)
    world.door.put(make_node("announced"))
    world.door.put(pod)
    nominated = _nominated(pod, "announced", [])
    world.door.put(nominated)
    assert world.door.since(0)[-1].choice == "announced"
    assert world.state.is_assumed(pod.uid)
    assert not len(world.nominations)
    world.door.put(_with_status(pod, {}))
    assert world.state.pod(pod.uid) is None
    world.door.put(nominated)
    world.door.put(on_node(nominated, "announced"))
    assert not world.state.is_assumed(pod.uid)
    assert world.state.pod(pod.uid) is not None


def test_other_nominations_wait_for_room() -> None:
    world = World(Random(1))
    pod = make_pod("p", cpu="500m", priority=0)
    world.door.put(make_node("a"))
    world.door.put(pod)
    world.door.put(_nominated(pod, "a", []))
    assert world.state.pod(pod.uid) is None
    assert world.nominations.node_of(pod.uid) == "a"
    world.door.put(on_node(pod, "a"))
    assert not len(world.nominations)


def test_pods_of_others_are_neither() -> None:
    door = RememberingDoor()
    nominations = Nominations()
    door.follow(Expected(door.state, nominations, counts=lambda pod: False))
    door.put(make_pod("p", status={"nominatedNodeName": "a"}))
    assert not len(nominations)
