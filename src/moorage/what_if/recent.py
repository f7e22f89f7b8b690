"""What happened lately, so that the state can be looked at as it was a little earlier."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.door import Door
from moorage.framework.listers import Lister
from moorage.state.cluster import ClusterState
from moorage.state.nominations import Nominations

MOST = 16384
SECONDS = 60.0
"""So many changes are remembered at most, and for so long."""


class Past(NamedTuple):
    """A change: what there was (or None), and what there is since (or None)."""

    number: int
    """Changes are counted as they come."""
    time: float
    old: Object | None
    new: Object | None
    lister: Lister[Any] | None
    announced: str = ""
    """The node to which a pod is about to be bound, if that is what is new."""

    @property
    def item(self) -> Object:
        found = self.old if self.new is None else self.new
        assert found is not None
        return found

    @property
    def is_bind(self) -> bool:
        """Whether a pod got its node."""
        old, new = self.old, self.new
        return (
            isinstance(old, Pod)
            and isinstance(new, Pod)
            and bool(new.spec.node_name)
            and not old.spec.node_name
        )

    @property
    def choice(self) -> str:
        """The node that a scheduler chose for a pod, if that is what is new."""
        if self.is_bind and isinstance(self.new, Pod):
            return self.new.spec.node_name
        return self.announced

    @property
    def matters(self) -> bool:
        """Whether it may change a decision on another pod: most news of pods that wait do not."""
        old, new = self.old, self.new
        if isinstance(old, Pod) and isinstance(new, Pod):
            placed = bool(new.spec.node_name)
            nominated = old.status.nominated_node_name != new.status.nominated_node_name
            return placed != bool(old.spec.node_name) or nominated or (placed and _takes_otherwise(old, new))
        item = self.item
        return not isinstance(item, Pod) or bool(item.spec.node_name or item.status.nominated_node_name)


def _takes_otherwise(old: Pod, new: Pod) -> bool:
    return old.deleting != new.deleting or old.labels != new.labels or old.spec != new.spec


class Arrival(NamedTuple):
    """When a pod was first seen, and as which change."""

    number: int
    time: float


class RememberingDoor(Door):
    """A door that knows what came last, and can have the state as it was before.

    `coming` is called with each pod that comes, before the state knows it, as (old or None, new). It answers
    with the node to which the pod is about to be bound, if that is what is new, or nothing.
    """

    def __init__(
        self, *, most: int = MOST, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.coming: Callable[[Pod | None, Pod], str] = lambda old, new: ""
        self.number = 0
        """Of the change that comes next."""
        self._past: deque[Past] = deque()
        self._most, self._seconds = most, seconds
        self.clock = clock
        self._arrivals: dict[str, Arrival] = {}

    def put(self, item: Object, lister: Lister[Any] | None = None) -> None:
        old = self._known(item, lister)
        if old is not None and old.uid != item.uid:
            self.remove(old, lister)  # another one of the same name
            old = None
        announced = ""
        if isinstance(item, Pod) and lister is None:
            announced = self.coming(old if isinstance(old, Pod) else None, item)
            if item.finished:
                if old is not None:
                    self._note(old, None, lister)
                super().put(item, lister)
                return
        self._note(old, item, lister, announced)
        super().put(item, lister)

    def remove(self, item: Object, lister: Lister[Any] | None = None) -> None:
        old = self._known(item, lister)
        if old is not None:
            self._note(old, None, lister)
        super().remove(item, lister)

    def arrival(self, pod: Pod) -> Arrival:
        """When a pod was first seen without a node; the beginning, if that is not known."""
        return self._arrivals.get(pod.uid, Arrival(0, 0.0))

    @property
    def oldest(self) -> int:
        """The number of the oldest change that is remembered."""
        return self._past[0].number if self._past else self.number

    def since(self, number: int) -> list[Past]:
        """The changes from this one on, as far as they are remembered; the oldest first."""
        found: list[Past] = []
        for past in reversed(self._past):
            if past.number < number:
                break
            found.append(past)
        return found[::-1]

    def before(self, number: int, since: float) -> list[Past]:
        """The changes before this one and not before a time, the latest first."""
        found: list[Past] = []
        for past in reversed(self._past):
            if past.time < since:
                break
            if past.number < number:
                found.append(past)
        return found

    @contextmanager
    def rewound(self, number: int) -> Iterator[None]:
        """The state as it was before a change, for as long as nothing else comes."""
        with self.undone(self.since(number)[::-1]):
            yield

    @contextmanager
    def undone(self, changes: list[Past]) -> Iterator[Callable[[int], None]]:
        """The state without the last changes, the latest first; at the end they are made again.

        It gives what makes those again that came before the one of a number.
        """
        done: list[Past] = []

        def again(number: int) -> None:
            while done and done[-1].number < number:
                self.redo(done.pop())

        try:
            for past in changes:
                done.append(past)
                self.undo(past)
            yield again
        finally:
            while done:
                self.redo(done.pop())

    def undo(self, past: Past) -> None:
        """Takes a change back that is the latest of its object."""
        if past.old is None:
            assert past.new is not None
            super().remove(past.new, past.lister)
            return
        if past.is_bind and past.new is not None:
            super().remove(past.new, past.lister)  # a pod never loses its node while it is there
        super().put(past.old, past.lister)

    def redo(self, past: Past) -> None:
        """Makes a change again."""
        if past.new is None:
            assert past.old is not None
            super().remove(past.old, past.lister)
        else:
            super().put(past.new, past.lister)

    def _note(
        self, old: Object | None, new: Object | None, lister: Lister[Any] | None, announced: str = ""
    ) -> None:
        now, past = self.clock(), self._past
        while past and (len(past) >= self._most or past[0].time < now - self._seconds):
            self._forget(past.popleft())
        past.append(Past(self.number, now, old, new, lister, announced))
        if isinstance(new, Pod) and new.uid not in self._arrivals and not new.spec.node_name:
            self._arrivals[new.uid] = Arrival(self.number, now)
        self.number += 1

    def _forget(self, past: Past) -> None:
        if past.is_bind or past.new is None:
            self._arrivals.pop(past.item.uid, None)

    def _known(self, item: Object, lister: Lister[Any] | None) -> Object | None:
        if lister is None and isinstance(item, Pod):
            return self.find(item)
        if lister is None and isinstance(item, Node):
            info = self.state.node(item.name)
            return None if info is None else info.node
        lister = lister or self.listers.of(item)
        if lister is None:
            return self.state.objects.of(type(item)).get(item.name, item.namespace)
        found: Object | None = lister.get(item.name, namespace=item.namespace or None)
        return found


class Expected:
    """Follows a door: which pods wait for a node that others are to leave, and which are as good as bound.

    Another scheduler tells of both in `status.nominatedNodeName`. In the second case it has decided, and only
    prepares the bind: volumes, devices. From then on it counts the pod on that node, and so does the state
    here. Who follows with `announce` knows which case it is.
    """

    def __init__(
        self,
        state: ClusterState,
        nominations: Nominations,
        counts: Callable[[Pod], bool] = lambda pod: True,
        most: int = MOST,
    ) -> None:
        """`counts` says whether a pod is one of the other scheduler."""
        self._state = state
        self._nominations = nominations
        self._counts = counts
        self._announced: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._most = most

    def is_announced(self, pod: Pod, node: str) -> bool:
        """Whether it was told that the pod is as good as bound to this node."""
        return (pod.uid, node) in self._announced

    def announce(self, pod: Pod, node: str) -> None:
        """The pod is as good as bound to this node."""
        self._announced[pod.uid, node] = None
        if len(self._announced) > self._most:
            self._announced.popitem(last=False)

    # What the door tells

    def adopt(self, pod: Pod) -> Pod:
        return pod

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        pass

    def object_changed(self, resource: str, old: Object | None, new: Object | None) -> None:
        pass

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        self._nominations.remove(pod.uid)
        if new is not None and new.spec.node_name:
            return
        if self._state.is_assumed(pod.uid):
            self._state.remove_pod(pod.uid)
        node = new.status.nominated_node_name if new is not None else ""
        if new is None or not node or not self._counts(new):
            return
        if self.is_announced(new, node):
            self._state.assume(new, node)
        else:
            self._nominations.add(new)
