"""Simulated pods that come to an end by themselves: all whose containers are not to run for ever."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from moorage.cluster.base.parts import part, records
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.life.controllers.objects import Key, controller_of, same_object, write_status
from moorage.cluster.life.nodes import pod_annotations as wishes
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.containers import FIRST_BACKOFF, LONGEST_BACKOFF
from moorage.cluster.life.nodes.course import Course, age_of, course_of
from moorage.cluster.life.nodes.machine import Machine
from moorage.cluster.life.nodes.pod_annotations import NEVER

SECONDS = 1.0  # that such a pod runs if nothing is said
KILLED = 137  # exit code of a container that is not asked

_CRASHED = "CrashLoopBackOff"


class End(NamedTuple):
    seconds: float
    """How long the containers run; for ever, if infinite."""
    code: int


def end_of(pod: Stored) -> End:
    """How a simulated pod ends."""
    if pod.spec.get("restartPolicy", "Always") == "Always":
        return End(NEVER, 0)
    seconds = wishes.seconds(pod.annotations, wishes.FINISH)
    if seconds is None:
        seconds = SECONDS
    return End(seconds, wishes.exit_code(pod.annotations) or 0)


def is_of_job(pod: Stored) -> bool:
    return (controller_of(pod) or {}).get("kind") == "Job"


def killed_status(pod: Stored, now: float) -> Document:
    """The last status of a pod that is deleted: one of a Job did not get its work done."""
    if is_of_job(pod):
        return statuses.ended_status(pod.document, now, statuses.FAILED, KILLED)
    return statuses.ended_status(pod.document, now)


class Finishing:
    """Ends pods, and starts containers again that have failed and are to be tried until they succeed."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._store = machine.writer.store
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def start(self) -> None:
        self._machine.bound.tell(self._look, self._gone)

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _gone(self, pod: Stored) -> None:
        timer = self._timers.pop(pod.uid, None)
        if timer is not None:
            timer.cancel()

    def _look(self, pod: Stored) -> None:
        """Sees when a pod ends or goes on; what was seen before no longer counts."""
        self._gone(pod)
        if pod.status.get("phase") != statuses.RUNNING or pod.is_deleted:
            return
        delay = _pause(pod) if _is_waiting(pod) else end_of(pod).seconds
        if delay == NEVER or self._machine.programs.is_for_real(pod):
            return
        # Times are kept to the second: nothing happens too early.
        past = max(self._machine.clock() - _since(pod) - 1, 0.0)
        loop = asyncio.get_running_loop()
        self._timers[pod.uid] = loop.call_later(max(delay - past, 0.0), self._go_on, pod.key, pod.uid)

    def _go_on(self, key: Key, uid: str) -> None:
        self._timers.pop(uid, None)
        pod = same_object(self._store, "pods", key, uid)
        if pod is None or pod.is_deleted or pod.status.get("phase") != statuses.RUNNING:
            return
        now, end = self._machine.clock(), end_of(pod)
        if _is_waiting(pod):
            course = course_of(pod.document)
            restarted = [_restarted(pod, each, course, now) for each in _containers(pod)]
            status = _with_containers(pod, now, restarted)
        elif not end.code:
            status = statuses.ended_status(pod.document, now)
        elif pod.spec.get("restartPolicy") == "Never":
            status = statuses.ended_status(pod.document, now, statuses.FAILED, end.code)
        else:
            status = _with_containers(
                pod, now, [_crashed(pod, each, end.code, now) for each in _containers(pod)]
            )
        write_status(self._machine.writer, "pods", pod, status)


def _containers(pod: Stored) -> list[Document]:
    return records(pod.status, "containerStatuses")


def _is_waiting(pod: Stored) -> bool:
    """Whether the containers have failed and are about to be started again."""
    if pod.spec.get("restartPolicy") != "OnFailure":
        return False
    return any(part(each, "state", "waiting").get("reason") == _CRASHED for each in _containers(pod))


def _since(pod: Stored) -> float:
    """When the containers began to run, or to wait."""
    for each in _containers(pod):
        ended = part(each, "lastState", "terminated").get("finishedAt")
        since = ended if _is_waiting(pod) else part(each, "state", "running").get("startedAt")
        if since:
            return seconds_of(since)
    return seconds_of(pod.status.get("startTime") or "")


def _pause(pod: Stored) -> float:
    """The first failure is made up for at once, later ones each time later."""
    restarts = max((each.get("restartCount", 0) for each in _containers(pod)), default=0)
    return min(FIRST_BACKOFF * 2.0 ** (restarts - 1), LONGEST_BACKOFF) if restarts else 0.0


def _crashed(pod: Stored, known: Document, code: int, now: float) -> Document:
    started = part(known, "state", "running").get("startedAt") or timestamp(now)
    last = statuses.terminated_state(code, started, now, container_id=known.get("containerID", ""))
    who = f"container={known.get('name', '')} pod={pod.name}_{pod.namespace}({pod.uid})"
    text = f"back-off {int(_pause(pod))}s restarting failed {who}"
    state = {"waiting": {"reason": _CRASHED, "message": text}}
    return {**known, "state": state, "lastState": last, "ready": False, "started": False}


def _restarted(pod: Stored, known: Document, course: Course, now: float) -> Document:
    restarts, name = known.get("restartCount", 0) + 1, known.get("name", "")
    again = statuses.container_id(pod.uid, name, restarts)
    ready = course.is_ready(name, age_of(pod.document, now))
    running = {"state": statuses.running_state(now), "ready": ready, "started": True}
    return {**known, **running, "restartCount": restarts, "containerID": again}


def _with_containers(pod: Stored, now: float, containers: list[Document]) -> Document:
    """The status of a pod that goes on, with its containers in another state."""
    return statuses.pod_status(
        pod.document,
        {},
        phase=statuses.RUNNING,
        address="",
        containers=containers,
        init_containers=records(pod.status, "initContainerStatuses"),
        now=now,
    )
