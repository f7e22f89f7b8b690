"""The binding cycle of one pod: from the chosen node to the bound pod, or back to the queue."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import PODS_TO_ACTIVATE, CycleState
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.plugin_errors import IN_TREE, described
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.binding import (
    Binding,
    bind,
    nothing_to_pre_bind,
    post_bind,
    pre_bind,
    pre_bind_pre_flight,
)
from moorage.framework.runtime.calls import settled
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.reserving import unreserve, wait_on_permit
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.framework.status import Code, Status
from moorage.queue.change_events import ASSIGNED_POD_DELETE
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.cycle import Decision, observe
from moorage.scheduler.failures import FailureHandler
from moorage.scheduler.journal import Journal

log = Logger(__name__)

BINDS_AT_ONCE = 128
"""Fewer than an API server takes on at a time; more would only wait there."""
MANY = 32
"""Pods under way: with more, what is not urgent leaves the API server to them."""

_NOTHING_TO_PRE_BIND = (("PreBindPreFlight", "Skip"), ("PreBind", "Success"))
_NOTHING_TO_POST_BIND = (("PostBind", "Success"),)


@dataclass(slots=True)
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
    is_bound: bool = False


class BindingCycle:
    """Takes pods from their chosen nodes to the end, beside everything else.

    What need not be waited for is done at once. Tasks are made for the rest: for pods that have to wait or
    for which PreBind has work, and for the answers of API server and plugins.
    """

    def __init__(
        self, services: Services, queue: SchedulingQueue, failures: FailureHandler, journal: Journal
    ) -> None:
        self.under_way = 0
        """How many pods are neither bound nor given back."""
        self._services = services
        self._queue = queue
        self._failures = failures
        self._journal = journal
        self._binds = 0
        self._waiting_for_a_bind: deque[tuple[Context, PodToBind]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._told_of_end: list[asyncio.Future[None]] = []

    @property
    def is_busy(self) -> bool:
        """Whether what is not urgent had better wait."""
        return self.under_way > MANY

    def start(self, binding: PodToBind) -> None:
        self.under_way += 1
        self._services.observer.binding_started()
        if self._goes_straight_on(binding):
            profile = binding.profile
            profile.observer.points_passed(profile.name, _NOTHING_TO_PRE_BIND)
            self._queue.done(binding.assumed.metadata.uid)
            self._bind_in_turn(binding)
        else:
            self._in_task(binding, self._prepare(binding))

    async def one_ended(self) -> None:
        """Returns when the next pod is bound or given back."""
        told = asyncio.get_running_loop().create_future()
        self._told_of_end.append(told)
        await told

    async def end(self, seconds: float) -> None:
        """Returns when all pods are bound or given back; what takes longer is given back."""
        try:
            async with asyncio.timeout(seconds):
                while self.under_way:
                    await self.one_ended()
        except TimeoutError:
            pass
        while self._waiting_for_a_bind:
            self._cancelled(self._waiting_for_a_bind.popleft()[1])
        while self._tasks:
            late = list(self._tasks)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # Before the bind

    def _goes_straight_on(self, binding: PodToBind) -> bool:
        """Whether nothing has to be done or waited for before the bind."""
        profile, cycle, pod, node_name = binding.profile, binding.cycle, binding.assumed, binding.node_name
        return (
            binding.waiting is None
            and self._failures.writes.withdraw_at_once(pod.metadata.uid)
            and nothing_to_pre_bind(profile, cycle, pod, node_name)
        )

    async def _prepare(self, binding: PodToBind) -> None:
        try:
            status, done = await self._before_bind(binding)
        except Exception as error:
            status, done = _unexpected(binding, error), True
        if status is None:
            self._bind_in_turn(binding)
        else:
            await self._fail(binding, status, done=done)

    async def _before_bind(self, binding: PodToBind) -> tuple[Status | None, bool]:
        """What went wrong, if anything, and whether the pod had left in-flight tracking by then."""
        profile, cycle, pod, node_name = binding.profile, binding.cycle, binding.assumed, binding.node_name
        await self._failures.writes.withdraw(pod)
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
            cause = stoppable.through(uid)
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

    # The bind

    def _bind_in_turn(self, binding: PodToBind) -> None:
        if self._binds < BINDS_AT_ONCE:
            self._bind(binding)
        else:
            self._waiting_for_a_bind.append((copy_context(), binding))

    def _bind(self, binding: PodToBind) -> None:
        profile = binding.profile
        started = time.perf_counter()
        # The client asks again when the bytes leave; other ways to bind have no one else to ask.
        if not self._services.may_bind():
            self._in_task(binding, self._fail(binding, Status.error(diagnosis.NOT_THE_LEADER), done=True))
            return
        log.info(3, "Attempting to bind pod to node", pod=binding.assumed, node=binding.node_name)
        try:
            answer = bind(profile, binding.cycle, binding.assumed, binding.node_name)
        except Exception as error:
            self._in_task(binding, self._fail(binding, _unexpected(binding, error), done=True))
            return
        if answer is not None and not isinstance(answer, Status):
            self._binds += 1
            self._in_task(binding, self._wait_for_bind(binding, answer, started), answer)
            return
        observe(profile, "Bind", answer, started)
        if answer is None:
            self._succeed(binding)
        else:
            self._in_task(binding, self._fail(binding, answer, done=True))

    async def _wait_for_bind(
        self, binding: PodToBind, answer: Awaitable[Status | None], started: float
    ) -> None:
        try:
            status = await answer
            observe(binding.profile, "Bind", status, started)
        except Exception as error:
            status = _unexpected(binding, error)
        if status is None:
            self._succeed(binding)
        else:
            await self._fail(binding, status, done=True)

    def _bind_those_who_wait(self) -> None:
        while self._waiting_for_a_bind and self._binds < BINDS_AT_ONCE:
            context, binding = self._waiting_for_a_bind.popleft()
            context.run(self._bind, binding)

    # The end

    def _succeed(self, binding: PodToBind) -> None:
        """The pod has its node, whatever comes of telling so."""
        binding.is_bound = True
        try:
            self._tell_of_success(binding)
        except Exception as error:
            log.error(described(error, IN_TREE), "Telling of a bound pod failed", pod=binding.assumed)
        profile = binding.profile
        if profile.post_bind:
            self._in_task(binding, self._post_bind(binding))
        else:
            profile.observer.points_passed(profile.name, _NOTHING_TO_POST_BIND)
            activate_pods(self._queue, binding.cycle)
            self._ended()

    def _tell_of_success(self, binding: PodToBind) -> None:
        pod, node_name, profile = binding.assumed, binding.node_name, binding.profile
        self._journal.bound(binding.decision.entry)
        if log.enabled(2):
            log.info(
                2,
                "Successfully bound pod to node",
                pod=pod,
                node=node_name,
                evaluatedNodes=binding.decision.looked_at,
                feasibleNodes=len(binding.decision.feasible or ()),
            )
        note = f"Successfully assigned {pod.key} to {node_name}"
        profile.recorder.event(pod, None, "Normal", "Scheduled", "Binding", note)
        first = binding.queued.first_attempt_time
        since_first = None if first is None else self._services.clock() - first
        seconds = time.perf_counter() - binding.started
        self._services.observer.bound(binding.queued, profile.name, seconds, since_first)

    async def _post_bind(self, binding: PodToBind) -> None:
        started = time.perf_counter()
        await post_bind(binding.profile, binding.cycle, binding.assumed, binding.node_name)
        observe(binding.profile, "PostBind", None, started)
        activate_pods(self._queue, binding.cycle)
        self._ended()

    async def _fail(self, binding: PodToBind, status: Status, *, done: bool) -> None:
        await self._services.suspension.between_cycles()
        try:
            self._unreserve(binding)
            if (held := self._services.writes.held(binding.assumed.uid)) is not None:
                await asyncio.wait([held])
                await self._services.suspension.between_cycles()
            self._forget(binding)
            self._put_back(binding, status, done=done)
        except Exception as error:
            self._forget(binding)
            self._put_back(binding, _unexpected(binding, error), done=True)
        self._ended()

    def _put_back(self, binding: PodToBind, status: Status, *, done: bool) -> None:
        """Gives the pod back to the queue; other pods hear that there is room again."""
        assumed = binding.assumed
        failure = diagnosis.chosen_node_failed(status, waits_for_events=not done)
        if not (status.rejected or failure.silent) and _is_of_gang(binding):
            # The others may be bound: the room stays with the gang, or it would be in part for long.
            failure = replace(failure, nominated_node=binding.node_name)
        self._journal.refused(binding.decision.entry, status)
        if status.rejected:
            self._failures.handle(binding.profile, binding.queued, failure, binding.started)
            self._queue.move_all(
                ASSIGNED_POD_DELETE, assumed, None, pre_check=lambda other: other.uid != assumed.uid
            )
        else:
            self._queue.move_all(ASSIGNED_POD_DELETE, assumed, None)
            self._failures.handle(binding.profile, binding.queued, failure, binding.started)

    def _unreserve(self, binding: PodToBind) -> None:
        if binding.waiting is not None:
            self._services.waiting_pods.reject(binding.assumed.uid)
            self._services.waiting_pods.remove(binding.assumed.uid)
        unreserve(binding.profile, binding.cycle, binding.assumed, binding.node_name)
        self._services.pods_in_pre_bind.forget(binding.assumed.uid)

    def _forget(self, binding: PodToBind) -> None:
        """The pod has no node; what is told of it from now on may bring it back to the queue."""
        if self._services.state.is_assumed(binding.assumed.uid):
            self._services.state.forget(binding.assumed)

    def _cancelled(self, binding: PodToBind) -> None:
        if not binding.is_bound:
            self._unreserve(binding)
            self._forget(binding)
        self._ended()

    def _ended(self) -> None:
        self.under_way -= 1
        self._services.observer.binding_ended()
        if self._told_of_end:
            told, self._told_of_end = self._told_of_end, []
            for each in told:
                if not each.done():
                    each.set_result(None)

    def _in_task(
        self,
        binding: PodToBind,
        steps: Coroutine[Any, Any, None],
        answer: Binding | None = None,
    ) -> None:
        """Has the next steps of a pod done; `answer` is the one to its bind, if they wait for that."""
        task = asyncio.get_running_loop().create_task(steps)
        self._tasks.add(task)
        task.add_done_callback(partial(self._task_ended, binding, answer))

    def _task_ended(self, binding: PodToBind, answer: Binding | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if answer is not None:
            self._binds -= 1
        if task.cancelled():
            if answer is not None:
                answer.close()  # it may not have begun
            self._cancelled(binding)
        elif (error := task.exception()) is not None:
            log.error(described(error, IN_TREE), "Binding the pod failed", pod=binding.assumed)
            self._ended()
        if self._waiting_for_a_bind:
            self._bind_those_who_wait()


def _is_of_gang(binding: PodToBind) -> bool:
    gangs = binding.profile.gangs
    return gangs is not None and gangs.gang_of(binding.queued.pod) is not None


def _unexpected(binding: PodToBind, error: Exception) -> Status:
    log.error(described(error, IN_TREE), "Binding the pod failed", pod=binding.assumed)
    return diagnosis.unexpected(error)


def activate_pods(queue: SchedulingQueue, cycle: CycleState) -> None:
    """Has those pods tried again that plugins put into the cycle state for it."""
    pods: dict[str, Pod] | None = cycle.get(PODS_TO_ACTIVATE)
    if pods:
        try:
            queue.activate(list(pods.values()))
            pods.clear()
        except Exception as error:
            log.error(error, "Pods cannot be activated", key=PODS_TO_ACTIVATE)
