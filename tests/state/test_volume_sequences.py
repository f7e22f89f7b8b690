"""Any sequence of events leaves what is known of volumes as if it were built from scratch."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.framework.door import Door
from moorage.state.cluster import ClusterState
from moorage.testing import make_pod
from tests.state import volume_worlds

POD_NAMES = ("p0", "p1", "p2", "p3", "p4")


class Events:
    """Puts things in and out of a cluster by chance, and remembers what is there."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.door = Door()
        self.objects: dict[tuple[str, str], Object] = {}
        self.pods: dict[str, tuple[Pod, str, bool]] = {}

    @property
    def state(self) -> ClusterState:
        return self.door.state

    def next(self) -> None:
        if self.chance.random() < 0.5:
            self.change_object()
        else:
            self.chance.choice([self.add_pod, self.assume, self.remove_pod, self.forget, self.what_if])()
        if self.chance.random() < 0.1:
            self.state.table.refresh()

    def change_object(self) -> None:
        make, name = self.chance.choice(volume_worlds.NAMES)
        known = self.objects.get((make.__name__, name))
        if known is not None and self.chance.random() < 0.4:
            self.door.remove(self.objects.pop((make.__name__, name)))
        else:
            item = self.objects[make.__name__, name] = make(self.chance, name)
            self.door.put(item)

    def any_pod(self) -> Pod:
        where = self.chance.choice([*volume_worlds.NODE_NAMES, "gone"])
        return volume_worlds.pod(self.chance, self.chance.choice(POD_NAMES), where)

    def add_pod(self) -> None:
        pod = self.any_pod()
        known = self.pods.get(pod.uid)
        if known is not None:
            # What a pod has of volumes never changes; that it was assumed elsewhere may turn out.
            place = pod.spec.node_name if known[2] else known[1]
            pod = make_pod(pod.name, namespace=pod.namespace, uid=pod.uid, node=place, labels={"new": ""})
            pod.spec.volumes = known[0].spec.volumes
        self.door.put(pod)
        self.pods[pod.uid] = pod, pod.spec.node_name, False

    def assume(self) -> None:
        pod = self.any_pod()
        where, pod.spec.node_name = pod.spec.node_name, ""
        if pod.uid not in self.pods:
            assumed = self.state.assume(pod, where)
            self.pods[pod.uid] = assumed, where, True

    def remove_pod(self) -> None:
        known = self.some_pod(assumed=False)
        if known is not None:
            self.door.remove(known)
            del self.pods[known.uid]

    def forget(self) -> None:
        known = self.some_pod(assumed=True)
        if known is not None:
            self.state.forget(known)
            del self.pods[known.uid]

    def what_if(self) -> None:
        """Tries other pods on a node and takes its own away; nothing of it may remain."""
        info = self.chance.choice([None, *self.state.table.infos])
        if info is None:
            return
        before = described(self.state)
        with self.state.what_if(info) as trial:
            for _ in range(self.chance.randrange(3)):
                rival = volume_worlds.pod(self.chance, "rival")
                rival.metadata.uid = f"rival-{self.chance.random()}"
                trial.add(self.state.pod_info(rival))
            for pod_info in list(info.pod_infos):
                if self.chance.random() < 0.5:
                    trial.remove(pod_info)
        assert described(self.state) == before

    def some_pod(self, *, assumed: bool) -> Pod | None:
        found = [pod for pod, _, is_assumed in self.pods.values() if is_assumed is assumed]
        return self.chance.choice(found) if found else None

    def from_scratch(self) -> ClusterState:
        door = Door()
        for item in self.objects.values():
            door.put(item)
        for pod, where, assumed in self.pods.values():
            if assumed:
                door.state.assume(pod, where)
            else:
                door.put(pod)
        return door.state


def described(state: ClusterState) -> dict[str, Any]:
    """Everything that is known of volumes, in a form that can be compared: by name, without order."""
    volumes, rows = state.volumes, {info.name: info.row for info in state.table}
    limits, claimed, attached = volumes.limits, volumes.claimed, volumes.attached
    return {
        "users": volumes._users,
        "claims": claimed._claims,
        "depends on volume": claimed._claims_of_volume._by_name,
        "depends on class": claimed._claims_of_class._by_name,
        "attachments": attached._known,
        "attachments of volume": attached._of_volume._by_name,
        "used": limits._used_at,
        "attached": limits._attached_at,
        "limits": limits._limits,
        "columns": {
            driver: {
                "nodes": columns.nodes,
                "attached": {name: columns.attached[row] for name, row in rows.items()},
                "limit": {name: columns.limit[row] for name, row in rows.items()},
            }
            for driver, columns in limits._drivers.items()
        },
    }


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_the_order_of_events_does_not_matter(seed: int) -> None:
    events = Events(Random(seed))
    for _ in range(90):
        events.next()
        assert described(events.state) == described(events.from_scratch())


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_nothing_is_left_when_all_is_gone(seed: int) -> None:
    chance = Random(seed)
    events = Events(chance)
    for _ in range(100):
        events.next()
    leavers: list[Any] = [*events.objects.values(), *events.pods.values()]
    chance.shuffle(leavers)
    for leaver in leavers:
        if not isinstance(leaver, tuple):
            events.door.remove(leaver)
        elif leaver[2]:
            events.state.forget(leaver[0])
        else:
            events.door.remove(leaver[0])
    assert not any(described(events.state).values())
