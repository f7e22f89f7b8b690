"""A heap of queued pods from which any pod can be taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from moorage.framework.queued_pod import QueuedPod

_FEWEST_STALE = 64
"""Below this many, stale entries are not worth tidying up."""


class _Entry:
    __slots__ = ("number", "order", "queued")

    def __init__(self, order: tuple[Any, ...], number: int, queued: QueuedPod) -> None:
        self.order = (*order, number)
        self.number = number
        self.queued: QueuedPod | None = queued

    def __lt__(self, other: _Entry) -> bool:
        try:
            return self.order < other.order
        except Exception:
            # Keys of a QueueSort plugin that do not compare must not stop the scheduler.
            return self.number < other.number


class PodHeap:
    """Pods by namespace and name, smallest `order_of` first, equal ones in the order they came.

    Most pods come in the order in which they are to go. Those stand in a line, at the end of which a new one
    has to be compared with one other only; the heap has the rest. A removed pod's entry stays where it is,
    emptied, until it surfaces or too many have gathered.
    """

    def __init__(self, order_of: Callable[[QueuedPod], tuple[Any, ...]]) -> None:
        self._order_of = order_of
        self._numbers = count()
        self._line: deque[_Entry] = deque()
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}

    def push(self, queued: QueuedPod) -> None:
        self.remove(queued.pod.key)
        self._push(queued, next(self._numbers))

    def peek(self) -> QueuedPod | None:
        first = self._first()
        return None if first is None else first[0].queued

    def pop(self) -> QueuedPod | None:
        first = self._first()
        if first is None:
            return None
        queued = (heappop(self._heap) if first is self._heap else self._line.popleft()).queued
        assert queued is not None
        del self._entries[queued.pod.key]
        return queued

    def _first(self) -> Sequence[_Entry] | None:
        """Where the first pod is: at the head of the line or of the heap."""
        line, heap = self._line, self._heap
        while line and line[0].queued is None:
            line.popleft()
        while heap and heap[0].queued is None:
            heappop(heap)
        if heap and (not line or heap[0] < line[0]):
            return heap
        return line or None

    def get(self, key: str) -> QueuedPod | None:
        entry = self._entries.get(key)
        return entry.queued if entry is not None else None

    def remove(self, key: str) -> QueuedPod | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        queued, entry.queued = entry.queued, None
        stale = len(self._heap) + len(self._line) - len(self._entries)
        if stale > max(len(self._entries), _FEWEST_STALE):
            self._line.clear()
            self._heap = list(self._entries.values())
            heapify(self._heap)
        return queued

    def reorder(self, queued: QueuedPod) -> None:
        """Puts a pod that has changed where it belongs now; among equals it keeps its place."""
        number = self._entries[queued.pod.key].number
        self.remove(queued.pod.key)
        self._push(queued, number)

    def _push(self, queued: QueuedPod, number: int) -> None:
        entry = _Entry(self._order_of(queued), number, queued)
        self._entries[queued.pod.key] = entry
        if not self._line or self._line[-1] < entry:
            self._line.append(entry)
        else:
            heappush(self._heap, entry)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in no particular order."""
        return (entry.queued for entry in self._entries.values() if entry.queued is not None)
