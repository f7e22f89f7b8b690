"""The binding cycle of one pod: from the chosen node to the bound pod, or back to the queue."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import PODS_TO_ACTIVATE, CycleState
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.plugin_errors import IN_TREE, described
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.binding import bind, post_bind, pre_bind, pre_bind_pre_flight
from moorage.framework.runtime.calls import settled
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.reserving import unreserve, wait_on_permit
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.framework.status import Code, Status
from moorage.queue.change_events import ASSIGNED_POD_DELETE
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.cycle import Decision, observe
from moorage.scheduler.failures import FailureHandler

log = Logger(__name__)

BINDS_AT_ONCE = 128
"""Fewer than an API server takes on at a time; more would only wait there."""


@dataclass
class PodToBind:
    """A pod on its way to a node."""

    profile: Profile
    queued: QueuedPod
    cycle: CycleState
    assumed: Pod
    node_name: str
    waiting: WaitingPod | None
    decision: Decision
    started: float


class BindingCycle:
    def __init__(self, services: Services, queue: SchedulingQueue, failures: FailureHandler) -> None:
        self._services = services
        self._queue = queue
        self._failures = failures
        self._binds = asyncio.Semaphore(BINDS_AT_ONCE)

    def start(self, binding: PodToBind) -> asyncio.Task[None]:
        """Runs the binding cycle beside everything else, in the task that is returned."""
        return asyncio.get_running_loop().create_task(self.run(binding))

    async def run(self, binding: PodToBind) -> None:
        observer = self._services.observer
        observer.binding_started()
        try:
            await self._run(binding)
        finally:
            observer.binding_ended()

    async def _run(self, binding: PodToBind) -> None:
        try:
            status, done = await self._outcome(binding)
            if status is not None:
                await self._services.suspension.between_cycles()
        except asyncio.CancelledError:
            self._give_back(binding)
            raise
        if status is None:
            await self._succeed(binding)
            return
        try:
            self._fail(binding, status, done=done)
        except Exception as error:
            log.error(described(error, IN_TREE), "Binding the pod failed", pod=binding.assumed)
            self._fail(binding, diagnosis.unexpected(error), done=True)

    async def _outcome(self, binding: PodToBind) -> tuple[Status | None, bool]:
        try:
            return await self._bind(binding)
        except Exception as error:
            log.error(described(error, IN_TREE), "Binding the pod failed", pod=binding.assumed)
            return diagnosis.unexpected(error), True

    async def _bind(self, binding: PodToBind) -> tuple[Status | None, bool]:
        """What went wrong, if anything, and whether the pod had left in-flight tracking by then."""
        profile, cycle, pod, node_name = binding.profile, binding.cycle, binding.assumed, binding.node_name
        await self._failures.withdraw(pod)
        started = time.perf_counter()
        flight = await pre_bind_pre_flight(profile, cycle, pod, node_name)
        observe(profile, "PreBindPreFlight", flight, started)
        if flight is not None and flight.code is not Code.SKIP:
            return flight, False
        if flight is None or binding.waiting is not None:
            await self._write_nomination(binding)
        if binding.waiting is not None:
            started = time.perf_counter()
            status = await wait_on_permit(profile, binding.waiting)
            label = "Success" if status is None else status.code.label
            self._services.observer.permit_waited(label, time.perf_counter() - started)
            if status is not None:
                return status, False
        self._queue.done(pod.uid)
        started = time.perf_counter()
        status = await self._pre_bind(binding) if flight is None else None
        observe(profile, "PreBind", status, started)
        if status is not None:
            return status, True
        async with self._binds:
            # The client asks again when the bytes leave; other ways to bind have no one else to ask.
            if not self._services.may_bind():
                return Status.error(diagnosis.NOT_THE_LEADER), True
            log.info(3, "Attempting to bind pod to node", pod=pod, node=node_name)
            started = time.perf_counter()
            status = await bind(profile, cycle, pod, node_name)
        observe(profile, "Bind", status, started)
        return status, True

    async def _pre_bind(self, binding: PodToBind) -> Status | None:
        """Runs PreBind so that preemption can stop it in favour of a more important pod."""
        uid, stoppable = binding.assumed.uid, self._services.pods_in_pre_bind
        work = asyncio.ensure_future(
            pre_bind(binding.profile, binding.cycle, binding.assumed, binding.node_name)
        )
        stoppable.start(uid, work)
        status: Status | None = None
        try:
            status = await work
        except asyncio.CancelledError:
            if not stoppable.cause(uid):
                work.cancel()
                raise
        finally:
            cause = stoppable.end(uid)
        # Stopped when all plugins were through, it may not be bound either.
        return Status.error(cause) if cause and status is None else status

    async def _write_nomination(self, binding: PodToBind) -> None:
        """Tells others where the pod will go when binding may take a while."""
        pod, client = binding.queued.pod, self._services.client
        if client is None or pod.status.nominated_node_name == binding.node_name:
            return
        try:
            await settled(client.write_pod_status(pod, nominated_node=binding.node_name))
        except Exception as error:
            log.error(error, "Error updating the nomination", pod=pod)

    async def _succeed(self, binding: PodToBind) -> None:
        pod, node_name, profile, decision = (
            binding.assumed,
            binding.node_name,
            binding.profile,
            binding.decision,
        )
        log.info(
            2,
            "Successfully bound pod to node",
            pod=pod,
            node=node_name,
            evaluatedNodes=decision.looked_at,
            feasibleNodes=len(decision.feasible or ()),
        )
        note = f"Successfully assigned {pod.key} to {node_name}"
        profile.recorder.event(pod, None, "Normal", "Scheduled", "Binding", note)
        first = binding.queued.first_attempt_time
        since_first = None if first is None else self._services.clock() - first
        seconds = time.perf_counter() - binding.started
        self._services.observer.bound(binding.queued, profile.name, seconds, since_first)
        started = time.perf_counter()
        if profile.post_bind:
            await post_bind(profile, binding.cycle, pod, node_name)
        observe(profile, "PostBind", None, started)
        activate_pods(self._queue, binding.cycle)

    def _give_back(self, binding: PodToBind) -> None:
        if binding.waiting is not None:
            self._services.waiting_pods.reject(binding.assumed.uid)
            self._services.waiting_pods.remove(binding.assumed.uid)
        unreserve(binding.profile, binding.cycle, binding.assumed, binding.node_name)
        if self._services.state.is_assumed(binding.assumed.uid):
            self._services.state.forget(binding.assumed)

    def _fail(self, binding: PodToBind, status: Status, *, done: bool) -> None:
        """Gives everything back and the pod to the queue; other pods hear that there is room again."""
        self._give_back(binding)
        assumed = binding.assumed
        failure = diagnosis.chosen_node_failed(status, waits_for_events=not done)
        if status.rejected:
            self._failures.handle(binding.profile, binding.queued, failure, binding.started)
            self._queue.move_all(
                ASSIGNED_POD_DELETE, assumed, None, pre_check=lambda other: other.uid != assumed.uid
            )
        else:
            self._queue.move_all(ASSIGNED_POD_DELETE, assumed, None)
            self._failures.handle(binding.profile, binding.queued, failure, binding.started)


def activate_pods(queue: SchedulingQueue, cycle: CycleState) -> None:
    """Has those pods tried again that plugins put into the cycle state for it."""
    pods: dict[str, Pod] | None = cycle.get(PODS_TO_ACTIVATE)
    if pods:
        try:
            queue.activate(list(pods.values()))
            pods.clear()
        except Exception as error:
            log.error(error, "Pods cannot be activated", key=PODS_TO_ACTIVATE)
