"""The scheduler: takes pods from the queue, finds nodes for them and has them bound."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Protocol

from moorage.api.pod_groups import group_key
from moorage.api.pods import Pod
from moorage.client import Client
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import GENERIC_WORKLOAD, FeatureGates
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Failure
from moorage.framework.door import Door
from moorage.framework.handle import NoRecorder, Recorder, Services
from moorage.framework.loading.registry import Registry
from moorage.framework.logger import Logger
from moorage.framework.observer import NoObserver, Observer
from moorage.framework.plugin_errors import IN_TREE, described
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.reserving import Permitted, nothing_to_reserve, permit, reserve, unreserve
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.framework.status import Status
from moorage.queue.observer import QueueObserver
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.binding_cycle import BindingCycle, PodToBind, activate_pods
from moorage.scheduler.cycle import Decision, NodeChooser, observe
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.failures import FailureHandler
from moorage.scheduler.gangs.cycle import GangCycle
from moorage.scheduler.garbage import seldom_collected
from moorage.scheduler.journal import Entry, Journal, NoJournal
from moorage.scheduler.known_failures import KnownFailures
from moorage.scheduler.pod_groups.cycle import PodGroupCycle
from moorage.scheduler.profiles import make_profiles
from moorage.state.cluster import AssumeError, ClusterState
from moorage.state.nominations import Nominations

log = Logger(__name__)

DEFAULT_MAX_IN_UNSCHEDULABLE = 300.0
_TRIED_AT_ONCE = 16
_SLICE = 0.005
_SHORT_SLICE = 0.001
_TOLD_BESIDE = 8
SECONDS_TO_STOP = 5.0

_NOTHING_TO_RESERVE = (("Reserve", "Success"), ("Permit", "Success"))


class Scheduler:
    """One process's scheduler with all its profiles.

    Put what the API server's watches bring into `door`, and `run` it. Binds and writes go to `client`.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        client: Client | None = None,
        door: Door | None = None,
        recorder_of: Callable[[str], Recorder] = lambda profile_name: NoRecorder(),
        may_bind: Callable[[], bool] = lambda: True,
        observer: SchedulerObserver | None = None,
        clock: Callable[[], float] = time.time,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
        legacy_annotation: str = "ignore",
        shortcuts: bool = True,
        journal: Journal | None = None,
        gates: FeatureGates | None = None,
    ) -> None:
        """Without `shortcuts` nothing is remembered from one pod to the next; decisions are the same."""
        self.journal: Journal = NoJournal() if journal is None else journal
        self.door = door or Door()
        self.services = Services(
            door=self.door,
            client=client,
            recorder_of=recorder_of,
            nominations=Nominations(self.door.is_pending),
            observer=observer or NoObserver(),
            activate=self._activate,
            clock=clock,
            find_pod=self.door.find,
            may_bind=may_bind,
            shortcuts=shortcuts,
            gates=gates or FeatureGates(),
        )
        self.state: ClusterState = self.services.state
        self.profiles: Mapping[str, Profile] = make_profiles(config, registry, self.services)
        self._known_failures = KnownFailures(self.services)
        self.queue = SchedulingQueue(
            self.profiles,
            clock=clock,
            nominations=self.services.nominations,
            initial_backoff=float(config.pod_initial_backoff_seconds),
            max_backoff=float(config.pod_max_backoff_seconds),
            max_in_unschedulable=max_in_unschedulable,
            observer=observer,
            outlook=self._known_failures,
        )
        self.door.follow(EventHandlers(self.services, self.profiles, self.queue, legacy_annotation))
        self.chooser = NodeChooser(config.percentage_of_nodes_to_score)
        self._known_to_fail: deque[tuple[Profile, QueuedPod, Failure, float]] = deque()
        """Pods that failed like others did, in whose queue records and conditions that is still to be put."""
        self._failures = FailureHandler(self.services, self.queue)
        self._binding = BindingCycle(self.services, self.queue, self._failures, self.journal)
        self._gangs = GangCycle(
            self.services,
            self.queue,
            self._failures,
            self.journal,
            self._binding,
            self._place_member,
            self.attempt,
        )
        self._pod_groups = self._make_pod_groups()
        self._was_known = False
        self.is_running = False
        self._at_once = False

    def _make_pod_groups(self) -> PodGroupCycle | None:
        if not self.services.gates.enabled(GENERIC_WORKLOAD):
            return None
        return PodGroupCycle(
            self.services,
            self.profiles,
            self.queue,
            self._failures,
            self.journal,
            self._binding,
            self._place_member,
        )

    async def run(self) -> None:
        """Schedules until `stop` is called; running binds are finished unless they take too long.

        Stopped at once, they are not waited for.
        """
        with seldom_collected():
            await self._run()

    async def _run(self) -> None:
        self.is_running = True
        self.services.writes.open()
        if any(profile.gangs is not None for profile in self.profiles.values()):
            # Another scheduler may have left gangs that it had begun to bind: these come first.
            self.queue.sort_again()
        timers = asyncio.create_task(self.queue.run_timers())
        try:
            while not self.queue.closed:
                if not self._known_to_fail:
                    await self.queue.ready()
                searches = await self._try_some()
                self._tell_some(searches * _TOLD_BESIDE or None)
                # Answers and watches get their turn.
                await asyncio.sleep(0)
        finally:
            timers.cancel()
            seconds = 0 if self._at_once else SECONDS_TO_STOP
            writes = asyncio.create_task(self.services.writes.close(seconds))
            await self._binding.end(seconds)
            await asyncio.gather(timers, writes, return_exceptions=True)
            await self.services.extenders.close()

    async def drain(self, progress: Callable[[int], None] | None = None) -> None:
        """Tries every pod that waits now once and lets binds and writes end; `progress` is told the tries."""
        self.services.writes.open()
        try:
            with seldom_collected():
                await self._drain(progress)
        finally:
            await self.services.writes.close(SECONDS_TO_STOP)
            await self.services.extenders.close()

    async def _drain(self, progress: Callable[[int], None] | None) -> None:
        tried = 0
        limit = self.queue.counts().active
        while True:
            while tried < limit and await self._in_its_turn(self.try_next):
                tried += 1
                if progress is not None:
                    progress(tried)
                if tried % _TRIED_AT_ONCE == 0:
                    await asyncio.sleep(0)
            if not self._binding.under_way:
                return
            await self._binding.one_ended()

    async def try_all(self, most: int) -> int:
        """Tries pods until none is left to try now, or so many were; how many tries that took.

        For runs in virtual time, whose clock stands still meanwhile. Binds may still be under way.
        """
        tried = 0
        while tried < most and await self._in_its_turn(self.try_next):
            tried += 1
            if tried % _TRIED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return tried

    @property
    def under_way(self) -> int:
        """How many pods have a node chosen and are not bound."""
        return self._binding.under_way

    def stop(self, *, at_once: bool = False) -> None:
        self._at_once |= at_once
        self.queue.close()
        self.services.suspension.stop()

    def close(self) -> None:
        for profile in self.profiles.values():
            profile.close()

    @property
    def is_busy(self) -> bool:
        """Whether so many pods are being bound that what is not urgent had better wait."""
        return self._binding.is_busy

    def try_next(self) -> bool:
        """Takes the next pod from the queue and tries to schedule it; False if there is none."""
        if not self._pop_and_attempt():
            return False
        while self._known_to_fail:
            self._tell_some()
        return True

    def _pop_and_attempt(self) -> bool:
        self._was_known = False
        queued = self.queue.pop()
        if queued is None:
            return False
        self.attempt(queued)
        return True

    async def _try_some(self) -> int:
        """Tries pods for a short while; how many of them needed a search.

        How others fail is known, which takes no time to speak of: if there are only such, it may be longer.
        """
        started, searches = time.perf_counter(), 0
        while await self._in_its_turn(self._pop_and_attempt):
            searches += not self._was_known
            if time.perf_counter() - started > (_SHORT_SLICE if searches else _SLICE):
                return searches or 1
        return searches

    def _tell_some(self, most: int | None = None) -> None:
        """Does what follows from known failures: so many, or as many as there is time for."""
        end = time.perf_counter() + _SLICE
        for told in count(1):
            if not self._known_to_fail:
                return
            self._failures.handle(*self._known_to_fail.popleft())
            if told == most or (most is None and time.perf_counter() > end):
                return

    async def _in_its_turn(self, attempt: Callable[[], bool]) -> bool:
        """Makes an attempt; one that asks extenders is suspended while they think."""
        if not self.services.extenders:
            return attempt()
        return bool(await self.services.suspension.run(attempt))

    def attempt(self, queued: QueuedPod) -> None:
        """Decides for a pod that was taken from the queue and acts on the decision."""
        pod = queued.pod
        profile = self.profiles.get(pod.spec.scheduler_name)
        tells = log.enabled(3)
        if tells:
            log.info(4, "About to try and schedule pod", pod=pod)
        if profile is None or self._skip(profile, pod):
            self.queue.done(pod.uid)
            return
        if tells:
            log.info(3, "Attempting to schedule pod", pod=pod)
        try:
            if self._pod_groups is not None and (group := group_key(pod)):
                self._pod_groups.attempt(profile, queued, group, self.chooser)
                return
            gang = None if profile.gangs is None else self._gangs.gang_to_try(profile, pod)
            if gang is None:
                self._attempt(profile, queued, pod)
            else:
                self._gangs.attempt(profile, queued, gang, self.chooser)
        except Exception as error:
            # Nothing a single pod brings along may stop the others.
            self._failures.handle(profile, queued, self._broken(profile, queued, error))

    def _broken(self, profile: Profile, queued: QueuedPod, error: Exception) -> Failure:
        pod = queued.pod
        log.error(described(error, IN_TREE), "Scheduling the pod failed", pod=pod)
        failure = diagnosis.attempt_failed(diagnosis.unexpected(error))
        placement = self.state.placement(pod.uid)
        if placement is not None and placement.assumed:
            self.state.forget(placement.info.pod)
        self.journal.failed(profile, queued, failure)
        return failure

    def _activate(self, pods: Iterable[Pod]) -> None:
        # Plugins have this before there is a queue, which in turn is made of their profiles.
        self.queue.activate(pods)

    def _skip(self, profile: Profile, pod: Pod) -> bool:
        if pod.deleting:
            diagnosis.tell(profile.recorder, pod, diagnosis.deleting(pod))
            return True
        return self.state.is_assumed(pod.uid)

    def _attempt(self, profile: Profile, queued: QueuedPod, pod: Pod) -> None:
        started = time.perf_counter()
        known = self._known_failures.find(pod)
        if known is not None:
            seconds = time.perf_counter() - started
            self.services.observer.algorithm(seconds)
            self.journal.decided_alike(profile, queued, known.entry, seconds)
            self.chooser.skip(profile, known.looked_at)
            # What follows takes longer than all of this: the next pod may fit, and should not wait for it.
            self._known_to_fail.append((profile, queued, known.failure, started))
            self._was_known = True
            return
        placed = self._place_alone(profile, queued, started)
        if isinstance(placed, Failure):
            self._failures.handle_when_free(profile, queued, placed, started)
            return
        activate_pods(self.queue, placed.cycle)
        self._binding.start(placed)

    def _place_alone(self, profile: Profile, queued: QueuedPod, started: float) -> PodToBind | Failure:
        """Where the rest of its gang is, if that would rather stay together; otherwise wherever it fits.

        Nobody makes room for a pod that will be turned away for want of its gang.
        """
        if profile.gangs is not None and profile.gangs.missing_gang(queued.pod):
            with self.chooser.for_gang(None):
                return self._place(profile, queued, started)
        near = None if profile.gangs is None else self._gangs.rather_on(profile, queued.pod)
        if near is not None:
            with self.chooser.for_gang(near):
                placed = self._place(profile, queued, started)
            if not isinstance(placed, Failure) or not placed.is_rejection:
                return placed
        return self._place(profile, queued, started)

    def _place(self, profile: Profile, queued: QueuedPod, started: float) -> PodToBind | Failure:
        """Keeps a node for a pod, if there is one: assumed, reserved, permitted. Nothing is written."""
        pod = queued.pod
        decision = self.chooser.decide(profile, pod)
        seconds = time.perf_counter() - started
        self.services.observer.algorithm(seconds)
        decision.entry = self._written_down(profile, queued, decision, seconds)
        if decision.failure is not None:
            if not self.chooser.is_for_gang:  # of whose members more is asked
                self._known_failures.note(profile, pod, decision)
            return decision.failure
        if log.enabled(10):
            log_scores(profile, pod, decision)
        cycle, node_name = decision.cycle, decision.node_name
        try:
            assumed = self.state.assume(pod, node_name)
        except AssumeError as error:
            refused = Status.error(str(error))
            self.journal.refused(decision.entry, refused)
            return diagnosis.attempt_failed(refused)
        self.services.nominations.remove(pod.uid)
        waiting: WaitingPod | None = None
        if nothing_to_reserve(profile, cycle, assumed):
            self.services.observer.points_passed(profile.name, _NOTHING_TO_RESERVE)
        else:
            status, waiting = _reserve_and_permit(profile, cycle, assumed, node_name)
            if status is not None:
                unreserve(profile, cycle, assumed, node_name)
                self.state.forget(assumed)
                self.journal.refused(decision.entry, status)
                return diagnosis.chosen_node_failed(status)
        return PodToBind(profile, queued, cycle, assumed, node_name, waiting, decision, started)

    def _place_member(self, profile: Profile, queued: QueuedPod, started: float) -> PodToBind | Failure:
        """The same for a member of a gang: what breaks is why it has no node, and the others learn of it."""
        try:
            return self._place(profile, queued, started)
        except Exception as error:
            return self._broken(profile, queued, error)

    def _written_down(self, profile: Profile, queued: QueuedPod, decision: Decision, seconds: float) -> Entry:
        """What the journal knows a decision by; None if it failed, which no pod has to pay for."""
        try:
            return self.journal.decided(profile, queued, decision, seconds)
        except Exception as error:
            log.error(described(error, IN_TREE), "Writing a decision down failed", pod=queued.pod)
            return None


class SchedulerObserver(Observer, QueueObserver, Protocol):
    """Told of everything that is counted: by the queue and by the cycles."""


def _reserve_and_permit(profile: Profile, cycle: CycleState, pod: Pod, node_name: str) -> Permitted:
    began = time.perf_counter()
    status = reserve(profile, cycle, pod, node_name)
    observe(profile, "Reserve", status, began)
    if status is not None:
        return Permitted(status)
    began = time.perf_counter()
    permitted = permit(profile, cycle, pod, node_name)
    observe(profile, "Permit", permitted.status, began)
    return permitted


def log_scores(profile: Profile, pod: Pod, decision: Decision) -> None:
    """What every plugin gave every node, weighted, and the sums."""
    scores, nodes = decision.scores, decision.feasible
    if scores is None or nodes is None:
        return
    weights = {plugin.name: weight for plugin, weight, _ in profile.score}
    for place, name in enumerate(nodes.names):
        for plugin, values in scores.by_plugin.items():
            weighted = int(values[place]) * weights[plugin]
            log.info(10, "Plugin scored node for pod", pod=pod, plugin=plugin, node=name, score=weighted)
        for extender, added in scores.by_extender.items():
            log.info(
                10,
                "Extender scored node for pod",
                pod=pod,
                extender=extender,
                node=name,
                score=int(added[place]),
            )
        total = int(scores.totals[place])
        log.info(10, "Calculated node's final score for pod", pod=pod, node=name, score=total)
