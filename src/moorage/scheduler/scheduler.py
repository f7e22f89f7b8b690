"""The scheduler: takes pods from the queue, finds nodes for them and has them bound."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping

from moorage.api.pods import Pod
from moorage.client import Client
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import NoRecorder, Recorder, Services
from moorage.framework.messages import nodes_available
from moorage.framework.profile import Profile
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.registry import Registry
from moorage.framework.reserving import permit, reserve, unreserve
from moorage.framework.status import Code, Status
from moorage.framework.waiting_pods import WaitingPod
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.binding_cycle import Binding, BindingCycle, activate_pods
from moorage.scheduler.cycle import Failure, Scheduling
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.failures import FailureHandler
from moorage.scheduler.profiles import make_profiles
from moorage.state.cluster import AssumeError, ClusterState

log = logging.getLogger(__name__)

DEFAULT_MAX_IN_UNSCHEDULABLE = 300.0
_TASKS_AT_ONCE = 16
SECONDS_TO_STOP = 5.0


class Scheduler:
    """One process's scheduler with all its profiles.

    Feed `handlers` with what the API server's watches bring, and `run` it.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        recorder: Recorder | None = None,
        clock: Callable[[], float] = time.time,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
    ) -> None:
        self.services = Services(recorder=recorder or NoRecorder(), clock=clock)
        self.profiles: Mapping[str, Profile] = make_profiles(config, registry, self.services)
        self.queue = SchedulingQueue(
            self.profiles,
            clock=clock,
            nominations=self.services.nominations,
            initial_backoff=float(config.pod_initial_backoff_seconds),
            max_backoff=float(config.pod_max_backoff_seconds),
            max_in_unschedulable=max_in_unschedulable,
        )
        self.handlers = EventHandlers(self.services, self.profiles, self.queue)
        self.services.activate = self.queue.activate
        self.services.find_pod = self.handlers.find
        self.services.nominations.set_pending(self.handlers.is_pending)
        self.scheduling = Scheduling(config.percentage_of_nodes_to_score)
        self._failures = FailureHandler(self.services, self.queue, self.handlers)
        self._binding = BindingCycle(self.services, self.queue, self._failures)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> ClusterState:
        return self.services.state

    def connect(self, client: Client) -> None:
        """Sets the API server that binds and writes go to."""
        self.services.client = client

    async def run(self) -> None:
        """Schedules until `stop` is called; running binds are finished unless they take too long."""
        timers = asyncio.create_task(self.queue.run_timers())
        try:
            while not self.queue.closed:
                await self.queue.ready()
                if self.schedule_one():
                    # Binding tasks and watches get their turn after every pod.
                    await asyncio.sleep(0)
        finally:
            timers.cancel()
            if self._tasks:
                _, late = await asyncio.wait(self._tasks, timeout=SECONDS_TO_STOP)
                for task in late:
                    task.cancel()
            await asyncio.gather(timers, *self._tasks, return_exceptions=True)

    async def drain(self, progress: Callable[[int], None] | None = None) -> None:
        """Tries every pod that waits now once and lets all binds end; `progress` is told the tries so far."""
        tried = 0
        limit = self.queue.counts().active
        while True:
            while tried < limit and self.schedule_one():
                tried += 1
                if progress is not None:
                    progress(tried)
                if len(self._tasks) >= _TASKS_AT_ONCE:
                    await asyncio.sleep(0)
            if not self._tasks:
                return
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def stop(self) -> None:
        self.queue.close()

    def close(self) -> None:
        for profile in self.profiles.values():
            profile.close()

    def schedule_one(self) -> bool:
        """Takes one pod from the queue and decides for it; False if there is none."""
        queued = self.queue.pop()
        if queued is None:
            return False
        self.schedule(queued)
        return True

    def schedule(self, queued: QueuedPod) -> None:
        """Decides for a pod that was taken from the queue and acts on the decision."""
        pod = queued.pod
        profile = self.profiles.get(pod.spec.scheduler_name)
        if profile is None or self._skip(pod):
            self.queue.done(pod.uid)
            return
        try:
            self._schedule(profile, queued, pod)
        except Exception as error:
            # Nothing a single pod brings along may stop the others.
            log.exception("scheduling pod %s failed", pod.key)
            status = Status.error(f"{type(error).__name__}: {error}")
            placement = self.state.placement(pod.uid)
            if placement is not None and placement.assumed:
                self.state.forget(placement.info.pod)
            self._failures.handle(profile, queued, Failure(status, status.message))

    def _skip(self, pod: Pod) -> bool:
        if pod.deleting:
            note = f"skip schedule deleting pod: {pod.key}"
            self.services.recorder.event(pod, None, "Warning", "FailedScheduling", "Scheduling", note)
            return True
        return self.state.is_assumed(pod.uid)

    def _schedule(self, profile: Profile, queued: QueuedPod, pod: Pod) -> None:
        started = self.services.clock()
        decision = self.scheduling.decide(profile, pod)
        if decision.failure is not None:
            self._failures.handle(profile, queued, decision.failure)
            return
        cycle, node_name = decision.cycle, decision.node_name
        try:
            assumed = self.state.assume(pod, node_name)
        except AssumeError as error:
            self._failures.handle(profile, queued, Failure(Status.error(str(error)), str(error)))
            return
        self.services.nominations.remove(pod.uid)
        status = reserve(profile, cycle, assumed, node_name)
        waiting: WaitingPod | None = None
        if status is None:
            status, waiting = permit(profile, cycle, assumed, node_name)
        if status is not None:
            self._take_back(profile, queued, cycle, assumed, status)
            return
        activate_pods(self.queue, cycle)
        binding = Binding(profile, queued, cycle, assumed, node_name, waiting, decision, started)
        task = self._binding.start(binding)
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take_back(
        self, profile: Profile, queued: QueuedPod, cycle: CycleState, assumed: Pod, status: Status
    ) -> None:
        """Reserve or Permit said no: everything as before, and the pod back to the queue."""
        unreserve(profile, cycle, assumed, assumed.spec.node_name)
        self.state.forget(assumed)
        self._failures.handle(profile, queued, one_node_failure(status))


def one_node_failure(status: Status) -> Failure:
    """The failure after a node was chosen: a rejection reads as if the cluster had that one node."""
    if not status.rejected:
        return Failure(status, status.message)
    message = nodes_available(1, Counter(status.reasons))
    plugins = {status.plugin} if status.plugin else set()
    pending = plugins if status.code is Code.PENDING else set[str]()
    return Failure(Status(status.code, message), message, "", plugins, pending)
