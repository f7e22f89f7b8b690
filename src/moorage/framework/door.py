"""The one door by which objects reach a scheduler, whoever brings them: a watch, a scenario or a test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from moorage.api.decoding import from_document
from moorage.api.kinds import event_resource
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.listers import Lister, Listers
from moorage.framework.logger import Logger
from moorage.state.cluster import ClusterState

log = Logger(__name__)


class Follower(Protocol):
    """Told what came in or went, as (old or None, new or None).

    By then state and listers show what came; of nodes and pods that go, the state knows until this returns.
    """

    def adopt(self, pod: Pod) -> Pod:
        """The pod as this scheduler sees it."""

    def node_changed(self, old: Node | None, new: Node | None) -> None: ...

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None: ...

    def object_changed(self, resource: str, old: Object | None, new: Object | None) -> None:
        """`resource` is how cluster events name it."""


class NoFollower:
    """For runs without a queue, where nothing waits for a change."""

    def adopt(self, pod: Pod) -> Pod:
        return pod

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        pass

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pass

    def object_changed(self, resource: str, old: Object | None, new: Object | None) -> None:
        pass


class Door:
    """Keeps the state and the listers that plugins asked for at what was put in here and not removed.

    Finished pods stay outside: one that finishes is removed. A pod with the name of another replaces it.
    Between `hold` and `release` whatever comes or goes waits outside, in order.
    """

    def __init__(self) -> None:
        self.state = ClusterState()
        self.listers = Listers(self.state.objects)
        self._pods: dict[str, Pod] = {}
        self._follower: Follower = NoFollower()
        self._is_held = False
        self._outside: deque[tuple[Callable[[Object, Lister[Any] | None], None], Object, Lister[Any] | None]]
        self._outside = deque()

    def follow(self, follower: Follower) -> None:
        """Has everything told from now on that comes or goes."""
        self._follower = follower

    def put(self, item: Object, lister: Lister[Any] | None = None) -> None:
        """Something appeared or changed. `lister` is where objects belong that have no type of their own."""
        if self._is_held:
            self._outside.append((self._put, item, lister))
        else:
            self._put(item, lister)

    def remove(self, item: Object, lister: Lister[Any] | None = None) -> None:
        """Something is gone; `item` is what was last known of it."""
        if self._is_held:
            self._outside.append((self._remove, item, lister))
        else:
            self._remove(item, lister)

    def hold(self) -> None:
        """Lets nothing in until `release`: a cycle waits for an answer, and nothing may change under it."""
        self._is_held = True

    def release(self) -> None:
        """Lets in what has come meanwhile."""
        while self._outside:
            act, item, lister = self._outside.popleft()
            try:
                act(item, lister)
            except Exception as error:
                # What is wrong with one object must not keep the others out.
                log.error(error, "An object that had to wait cannot be taken in", kind=item.kind, object=item)
        self._is_held = False

    # Everything but nodes and pods

    def _put(self, item: Object, lister: Lister[Any] | None) -> None:
        if isinstance(item, Pod) and lister is None:
            self._put_pod(item)
        elif isinstance(item, Node) and lister is None:
            self._put_node(item)
        else:
            self.state.changes()
            if lister is None:
                for view in self.listers.beside(item):
                    view.put(from_document(view.type, item.raw))
                lister = self.listers.of(item)
            store = self.state.objects.of(type(item)) if lister is None else lister
            old = store.put(item)
            self._follower.object_changed(_event(item, lister), old, item)

    def _remove(self, item: Object, lister: Lister[Any] | None) -> None:
        if isinstance(item, Pod) and lister is None:
            self._remove_pod(item)
        elif isinstance(item, Node) and lister is None:
            self._remove_node(item)
        else:
            self.state.changes()
            if lister is None:
                for view in self.listers.beside(item):
                    view.remove(from_document(view.type, item.raw))
                lister = self.listers.of(item)
            store = self.state.objects.of(type(item)) if lister is None else lister
            store.remove(item)
            self._follower.object_changed(_event(item, lister), item, None)

    # Which pods there are, with a node or without

    def pods(self) -> list[Pod]:
        """All pods that came and did not go."""
        return list(self._pods.values())

    def find(self, pod: Pod) -> Pod | None:
        """The newest version of a pod, by namespace and name."""
        return self._pods.get(pod.key)

    def named(self, key: str) -> Pod | None:
        """The newest version of the pod with this `namespace/name`."""
        return self._pods.get(key)

    def is_pending(self, pod: Pod) -> bool:
        """Whether a pod still exists and has no node."""
        found = self._pods.get(pod.key)
        return found is not None and not found.spec.node_name

    # Nodes and pods

    def _put_node(self, node: Node) -> None:
        known = self.state.node(node.name)
        old = None if known is None else known.node
        self.state.put_node(node)
        self._list(node)
        self._follower.node_changed(old, node)

    def _remove_node(self, node: Node) -> None:
        self._unlist(node)
        self._follower.node_changed(node, None)
        self.state.remove_node(node.name)

    def _put_pod(self, pod: Pod) -> None:
        pod = self._follower.adopt(pod)
        key = pod.key
        old = self._pods.get(key)
        if old is not None and old.uid != pod.uid:
            self._remove_pod(old)
            old = None
        if pod.finished:
            if old is not None:
                self._remove_pod(pod)
            return
        self._pods[key] = pod
        self._list(pod)
        if pod.spec.node_name:
            self.state.add_pod(pod)
        self._follower.pod_changed(old, pod)

    def _remove_pod(self, pod: Pod) -> None:
        pod = self._follower.adopt(pod)
        known = self._pods.get(pod.key)
        if known is not None and known.uid == pod.uid:
            del self._pods[pod.key]
            self._unlist(pod)
            if known.spec.node_name and not pod.spec.node_name:
                pod = known
        self._follower.pod_changed(pod, None)
        if pod.spec.node_name:
            self.state.remove_pod(pod.uid)

    def _list(self, item: Object) -> None:
        lister = self.listers.of(item)
        if lister is not None:
            lister.put(item)

    def _unlist(self, item: Object) -> None:
        lister = self.listers.of(item)
        if lister is not None:
            lister.remove(item)


def _event(item: Object, lister: Lister[Any] | None) -> str:
    if lister is not None:
        return lister.event
    return event_resource(item.group, item.version, item.resource)
