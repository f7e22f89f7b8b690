"""The cluster of a replay: what the trace brings, and the pods with their lives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from heapq import heappop, heappush

from msgspec.structs import replace

from moorage.api.devices import ResourceClaim
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod, on_node
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.framework.door import Door
from moorage.what_if.replay.client import ReplayClient, written
from moorage.what_if.replay.daemon_pods import daemon_pods
from moorage.what_if.replay.inputs import RecordedVolumes, as_wanted, changed
from moorage.what_if.replay.lives import EXACT, Lives, belongs_to_node, controller, identity
from moorage.what_if.replay.pods import PodInReplay, Watcher
from moorage.what_if.trace.changes import Change


class ReplayedCluster:
    """Applies the changes of a trace, ends pods when it is their time, and makes those again that had to go.

    `clock` is the virtual time. Pods for others than these `schedulers` get the nodes that they got. With
    nodes of its own, it is told nothing of those of the trace.
    """

    def __init__(
        self,
        door: Door,
        lives: Lives,
        began: float,
        clock: Callable[[], float],
        watcher: Watcher,
        *,
        schedulers: Collection[str],
        has_own_nodes: bool = False,
        record: Callable[[Change], None] | None = None,
    ) -> None:
        self.client = ReplayClient(self._put, clock, self._has_node, self._bound)
        self.pods: dict[str, PodInReplay] = {}
        """By uid, as it is here: a pod that was made again has another one than in the trace."""
        self._door = door
        self._lives = lives
        self._began = began
        self._clock = clock
        self._watcher = watcher
        self._schedulers = schedulers
        self._has_own_nodes = has_own_nodes
        self._record = record
        self._volumes = RecordedVolumes(door.state.objects)
        self._uids: dict[str, str] = {}
        """From the identity in the trace to the uid here."""
        self._ends: list[tuple[float, int, str]] = []
        self._number = 0
        self._held: dict[str, deque[tuple[str, Pod]]] = {}
        """By name: pods that come when the one of the same name has ended."""

    # What the trace brings

    def matters(self, change: Change) -> bool:
        """Whether there is anything to do, once all changes before it are applied; most tell of outcomes."""
        pod = change.item
        if not isinstance(pod, Pod):
            return not (self._has_own_nodes and isinstance(pod, Node))
        if self._held and pod.key in self._held:
            return True
        name = identity(pod)
        life = self._lives.pods.get(name)
        if change.gone or pod.finished or life is None or life.is_successor:
            return False
        uid = self._uids.get(name)
        if uid is None:
            return True
        played = self.pods.get(uid)
        if played is None:
            return False
        current = self.client.pods[played.pod.key]
        return _gets_its_node(played, current, pod) or changed(current, pod) is not None

    def apply(self, change: Change) -> None:
        item = change.item
        if isinstance(item, Pod):
            if change.gone or item.finished:
                self._pod_gone(item)
            else:
                self._pod(item)
        elif isinstance(item, Node):
            if not self._has_own_nodes:
                self.take_node_away(item) if change.gone else self._put(item)
        elif change.gone:
            self._object_gone(item)
        else:
            self._object(item)

    def begin_with(self, nodes: Iterable[Node]) -> None:
        """Has these nodes for those of the trace, with the pods that DaemonSets have on every node."""
        patterns = [as_wanted(pod) for pod in self._lives.daemons.values()]
        for node in nodes:
            self._put(node)
            for pod in daemon_pods(patterns, node):
                played = PodInReplay(pod.uid, pod, self._clock(), None, None)
                self.pods[pod.uid] = played
                self._place(played, pod)

    def take_node_away(self, node: Node) -> None:
        """Its pods have to go, and are made again elsewhere by who makes them."""
        info = self._door.state.node(node.name)
        pods = [] if info is None else list(info.pods)
        self._remove(node)
        for pod in pods:
            known = self.pods.get(pod.uid)
            # One that is only about to be bound finds out by itself.
            if known is not None and not self._door.state.is_assumed(pod.uid):
                self._lost(known)

    def _pod(self, pod: Pod) -> None:
        name = identity(pod)
        life = self._lives.pods.get(name)
        if life is None or life.is_successor:
            return
        uid = self._uids.get(name)
        if uid is not None:
            self._pod_changed(pod, uid)
            return
        if any(name == held for held, _ in self._held.get(pod.key, ())):
            self._held[pod.key] = deque(
                (held, as_wanted(pod) if held == name else each) for held, each in self._held[pod.key]
            )
            return
        if pod.key in self.client.pods:
            self._held.setdefault(pod.key, deque()).append((name, pod))
        else:
            self._enter(name, pod)

    def _enter(self, name: str, pod: Pod) -> None:
        life, now = self._lives.pods[name], self._clock()
        wanted = as_wanted(pod)
        node_name = pod.spec.node_name if life.is_fixed else ""
        if self._has_own_nodes:
            if belongs_to_node(pod):
                return  # those of the nodes here are there from the start
            if not self._has_node(node_name):
                node_name = ""
        played = PodInReplay(name, wanted, now, *life.time_left())
        played.is_foreign = pod.spec.scheduler_name not in self._schedulers
        self._uids[name] = wanted.uid
        self.pods[wanted.uid] = played
        if node_name:
            placed = on_node(wanted, node_name)
            placed.status = replace(wanted.status, start_time=pod.status.start_time)
            self._place(played, placed)
        else:
            self._wait(played, wanted)

    def _place(self, played: PodInReplay, pod: Pod) -> None:
        """It has its node without having waited for it."""
        now = self._clock()
        self.client.add(pod)
        if played.end is not None:
            self._note_end(played, played.end)
        self._ends_after(played, now)
        self._watcher.pod_bound(played, now, pod.spec.node_name)
        self._put(pod)

    def _wait(self, played: PodInReplay, pod: Pod) -> None:
        self.client.add(pod)
        if played.end is not None:
            self._note_end(played, played.end)
        self._watcher.pod_came(played)
        self._put(pod)

    def _pod_changed(self, pod: Pod, uid: str) -> None:
        played = self.pods.get(uid)
        current = None if played is None else self.client.pods.get(played.pod.key)
        if played is None or current is None:
            return
        new = changed(current, pod)
        if new is not None:
            self.client.add(new)
            self._put(new)
        if _gets_its_node(played, current, pod) and self._has_node(pod.spec.node_name):
            self.client.bind(current, pod.spec.node_name)

    def _pod_gone(self, pod: Pod) -> None:
        """One that had a node in the trace runs for its time, however late; of others, the end is known."""
        name, held = identity(pod), self._held.get(pod.key)
        life = self._lives.pods.get(name)
        if held and life is not None and life.bound is None:
            self._held[pod.key] = deque(each for each in held if each[0] != name)

    # What happens here

    def next_end(self) -> float | None:
        while self._ends:
            end, _, uid = self._ends[0]
            played = self.pods.get(uid)
            if played is not None and played.end == end:
                return end
            heappop(self._ends)
        return None

    def end_due(self, now: float) -> None:
        """Ends the pods whose time has come."""
        while (end := self.next_end()) is not None and end <= now:
            played = self.pods[heappop(self._ends)[2]]
            current = self.client.pods[played.pod.key]
            self._leave(played, current)
            self._enter_held(current.key)

    def _has_node(self, name: str) -> bool:
        return self._door.state.node(name) is not None

    def _bound(self, pod: Pod) -> None:
        played, now = self.pods[pod.uid], self._clock()
        if played.run is not None:
            self._ends_after(played, now)
        self._watcher.pod_bound(played, now, pod.spec.node_name)

    def _ends_after(self, played: PodInReplay, now: float) -> None:
        if played.run is not None:
            played.end = round(now + played.run, EXACT)
            self._note_end(played, played.end)

    def _note_end(self, played: PodInReplay, end: float) -> None:
        self._number += 1
        heappush(self._ends, (end, self._number, played.pod.uid))

    def let_go(self) -> bool:
        """Ends the pods that were told to go, once everybody knows of it; whether there are any."""
        going = [played for uid in self.client.going if (played := self.pods.get(uid)) is not None]
        self.client.going.clear()
        for played in going:
            self._watcher.pod_preempted(played)
            self._lost(played)
        return bool(going)

    def _lost(self, played: PodInReplay) -> None:
        """A pod has to go before its time: if somebody makes it again, it has the rest of its time then."""
        current = self.client.pods[played.pod.key]
        now = self._clock()
        owner = controller(current)
        node_is_all = owner is None or played.is_of_node
        self._leave(played, current, keeps_objects=not node_is_all)
        if node_is_all:
            self._enter_held(current.key)
            return
        again = as_wanted(current)
        uid = f"{played.identity}-{played.came_again + 1}"
        again.metadata = replace(
            again.metadata, uid=uid, resource_version="", creation_timestamp=written(now)
        )
        left = None if played.end is None else max(0.0, played.end - now)
        absolute = played.end if played.run is None else None
        made = PodInReplay(
            played.identity, again, played.came, left if played.run is not None else None, absolute
        )
        made.came_again = played.came_again + 1
        made.is_foreign = played.is_foreign
        self._uids[played.identity] = uid
        self.pods[uid] = made
        self._own_again(current, again)
        self._wait(made, again)

    def _leave(self, played: PodInReplay, current: Pod, *, keeps_objects: bool = False) -> None:
        del self.pods[current.uid]
        self.client.pods.pop(current.key, None)
        self._watcher.pod_left(played, current.spec.node_name)
        self._remove(current)
        self._release_devices(current, keeps_objects)

    def _enter_held(self, key: str) -> None:
        held = self._held.get(key)
        if held:
            self._enter(*held.popleft())
        elif held is not None:
            del self._held[key]

    # Everything but pods and nodes

    def _object(self, item: Object) -> None:
        if isinstance(item, PersistentVolumeClaim):
            item = self._volumes.claim(item)
        elif isinstance(item, ResourceClaim):
            item = self._volumes.device_claim(item, at_the_start=self._clock() <= self._began)
        elif isinstance(item, PersistentVolume):
            volume = self._volumes.volume(item)
            if volume is None:
                return
            item = volume
        self._put(item)

    def _object_gone(self, item: Object) -> None:
        """What belongs to a pod goes with the pod."""
        owner = next((each for each in item.metadata.owner_references if each.kind == "Pod"), None)
        if owner is None or self._uids.get(owner.uid) not in self.pods:
            self._remove(item)

    def _release_devices(self, pod: Pod, keeps_objects: bool) -> None:
        if not pod.has_claims:
            return
        store = self._door.state.objects.of(ResourceClaim)
        for claim in list(store.list(pod.namespace)):
            if any(user.uid == pod.uid for user in claim.status.reserved_for):
                self._put(self._volumes.released(claim, pod))
        if not keeps_objects:
            for kind in (ResourceClaim, PersistentVolumeClaim):
                for item in list(self._door.state.objects.of(kind).list(pod.namespace)):
                    if any(owner.uid == pod.uid for owner in item.metadata.owner_references):
                        self._remove(item)

    def _own_again(self, before: Pod, pod: Pod) -> None:
        """What was made for a pod is made again for the one in its place."""
        if not pod.has_claims:
            return
        for kind in (ResourceClaim, PersistentVolumeClaim):
            for item in list(self._door.state.objects.of(kind).list(pod.namespace)):
                owners = item.metadata.owner_references
                if any(owner.uid == before.uid for owner in owners):
                    new = item.__copy__()  # type: ignore[attr-defined]
                    mine = tuple(
                        replace(owner, uid=pod.uid) if owner.uid == before.uid else owner for owner in owners
                    )
                    new.metadata = replace(item.metadata, owner_references=mine)
                    self._put(new)

    def _put(self, item: Object) -> None:
        if self._record is not None:
            self._record(Change(self._clock(), item))
        self._door.put(item)

    def _remove(self, item: Object) -> None:
        if self._record is not None:
            self._record(Change(self._clock(), item, gone=True))
        self._door.remove(item)


def _gets_its_node(played: PodInReplay, current: Pod, recorded: Pod) -> bool:
    """Whether another scheduler has just given a pod its node."""
    return played.is_foreign and bool(recorded.spec.node_name) and not current.spec.node_name
