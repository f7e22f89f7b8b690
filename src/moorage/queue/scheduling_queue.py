"""The queue of pods that wait to be scheduled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from moorage.api.pods import Pod
from moorage.framework.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.queue.backoff import Backoff, Outlook
from moorage.queue.change_events import UNSCHEDULABLE_POD_ADD, UNSCHEDULABLE_POD_UPDATE, pod_events
from moorage.queue.hints import Interests, Requeue
from moorage.queue.in_flight import InFlightPods
from moorage.queue.observer import NoQueueObserver, QueueObserver
from moorage.queue.piecemeal import Piecemeal
from moorage.queue.since_pop import SincePop
from moorage.queue.sub_queues import PendingCounts, PendingPods, SubQueues
from moorage.queue.timers import FLUSH_UNSCHEDULABLE_EVERY, run_every, run_every_second
from moorage.queue.unschedulable import Group
from moorage.state.nominations import Nominations

log = logging.getLogger(__name__)

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"


class SchedulingQueue:
    """Pods of all profiles that wait to be scheduled.

    A pod is in one of four places: in the active queue, to be tried next; in the backoff queue after a failed
    attempt; among the unschedulable pods until an event says that it may fit now, gated pods included; or in
    flight, between `pop` and `done` or `requeue`.

    One event loop owns the queue: nothing here blocks, and nothing may be called from another thread.
    Plugins called from here (PreEnqueue, QueueSort, hints) must not call back.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        *,
        clock: Callable[[], float],
        nominations: Nominations,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        max_in_unschedulable: float = 300.0,
        observer: QueueObserver | None = None,
        outlook: Outlook | None = None,
    ) -> None:
        self.cycle_number = 0
        self.closed = False
        self._profiles = profiles
        self._clock = clock
        self._nominations = nominations
        self._max_in_unschedulable = max_in_unschedulable
        self._interests = Interests(profiles)
        self._in_flight = InFlightPods()
        self._since_pop = SincePop(self._in_flight, self._interests)
        backoff = Backoff(initial_backoff, max_backoff)
        self._moves = Piecemeal()
        self._sub_queues = SubQueues(
            profiles,
            backoff,
            clock,
            observer or NoQueueObserver(),
            self._interests.group,
            self._moves.finish,
            outlook,
        )

    # What the watch brings

    def add(self, pod: Pod) -> None:
        """A pod that waits to be scheduled appeared."""
        self._add(pod, UNSCHEDULABLE_POD_ADD.label)

    def update(self, old: Pod | None, new: Pod, *, assumed: bool = False) -> None:
        """A pod without a node changed; `assumed` says that one was chosen and binding is under way."""
        if assumed or (old is not None and _same_version(old, new)):
            return
        if new.uid in self._in_flight:
            for event in _own_events(old, new):
                self._in_flight.record(event, old, new)
            return
        queued = self.get(new)
        if queued is None:
            self._add(new, UNSCHEDULABLE_POD_UPDATE.label)
        elif queued.pod.uid != new.uid:
            # The watch missed a deletion: this is another pod of the same name.
            self.delete(queued.pod)
            self._add(new, UNSCHEDULABLE_POD_UPDATE.label)
        else:
            self._update(queued, old or queued.pod, new)

    def delete(self, pod: Pod) -> None:
        """A pod is gone or got a node by other means. One in flight stays so until its attempt has ended."""
        self._nominations.remove(pod.uid)
        self._sub_queues.discard(pod.key)

    def move_all(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        *,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Something happened in the cluster: pods that it may help are tried again.

        `pre_check` narrows this to the pods for which it is true.
        """
        # Pods that are backing off may be worth an early attempt now.
        self._sub_queues.arrival.set()
        waiting = self._sub_queues.unschedulable
        if not (len(waiting) or len(self._in_flight)) or not self._interests.wanted(event):
            return
        groups = waiting.groups() if event.wildcard else waiting.rejected_by(self._interests.plugins(event))
        if groups:
            self._moves.do(self._move(groups, waiting.entries, event, old, new, pre_check))
        self._in_flight.record(event, old, new)

    # What the scheduling loop and plugins do

    def pop(self) -> QueuedPod | None:
        """The pod to try next, or None if there is nothing to try now. It is in flight from here on."""
        while not self.closed and (queued := self._sub_queues.pop()) is not None:
            if self._begin_flight(queued):
                return queued
        return None

    def take(self, pod: Pod) -> QueuedPod | None:
        """A pod that is to be tried together with one that was popped, wherever it waits; None if gated."""
        queued = self._sub_queues.take(pod.key)
        return queued if queued is not None and self._begin_flight(queued) else None

    def _begin_flight(self, queued: QueuedPod) -> bool:
        if queued.pod.uid in self._in_flight:
            log.error("pod %s is in flight already, its second entry is dropped", queued.pod.key)
            return False
        # Nothing of the last attempt may be taken for a result of this one.
        queued.unschedulable_plugins, queued.pending_plugins = set(), set()
        queued.attempts += 1
        self.cycle_number += 1
        self._in_flight.start(queued.pod.uid)
        return True

    async def ready(self) -> None:
        """Returns when `pop` has a pod to give or the queue is closed; at once if that is so already."""
        arrival = self._sub_queues.arrival
        while not (self.closed or self._sub_queues.may_pop):
            arrival.clear()
            await arrival.wait()

    def done(self, uid: str) -> None:
        """The pod is no longer in flight."""
        self._in_flight.finish(uid)

    def requeue(self, queued: QueuedPod) -> None:
        """Takes back a pod whose attempt failed; ends its flight.

        The record carries the newest version of the pod and the plugins that rejected it in this attempt, or
        none if something went wrong.
        """
        if self.get(queued.pod) is not None:
            log.error("pod %s is in the queue already, its failed attempt is not requeued", queued.pod.key)
        else:
            self._requeue(queued)
        self.done(queued.pod.uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Has pods tried again without waiting for an event or the end of their backoff."""
        for pod in pods:
            if not self._sub_queues.activate(pod.key, FORCE_ACTIVATE.label) and pod.uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)

    def sort_again(self) -> None:
        """Asks anew for the places of all pods that are to be tried next, as the cluster may have changed."""
        for queued in list(self._sub_queues.active):
            self._sub_queues.active.reorder(queued)

    def close(self) -> None:
        """Ends the wait in `ready`; from now on nothing is popped."""
        self.closed = True
        self._sub_queues.arrival.set()

    def be_patient(self) -> None:
        """Has pods wait until their backoff is over, even if there is nothing else to do; for tests."""
        self._sub_queues.backoff.is_patient = True

    def act_at_once(self) -> None:
        """Has what follows from an event done when it happens, however long it takes: for virtual time."""
        self._moves.is_whole = True

    # What time brings

    def next_backoff_end(self) -> float | None:
        """When `flush_backoff` has something to do, unless anything happens before."""
        return self._sub_queues.next_backoff_end()

    def next_overdue(self) -> float | None:
        """After which time `flush_unschedulable` has something to do, unless anything happens before."""
        since = [max(queued.timestamp, queued.flush_time or 0.0) for queued in self._sub_queues.unschedulable]
        return min(since) + self._max_in_unschedulable if since else None

    def flush_backoff(self) -> None:
        """Makes pods active whose backoff is over."""
        self._moves.do(self._sub_queues.flush_backoff())

    def flush_unschedulable(self) -> None:
        """Tries pods again that have waited for an event for too long."""
        now = self._clock()
        overdue = [
            queued
            for queued in self._sub_queues.unschedulable
            if now - max(queued.timestamp, queued.flush_time or 0.0) > self._max_in_unschedulable
        ]
        for queued in overdue:
            queued.flushed = True
            queued.flush_time = now
        if overdue:
            since = self._sub_queues.unschedulable.entries
            self._moves.do(self._move_each(overdue, since, UNSCHEDULABLE_TIMEOUT, Requeue.AFTER_BACKOFF))
            self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)

    async def run_timers(self) -> None:
        """Runs both flushes when they are due, until cancelled."""
        async with asyncio.TaskGroup() as timers:
            timers.create_task(run_every_second(self.flush_backoff, self._clock))
            timers.create_task(run_every(FLUSH_UNSCHEDULABLE_EVERY, self.flush_unschedulable))

    # Looking in

    def get(self, pod: Pod) -> QueuedPod | None:
        """The record of the pod with this namespace and name, unless it is in flight."""
        return self._sub_queues.get(pod.key)

    def place_of(self, queued: QueuedPod) -> str:
        """Where a pod waits: `active`, `backoff`, `unschedulable` or `gated`; empty if it does not."""
        return self._sub_queues.place_of(queued)

    def pending(self) -> PendingPods:
        return self._sub_queues.pending()

    def counts(self) -> PendingCounts:
        return self._sub_queues.counts()

    def in_flight_counts(self) -> dict[str, int]:
        """How many pods are in flight, as `PodPopped`, and how many events are kept for them, by label."""
        return self._in_flight.counts()

    def wants(self, event: ClusterEvent) -> bool:
        """Whether an event can matter to any pod at all."""
        return self._interests.wanted(event)

    def describe(self) -> str:
        active, backoff, unschedulable, gated = self.counts()
        return f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable + gated}"

    # The rules behind these

    def _add(self, pod: Pod, label: str) -> None:
        if pod.spec.scheduler_name not in self._profiles:
            log.error("pod %s is for scheduler %r, which has no profile", pod.key, pod.spec.scheduler_name)
            return
        self._sub_queues.discard(pod.key)
        self._sub_queues.route(QueuedPod(pod, self._clock()), Requeue.IMMEDIATELY, label)
        self._nominations.add(pod)

    def _update(self, queued: QueuedPod, old: Pod, new: Pod) -> None:
        parts = self._sub_queues
        queued.pod = new
        self._nominations.update(old, new)
        if parts.active.get(new.key) is not None:
            parts.active.reorder(queued)
        elif parts.backoff.get(new.key) is not None:
            parts.backoff.reorder(queued)
        else:
            for event in _own_events(old, new):
                verdict = self._interests.worth_requeueing(queued, event, old, new)
                parts.route(queued, verdict, event.label)
                if new.key not in parts.unschedulable:
                    break

    def _requeue(self, queued: QueuedPod) -> None:
        if queued.rejecting_plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = self._clock()
        queued.backoff_expiry = None
        queued.flushed = False
        queued.flush_time = None
        self._sub_queues.take_back(
            queued, self._verdict_of_events_in_flight(queued), SCHEDULE_ATTEMPT_FAILURE
        )

    def _verdict_of_events_in_flight(self, queued: QueuedPod) -> Requeue:
        uid = queued.pod.uid
        if not queued.rejecting_plugins or queued.is_of_group:
            # What helps a group as a whole, events of single plugins do not tell.
            return Requeue.AFTER_BACKOFF
        if uid not in self._in_flight:
            log.error("pod %s was not in flight, what happened meanwhile is unknown", queued.pod.key)
            return Requeue.AFTER_BACKOFF
        return self._since_pop.verdict(queued)

    def _move(
        self,
        groups: list[Group],
        since: int,
        event: ClusterEvent,
        old: Any,
        new: Any,
        pre_check: Callable[[Pod], bool] | None,
    ) -> Iterator[None]:
        """Moves the pods for which an event is worth an attempt, of those that were there when it happened.

        It is judged once for each group; a pod that the event itself is about is a case of its own.
        """
        waiting, carried = self._sub_queues.unschedulable, old if new is None else new
        about = carried.key if isinstance(carried, Pod) else ""

        for group in groups:
            pods = group.pods
            if pre_check is not None:
                pods = {key: each for key, each in pods.items() if pre_check(each.pod)}
            others = (key for key in pods if key != about and waiting.was_there(key, since))
            for sample in (next(others, None), about):
                if sample not in pods or not waiting.was_there(sample, since):
                    continue
                verdict = self._judge(pods[sample], event, old, new)
                yield
                if verdict is not Requeue.SKIP:
                    moving = [each for key, each in pods.items() if (key == about) == (sample == about)]
                    yield from self._move_each(moving, since, event, verdict)

    def _judge(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Requeue:
        if queued.gated and not event.wildcard and not _gate_may_open(queued, event):
            return Requeue.SKIP
        return self._interests.worth_requeueing(queued, event, old, new)

    def _move_each(
        self, pods: list[QueuedPod], since: int, event: ClusterEvent, verdict: Requeue
    ) -> Iterator[None]:
        waiting, label = self._sub_queues.unschedulable, event.label
        for queued in pods:
            key = queued.pod.key
            if waiting.get(key) is queued and waiting.was_there(key, since):
                waiting.remove(key)
                self._sub_queues.route(queued, verdict, label)
                yield


def _same_version(old: Pod, new: Pod) -> bool:
    version = new.metadata.resource_version
    return version != "" and version == old.metadata.resource_version


def _own_events(old: Pod | None, new: Pod) -> list[ClusterEvent]:
    return [UNSCHEDULABLE_POD_UPDATE] if old is None else pod_events(old, new, UNSCHEDULABLE_POD)


def _gate_may_open(queued: QueuedPod, event: ClusterEvent) -> bool:
    return any(registered.covers(event) for registered in queued.gating_events)
