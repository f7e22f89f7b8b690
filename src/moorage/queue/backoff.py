"""How long a pod that failed has to wait, and where it does so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Protocol

from moorage.api.pods import Pod
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.heap import PodHeap
from moorage.queue.ordering import QueueOrder

_NANOS = 1_000_000_000


_HUNG_SECONDS, _LONGEST_HUNG_SECONDS = 10, 300
"""A plugin that did not return has held up all other pods: they get their time before it is tried again."""


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

    def begin_after_hang(self, queued: QueuedPod, now: float) -> None:
        """Of a pod that is not let into the queue, because it was its PreEnqueue that did not return."""
        queued.hung_attempts += 1
        queued.backoff_expiry = (round(now * _NANOS) + _hung_duration(queued.hung_attempts)) // _NANOS

    def duration(self, failures: int) -> float:
        """Seconds to wait after this many failures."""
        return self._duration(failures) / _NANOS

    def _expiry(self, queued: QueuedPod) -> float:
        failures = queued.consecutive_errors or queued.unschedulable_count
        if failures == 0:
            return -math.inf
        duration = max(self._duration(failures), _hung_duration(queued.hung_attempts))
        return (round(queued.timestamp * _NANOS) + duration) // _NANOS

    def _duration(self, failures: int) -> int:
        if failures == 0:
            return 0
        doublings = failures - 1
        if self._initial > self._longest >> doublings:
            return self._longest
        return self._initial << doublings


def _hung_duration(attempts: int) -> int:
    return min(_HUNG_SECONDS << min(attempts - 1, 10), _LONGEST_HUNG_SECONDS) * _NANOS if attempts else 0


class Outlook(Protocol):
    """What is known of attempts before they are made."""

    @property
    def moment(self) -> Hashable:
        """Changes whenever an attempt might end otherwise than before."""

    def hopeless(self, pod: Pod) -> Hashable:
        """If it is known that an attempt would fail now: the key of all pods for which that is known."""


class BackoffQueue:
    """Pods that are backing off: those that plugins rejected, and apart from them those that met an error.

    The former may be tried early when there is nothing else to do; the latter never, because what made them
    fail (an API server that does not answer, say) may need the rest. Pods of groups are not tried early
    either: it takes as long as all of them together.
    """

    def __init__(self, backoff: Backoff, order: QueueOrder, outlook: Outlook | None = None) -> None:
        self._backoff = backoff

        def rejected_order(queued: QueuedPod) -> tuple[Any, ...]:
            return (backoff.expiry(queued), *order.of(queued))

        self._rejected = PodHeap(rejected_order)
        self._failed = PodHeap(lambda queued: (backoff.expiry(queued),))
        self._heaps = (self._rejected, self._failed)
        self._early = EarlyPods(rejected_order, outlook)
        self.is_patient = False
        """Whether no pod is tried early."""

    def push(self, queued: QueuedPod) -> None:
        if queued.rejecting_plugins and not (queued.hung_attempts or queued.is_of_group):
            self._rejected.push(queued)
            self._early.push(queued)
        else:
            self._failed.push(queued)

    def is_on(self, queued: QueuedPod, now: float) -> bool:
        """Whether a pod, in here or not, has to wait still."""
        return self._backoff.is_on(queued, now)

    @property
    def may_pop_early(self) -> bool:
        return not self.is_patient and self._early.peek() is not None

    def pop_early(self) -> QueuedPod | None:
        queued = None if self.is_patient else self._early.peek()
        return None if queued is None else self.remove(queued.pod.key)

    def pop_completed(self, now: float) -> Iterator[QueuedPod]:
        """Takes out the pods whose backoff is over."""
        for heap in self._heaps:
            while (queued := heap.peek()) is not None and not self.is_on(queued, now):
                self.remove(queued.pod.key)
                yield queued

    def next_expiry(self) -> float | None:
        """The last second that the next pod has to wait for."""
        first = [queued for heap in self._heaps if (queued := heap.peek()) is not None]
        return min(map(self._backoff.expiry, first), default=None)

    def get(self, key: str) -> QueuedPod | None:
        return self._rejected.get(key) or self._failed.get(key)

    def remove(self, key: str) -> QueuedPod | None:
        queued = self._rejected.remove(key)
        if queued is None:
            return self._failed.remove(key)
        self._early.remove(key)
        return queued

    def reorder(self, queued: QueuedPod) -> None:
        if self._rejected.get(queued.pod.key) is not None:
            self._rejected.reorder(queued)
            self._early.remove(queued.pod.key)
            self._early.push(queued)
        else:
            self._failed.reorder(queued)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __iter__(self) -> Iterator[QueuedPod]:
        for heap in self._heaps:
            yield from heap


class EarlyPods:
    """Pods that may be tried although they are backing off, without those that would be tried in vain.

    Whatever changes wakes thousands of pods that do not fit. To try them all early after each change would
    take all the time there is. So one of those that are alike is tried; if it fails, the others are set
    aside until something changes again, or until their backoff ends.
    """

    def __init__(
        self, order_of: Callable[[QueuedPod], tuple[Any, ...]], outlook: Outlook | None = None
    ) -> None:
        self._order_of = order_of
        self._outlook = outlook
        self._heap = PodHeap(order_of)
        self._aside: dict[Hashable, PodHeap] = {}
        self._kind_aside: dict[str, Hashable] = {}
        self._moment: Hashable = None

    def push(self, queued: QueuedPod) -> None:
        self._heap.push(queued)

    def peek(self) -> QueuedPod | None:
        """The first pod worth an attempt."""
        outlook = self._outlook
        if outlook is None:
            return self._heap.peek()
        if outlook.moment != self._moment:
            self._moment = outlook.moment
            for heap in list(self._aside.values()):
                first = heap.peek()
                assert first is not None
                self.remove(first.pod.key)
                self._heap.push(first)
        while (queued := self._heap.peek()) is not None:
            kind = outlook.hopeless(queued.pod)
            if kind is None:
                return queued
            self._heap.pop()
            self._aside.setdefault(kind, PodHeap(self._order_of)).push(queued)
            self._kind_aside[queued.pod.key] = kind
        return None

    def remove(self, key: str) -> None:
        kind = self._kind_aside.pop(key, None)
        if kind is None:
            self._heap.remove(key)
            return
        heap = self._aside[kind]
        heap.remove(key)
        if not len(heap):
            del self._aside[kind]
