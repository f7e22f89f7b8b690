"""The decision log in memory: the last attempts of a scheduler, as many as there is room for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from moorage.api.pods import Pod
from moorage.framework.diagnosis import Failure
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.insight.log.attempts import Attempt
from moorage.insight.log.capturing import Capturer
from moorage.insight.log.entries import (
    ASSUMED,
    BOUND,
    ERROR,
    NOMINATED,
    REFUSED,
    UNSCHEDULABLE,
    WITHDRAWN,
    Entry,
    Layout,
    NodeOrder,
    Seen,
)
from moorage.insight.log.finding import find
from moorage.insight.log.rates import Rates
from moorage.scheduler.cycle import Decision

DEFAULT_BYTES = 64 << 20
FEWEST = 5000
"""So many attempts are packed rather than dropped."""
_PACKED_AT_ONCE = 4
"""For each attempt that comes, so that one that needs much room does not stop everything."""

DECIDED, ENDED = "decided", "ended"
Follower = Callable[[Entry, str], None]


class DecisionLog:
    """A scheduler's journal that keeps the last attempts in about `limit_bytes` of memory."""

    def __init__(self, limit_bytes: int = DEFAULT_BYTES, clock: Callable[[], float] = time.time) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self.newest = 0
        """The number of the newest attempt; the first is 1."""
        self.rates = Rates()
        self.followers: list[Follower] = []
        """Told of each new attempt (`decided`), and again when it is known what came of it (`ended`)."""
        self._clock = clock
        self._capturer = Capturer()
        self._entries: deque[Entry] = deque()
        self._next_to_pack = 1

    # What the scheduler tells

    def decided(self, profile: Profile, queued: QueuedPod, decision: Decision, seconds: float) -> Entry:
        entry = self._new(profile, queued, self._capturer.capture(profile, decision), seconds)
        failure = decision.failure
        if failure is None:
            entry.node = decision.node_name
        else:
            _note_failure(entry, failure)
        self._add(entry)
        return entry

    def decided_alike(self, profile: Profile, queued: QueuedPod, entry: Entry | None, seconds: float) -> None:
        if entry is None:
            return
        alike = self._new(profile, queued, entry.seen, seconds)
        alike.is_alike = True
        alike.outcome, alike.message, alike.plugins = entry.outcome, entry.message, entry.plugins
        self._add(alike)

    def failed(self, profile: Profile, queued: QueuedPod, failure: Failure) -> None:
        entry = self._new(profile, queued, Seen(NodeOrder(0, ()), Layout()), 0.0)
        _note_failure(entry, failure)
        self._add(entry)

    def bound(self, entry: Entry | None) -> None:
        if entry is None:
            return
        entry.outcome = BOUND
        entry.ended = self._clock()
        self.rates.bound += 1
        self._tell(entry, ENDED)

    def refused(self, entry: Entry | None, status: Status) -> None:
        self._taken_back(entry, REFUSED, status.plugin, status.message)

    def withdrawn(self, entry: Entry | None, why: str) -> None:
        self._taken_back(entry, WITHDRAWN, "", why)

    def _taken_back(self, entry: Entry | None, outcome: str, by: str, message: str) -> None:
        if entry is None:
            return
        entry.outcome = outcome
        entry.ended = self._clock()
        before = entry.room
        entry.after_by, entry.after_message = by, message
        if entry.number >= self.oldest:
            self.size_bytes += entry.room - before
        self.rates.failed += 1
        self._tell(entry, ENDED)

    # What others ask

    @property
    def oldest(self) -> int:
        """The number of the oldest attempt that is still here; 0 if there is none."""
        return self._entries[0].number if self._entries else 0

    def __len__(self) -> int:
        return len(self._entries)

    def attempt(self, number: int) -> Attempt | None:
        """The attempt of this number, if it is here."""
        place = number - self.oldest
        return Attempt(self._entries[place]) if self._entries and 0 <= place < len(self._entries) else None

    def attempts(
        self,
        *,
        pod: str = "",
        outcome: str = "",
        node: str = "",
        plugin: str = "",
        before: int | None = None,
        limit: int = 100,
    ) -> list[Attempt]:
        """The newest first, of those before number `before`: of a pod (`namespace/name`), an outcome, a node
        that was chosen or nominated, or a plugin that rejected."""
        skipped = 0 if before is None else max(0, self.newest + 1 - before)
        found = find(islice(reversed(self._entries), skipped, None), pod, outcome, node, plugin)
        return [Attempt(entry) for entry in islice(found, limit)]

    def entries(self) -> Iterator[Entry]:
        """The oldest first."""
        return iter(self._entries)

    # How it is kept

    def _new(self, profile: Profile, queued: QueuedPod, seen: Seen, seconds: float) -> Entry:
        metadata = queued.pod.metadata
        self.newest += 1
        return Entry(
            self.newest,
            self._clock(),
            metadata.namespace,
            metadata.name,
            metadata.uid,
            metadata.labels,
            profile.name,
            queued.attempts,
            queued.woken_by,
            seconds,
            seen,
            ASSUMED,
            gang=_gang_of(profile, queued.pod),
        )

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        seen, size = entry.seen, entry.room
        if not seen.shared_by:
            size += seen.room
            order = seen.order
            if not order.used_by:
                size += order.room
            order.used_by += 1
        seen.shared_by += 1
        self.size_bytes += size
        self.rates.note(entry)
        if self.size_bytes > self.limit_bytes:
            self._make_room()
        self._tell(entry, DECIDED)

    def _make_room(self) -> None:
        """Packs what is old if there are few attempts; drops the oldest otherwise."""
        for _ in range(_PACKED_AT_ONCE if len(self._entries) < FEWEST else 0):
            number = max(self._next_to_pack, self.oldest)
            if self.size_bytes <= self.limit_bytes or number > self.newest:
                break
            self._next_to_pack = number + 1
            seen = self._entries[number - self.oldest].seen
            before = seen.room + seen.order.room
            seen.pack()
            if seen.order is not self._entries[-1].seen.order:
                seen.order.pack()
            self.size_bytes += seen.room + seen.order.room - before
        while self.size_bytes > self.limit_bytes and len(self._entries) > 1:
            self._drop(self._entries.popleft())

    def _drop(self, entry: Entry) -> None:
        seen = entry.seen
        self.size_bytes -= entry.room
        seen.shared_by -= 1
        if seen.shared_by:
            return
        self.size_bytes -= seen.room
        seen.order.used_by -= 1
        if not seen.order.used_by:
            self.size_bytes -= seen.order.room

    def _tell(self, entry: Entry, what: str) -> None:
        for follower in self.followers:
            follower(entry, what)


def _gang_of(profile: Profile, pod: Pod) -> str:
    if profile.gangs is None:
        return ""
    try:
        gang = profile.gangs.gang_of(pod)
    except Exception:
        return ""  # the attempt itself has failed by that, which is what is written down
    return "" if gang is None else gang.key


def _note_failure(entry: Entry, failure: Failure) -> None:
    entry.message = failure.message
    entry.plugins = tuple(sorted(failure.unschedulable_plugins | failure.pending_plugins))
    if not failure.is_rejection:
        entry.outcome = ERROR
        entry.plugins = (failure.status.plugin,) if failure.status.plugin else ()
    elif failure.nominated_node:
        entry.outcome, entry.node = NOMINATED, failure.nominated_node
    else:
        entry.outcome = UNSCHEDULABLE
