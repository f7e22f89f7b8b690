"""What follows from a failed attempt: back to the queue, an event, a condition."""

from __future__ import annotations

import time

from moorage.api.pods import Pod
from moorage.framework.diagnosis import Failure, for_log, tell
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.status_writes import StatusWrite, StatusWrites

log = Logger(__name__)


class FailureHandler:
    def __init__(self, services: Services, queue: SchedulingQueue) -> None:
        self._services = services
        self._queue = queue
        self.writes = StatusWrites(services)

    def handle_when_free(self, profile: Profile, queued: QueuedPod, failure: Failure, started: float) -> None:
        """As `handle`, once all is written that keeps the pod from being tried again."""
        held = self._services.writes.held(queued.pod.uid)
        if held is None:
            self.handle(profile, queued, failure, started)
        else:
            held.add_done_callback(lambda _: self.handle(profile, queued, failure, started))

    def handle(
        self, profile: Profile, queued: QueuedPod, failure: Failure, started: float | None = None
    ) -> None:
        """Puts the pod back and tells about it; `started` is when the attempt began, by `perf_counter`."""
        pod = queued.pod
        seconds = 0.0 if started is None else time.perf_counter() - started
        result = "unschedulable" if failure.is_rejection else "error"
        profile.observer.attempt(profile.name, result, seconds)
        if failure.status.code is Code.ERROR and failure.status.plugin:
            profile.observer.plugin_failed(failure.status.plugin, profile.name)
        queued.unschedulable_plugins = set(failure.unschedulable_plugins)
        queued.pending_plugins = set(failure.pending_plugins)
        queued.gating_plugin, queued.gating_events = "", ()
        hung = started is not None and self._services.running.interrupted >= started
        queued.hung_attempts = queued.hung_attempts + 1 if hung else 0
        newest = self._services.find_pod(pod)
        if newest is None or newest.spec.node_name:
            log.info(2, "Pod doesn't exist in informer cache or has a node; it is not tried again", pod=pod)
            self._queue.done(pod.uid)
        elif newest.uid != pod.uid or newest.spec.scheduler_name != pod.spec.scheduler_name:
            self._queue.done(pod.uid)
            return
        else:
            queued.pod = pod = newest
            self._queue.requeue(queued)
        self._services.nominations.add(pod, failure.nominated_node)
        if failure.silent or not self._services.may_bind():
            return
        if failure.is_rejection:
            log.info(2, "Unable to schedule pod; no fit; waiting", pod=pod, err=failure.message)
        else:
            said = for_log(profile, failure.status, failure.message)
            log.error(said, "Error scheduling pod; retrying", pod=pod)
        tell(profile.recorder, pod, failure.message)
        self._write_condition(pod, failure)

    def _write_condition(self, pod: Pod, failure: Failure) -> None:
        nominated = failure.nominated_node
        if nominated == pod.status.nominated_node_name:
            nominated = None
        condition = failure.condition(pod, self._services.clock())
        self.writes.write(StatusWrite(pod, condition, nominated))
