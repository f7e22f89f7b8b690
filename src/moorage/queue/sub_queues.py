"""The queues in which pods wait, and how pods get from one to another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import NamedTuple

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.queue.backoff import Backoff, BackoffQueue, Outlook
from moorage.queue.gating import first_objection
from moorage.queue.heap import PodHeap
from moorage.queue.hints import Requeue
from moorage.queue.observer import QueueObserver
from moorage.queue.ordering import QueueOrder
from moorage.queue.unschedulable import UnschedulablePods

BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"


class PendingPods(NamedTuple):
    """The pods in the queue, in no particular order; those in flight are not among them."""

    active: list[QueuedPod]
    backoff: list[QueuedPod]
    unschedulable: list[QueuedPod]
    gated: list[QueuedPod]


class PendingCounts(NamedTuple):
    active: int
    backoff: int
    unschedulable: int
    gated: int


class SubQueues:
    """The active queue, the backoff queue and the unschedulable pods; a pod is in one of them at most.

    `arrival` is set whenever there may be something new to pop.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        backoff: Backoff,
        clock: Callable[[], float],
        observer: QueueObserver,
        group_of: Callable[[QueuedPod], Hashable],
        before_regrouping: Callable[[], None],
        outlook: Outlook | None = None,
    ) -> None:
        self._profiles = profiles
        self._clock = clock
        self._observer = observer
        order = QueueOrder(next(iter(profiles.values())))
        self.active = PodHeap(order.of)
        self._backoff = backoff
        self.backoff = BackoffQueue(backoff, order, outlook)
        self._hung: dict[str, QueuedPod] = {}
        """Pods that are not let in because PreEnqueue did not return; it is asked again after a while."""
        self.unschedulable = UnschedulablePods(group_of, before_regrouping)
        self.arrival = asyncio.Event()

    def get(self, key: str) -> QueuedPod | None:
        return self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key)

    def discard(self, key: str) -> None:
        """Takes a pod out for good, if it is here."""
        queued = self.active.remove(key) or self.backoff.remove(key) or self.unschedulable.remove(key)
        if queued is not None:
            self._count_rejections(queued, -1)

    @property
    def may_pop(self) -> bool:
        return len(self.active) > 0 or self.backoff.may_pop_early

    def pop(self) -> QueuedPod | None:
        """The first active pod; without one, the first that plugins rejected, although it is backing off."""
        queued = self.active.pop()
        if queued is None:
            queued = self.backoff.pop_early()
            if queued is None:
                return None
            self._observer.incoming("active", POP_FROM_BACKOFF)
        self._count_rejections(queued, -1)
        return queued

    def take(self, key: str) -> QueuedPod | None:
        """Takes a pod out to be tried, wherever it waits; None if it is not here or PreEnqueue objects."""
        queued = self.active.remove(key) or self.backoff.remove(key)
        if queued is None:
            queued = self.unschedulable.get(key)
            if queued is None or (queued.gated and not self._passes_pre_enqueue(queued)):
                return None
            self.unschedulable.remove(key)
        if queued.first_attempt_time is None:
            queued.first_attempt_time = self._clock()
        self._count_rejections(queued, -1)
        return queued

    def take_back(self, queued: QueuedPod, verdict: Requeue, label: str) -> None:
        """Takes in a pod that was popped before."""
        self._count_rejections(queued, 1)
        self.route(queued, verdict, label)

    def route(self, queued: QueuedPod, verdict: Requeue, label: str) -> None:
        """Puts a pod where it belongs now; it may be among the unschedulable pods, or nowhere yet."""
        if verdict is Requeue.SKIP or not self._passes_pre_enqueue(queued):
            self._enter_unschedulable(queued, label)
            return
        self.unschedulable.remove(queued.pod.key)
        if verdict is Requeue.AFTER_BACKOFF and self.backoff.is_on(queued, self._clock()):
            self._enter_backoff(queued, label)
        else:
            self._enter_active(queued, label)

    def activate(self, key: str, label: str) -> bool:
        """Makes a pod active unless PreEnqueue objects; whether it was here and inactive."""
        if (queued := self.backoff.remove(key)) is not None:
            self._enter_active(queued, label)
        elif (queued := self.unschedulable.get(key)) is not None:
            self.route(queued, Requeue.IMMEDIATELY, label)
        return queued is not None

    def flush_backoff(self) -> Iterator[None]:
        """Makes pods active whose backoff is over, step by step. They passed PreEnqueue when it began."""
        for queued in self.backoff.pop_completed(self._clock()):
            self._enter_active(queued, BACKOFF_COMPLETE)
            yield
        for key, queued in list(self._hung.items()):
            if self.unschedulable.get(key) is not queued:
                del self._hung[key]
            elif not self.backoff.is_on(queued, self._clock()):
                self.route(queued, Requeue.IMMEDIATELY, BACKOFF_COMPLETE)
                yield

    def next_backoff_end(self) -> float | None:
        """When the next pod has backed off for long enough; None if none does."""
        ends = [self._backoff.expiry(queued) for queued in self._hung.values()]
        first = self.backoff.next_expiry()
        if first is not None:
            ends.append(first)
        return min(ends) + 1 if ends else None

    def place_of(self, queued: QueuedPod) -> str:
        """The name of the queue that a pod is in, as `PendingPods` has it; empty if it is in none."""
        key = queued.pod.key
        if self.active.get(key) is queued:
            return "active"
        if self.backoff.get(key) is queued:
            return "backoff"
        if self.unschedulable.get(key) is queued:
            return "gated" if queued.gated else "unschedulable"
        return ""

    def pending(self) -> PendingPods:
        return PendingPods(
            list(self.active),
            list(self.backoff),
            [queued for queued in self.unschedulable if not queued.gated],
            [queued for queued in self.unschedulable if queued.gated],
        )

    def counts(self) -> PendingCounts:
        gated = sum(queued.gated for queued in self.unschedulable)
        return PendingCounts(len(self.active), len(self.backoff), len(self.unschedulable) - gated, gated)

    def _enter_active(self, queued: QueuedPod, label: str) -> None:
        if queued.first_attempt_time is None:
            queued.first_attempt_time = self._clock()
        if label is not BACKOFF_COMPLETE:
            queued.woken_by = label
        self.active.push(queued)
        self._observer.incoming("active", label)
        self.arrival.set()

    def _enter_backoff(self, queued: QueuedPod, label: str) -> None:
        queued.woken_by = label
        self.backoff.push(queued)
        self._observer.incoming("backoff", label)
        self.arrival.set()

    def _enter_unschedulable(self, queued: QueuedPod, label: str) -> None:
        if queued.pod.key not in self.unschedulable:
            self._observer.incoming("unschedulable", label)
        self.unschedulable.put(queued)

    def _passes_pre_enqueue(self, queued: QueuedPod) -> bool:
        """Asks the PreEnqueue plugins and notes on the record which of them gates the pod, if one does."""
        profile = self._profiles[queued.pod.spec.scheduler_name]
        objection = None
        if profile.pre_enqueue:
            key = queued.pod.key
            if key in self._hung and self.backoff.is_on(queued, self._clock()):
                return False
            self._hung.pop(key, None)
            started = time.perf_counter()
            objection = first_objection(profile, queued.pod)
            self._observer.pre_enqueue(profile.name, time.perf_counter() - started)
            if objection is not None and profile.running.interrupted >= started:
                self._backoff.begin_after_hang(queued, self._clock())
                self._hung[key] = queued
        if objection is None:
            queued.gating_plugin, queued.gating_events = "", ()
            return True
        plugin = objection.plugin
        if plugin not in queued.rejecting_plugins:
            self._observer.unschedulable(plugin, profile.name, 1)
        queued.unschedulable_plugins = queued.unschedulable_plugins | {plugin}
        queued.gating_plugin, queued.gating_reason = plugin, objection.message
        queued.gating_events = tuple(
            registration.event for registration in profile.registrations if registration.plugin == plugin
        )
        queued.flushed = False
        return False

    def _count_rejections(self, queued: QueuedPod, change: int) -> None:
        if not (queued.unschedulable_plugins or queued.pending_plugins):
            return
        for plugin in queued.rejecting_plugins:
            self._observer.unschedulable(plugin, queued.pod.spec.scheduler_name, change)
