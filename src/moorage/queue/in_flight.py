"""Pods that are being scheduled, and what happened in the cluster meanwhile."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from itertools import islice
from typing import Any, NamedTuple

from moorage.api.pods import Pod
from moorage.framework.events import ClusterEvent


class SeenEvent(NamedTuple):
    event: ClusterEvent
    old: Any
    new: Any

    @property
    def uid(self) -> str:
        """Of the pod that it is about, if it is about one."""
        carried = self.old if self.new is None else self.new
        return carried.uid if isinstance(carried, Pod) else ""


class InFlightPods:
    """One chronological list of pops and events.

    A pod whose attempt fails is judged by the events after its pop: each of them may have made it schedulable
    after its attempt had looked. Kept as a log of events and, for each pod, how many came before its pop.
    """

    def __init__(self) -> None:
        self._starts: OrderedDict[str, int] = OrderedDict()
        self._events: deque[SeenEvent] = deque()
        self._forgotten = 0
        self._own: dict[str, list[SeenEvent]] = {}

    def start(self, uid: str) -> None:
        self._starts[uid] = self.end

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        if self._starts:
            seen = SeenEvent(event, old, new)
            self._events.append(seen)
            if seen.uid in self._starts:
                self._own.setdefault(seen.uid, []).append(seen)

    def start_of(self, uid: str) -> int:
        """The number of the first event after the pop of a pod, once there is one."""
        return self._starts[uid]

    def events_from(self, number: int) -> list[SeenEvent]:
        return list(islice(self._events, number - self._forgotten, None))

    def events_since_start(self, uid: str) -> list[SeenEvent]:
        return self.events_from(self._starts[uid])

    def own_events(self, uid: str) -> list[SeenEvent]:
        """Those of the events since the start of a pod that are about itself."""
        return self._own.get(uid, [])

    def finish(self, uid: str) -> None:
        """Forgets a pod and the events that no other pod can ask for any more."""
        self._starts.pop(uid, None)
        if not self._events:
            return
        self._own.pop(uid, None)
        oldest = next(iter(self._starts.values()), self.end)
        while self._forgotten < oldest:
            self._events.popleft()
            self._forgotten += 1

    def counts(self) -> dict[str, int]:
        """How many pods there are, as `PodPopped`, and how many events by their label."""
        return Counter(seen.event.label for seen in self._events) | {"PodPopped": len(self)}

    @property
    def event_count(self) -> int:
        return len(self._events)

    @property
    def end(self) -> int:
        """The number of the next event."""
        return self._forgotten + len(self._events)

    def __contains__(self, uid: str) -> bool:
        return uid in self._starts

    def __len__(self) -> int:
        return len(self._starts)
