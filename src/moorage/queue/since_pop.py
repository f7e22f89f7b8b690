"""What happened while a pod was tried, judged as it goes back into the queue."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from moorage.framework.queued_pod import QueuedPod
from moorage.queue.hints import Interests, Requeue
from moorage.queue.in_flight import InFlightPods, SeenEvent

_MOST_KINDS = 4096


class _Judged:
    """What the events between two numbers mean for pods of a kind: for each verdict, the last that has it."""

    __slots__ = ("begin", "end", "last")

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self.last = {Requeue.IMMEDIATELY: -1, Requeue.AFTER_BACKOFF: -1}

    def since(self, number: int) -> Requeue:
        return next((verdict for verdict, last in self.last.items() if last >= number), Requeue.SKIP)


class SincePop:
    """Finds the best that the events since a pod was popped mean for it.

    Thousands of pods that fail alike are in flight together. Each event is judged once for all of a kind, and
    for a pod by itself only if it is about this pod.
    """

    def __init__(self, in_flight: InFlightPods, interests: Interests) -> None:
        self._in_flight = in_flight
        self._interests = interests
        self._judged: dict[Hashable, _Judged] = {}

    def verdict(self, queued: QueuedPod) -> Requeue:
        in_flight, uid = self._in_flight, queued.pod.uid
        start = in_flight.start_of(uid)
        if start == in_flight.end:
            return Requeue.SKIP
        kind, own = self._interests.kind(queued), in_flight.own_events(uid)
        if kind is None:
            return self._best(queued, in_flight.events_from(start))
        judged = self._judged.get(kind)
        if judged is None or start > judged.end:
            if len(self._judged) >= _MOST_KINDS:
                self._judged.clear()
            judged = self._judged[kind] = _Judged(start)
        if start < judged.begin or (own and judged.end < in_flight.end):
            return self._best(queued, in_flight.events_from(start))
        for seen in in_flight.events_from(judged.end):
            verdict = self._interests.worth_requeueing(queued, *seen)
            if verdict is not Requeue.SKIP:
                judged.last[verdict] = judged.end
            judged.end += 1
        return max(judged.since(start), self._best(queued, own))

    def _best(self, queued: QueuedPod, events: Iterable[SeenEvent]) -> Requeue:
        best = Requeue.SKIP
        for seen in events:
            best = max(best, self._interests.worth_requeueing(queued, *seen))
            if best is Requeue.IMMEDIATELY:
                break
        return best
