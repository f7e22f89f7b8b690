"""How long a pod that failed has to wait, and where it does so."""

from __future__ import annotations

import math
from collections.abc import Iterator

from moorage.framework.queued_pod import QueuedPod
from moorage.queue.heap import PodHeap
from moorage.queue.ordering import QueueOrder

_NANOS = 1_000_000_000


class Backoff:
    """The waiting time doubles with every failure in a row. Expiry is counted in whole seconds, so that pods
    whose wait ends in the same second come out in the order of the queue.
    """

    def __init__(self, initial: float, longest: float) -> None:
        self._initial = round(initial * _NANOS)
        self._longest = round(longest * _NANOS)

    def expiry(self, queued: QueuedPod) -> float:
        if queued.backoff_expiry is None:
            queued.backoff_expiry = self._expiry(queued)
        return queued.backoff_expiry

    def is_on(self, queued: QueuedPod, now: float) -> bool:
        return self.expiry(queued) >= math.floor(now)

    def duration(self, failures: int) -> float:
        """Seconds to wait after this many failures."""
        return self._duration(failures) / _NANOS

    def _expiry(self, queued: QueuedPod) -> float:
        failures = queued.consecutive_errors or queued.unschedulable_count
        if failures == 0:
            return -math.inf
        return (round(queued.timestamp * _NANOS) + self._duration(failures)) // _NANOS

    def _duration(self, failures: int) -> int:
        if failures == 0:
            return 0
        doublings = failures - 1
        if self._initial > self._longest >> doublings:
            return self._longest
        return self._initial << doublings


class BackoffQueue:
    """Pods that are backing off: those that plugins rejected, and apart from them those that met an error.

    The former may be tried early when there is nothing else to do; the latter never, because what made them
    fail (an API server that does not answer, say) may need the rest.
    """

    def __init__(self, backoff: Backoff, order: QueueOrder) -> None:
        self._backoff = backoff
        self._rejected = PodHeap(lambda queued: (backoff.expiry(queued), *order.of(queued)))
        self._failed = PodHeap(lambda queued: (backoff.expiry(queued),))
        self._heaps = (self._rejected, self._failed)

    def push(self, queued: QueuedPod) -> None:
        (self._rejected if queued.rejecting_plugins else self._failed).push(queued)

    def is_on(self, queued: QueuedPod, now: float) -> bool:
        """Whether a pod, in here or not, has to wait still."""
        return self._backoff.is_on(queued, now)

    @property
    def may_pop_early(self) -> bool:
        return len(self._rejected) > 0

    def pop_early(self) -> QueuedPod | None:
        return self._rejected.pop()

    def pop_completed(self, now: float) -> Iterator[QueuedPod]:
        """Takes out the pods whose backoff is over."""
        for heap in self._heaps:
            while (queued := heap.peek()) is not None and not self.is_on(queued, now):
                heap.pop()
                yield queued

    def get(self, key: str) -> QueuedPod | None:
        return self._rejected.get(key) or self._failed.get(key)

    def remove(self, key: str) -> QueuedPod | None:
        return self._rejected.remove(key) or self._failed.remove(key)

    def reorder(self, queued: QueuedPod) -> None:
        heap = self._rejected if self._rejected.get(queued.pod.key) is not None else self._failed
        heap.reorder(queued)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __iter__(self) -> Iterator[QueuedPod]:
        for heap in self._heaps:
            yield from heap
