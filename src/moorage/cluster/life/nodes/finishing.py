"""Simulated pods that come to an end by themselves: those of Jobs, and those whose annotations say so."""

from __future__ import annotations

import asyncio
import math
import re
from typing import NamedTuple

from moorage.cluster.base.parts import part, records
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.life.controllers.objects import Key, controller_of, same_object, write_status
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.containers import FIRST_BACKOFF, LONGEST_BACKOFF
from moorage.cluster.life.nodes.machine import Machine

FINISH = "moorage/finish"
"""After how long a pod ends: `10s`, `true` for at once, `false` for never."""
EXIT_CODE = "moorage/exit-code"
"""With which exit code; 0 if nothing is said."""
JOB_SECONDS = 1.0  # that a pod of a Job runs if nothing is said
KILLED = 137

_SECONDS = re.compile(r"([0-9]{1,9})s", re.ASCII)
_CODE = re.compile(r"[0-9]{1,3}", re.ASCII)
_CRASHED = "CrashLoopBackOff"


class End(NamedTuple):
    seconds: float
    """How long the containers run; for ever, if infinite."""
    code: int


def end_of(pod: Stored) -> End:
    """How a simulated pod ends. What makes no sense in an annotation counts as not said."""
    notes = pod.annotations
    never = math.inf
    if pod.spec.get("restartPolicy", "Always") == "Always":
        return End(never, 0)
    text = notes.get(FINISH, "")
    found = _SECONDS.fullmatch(text)
    usual = JOB_SECONDS if is_of_job(pod) else never
    seconds = float(found[1]) if found else {"true": 0.0, "false": never}.get(text, usual)
    code = notes.get(EXIT_CODE, "")
    return End(seconds, int(code) if _CODE.fullmatch(code) and int(code) < 256 else 0)


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
        if pod.status.get("phase") != statuses.RUNNING or pod.is_deleted or pod.uid in self._timers:
            return
        end = end_of(pod)
        if math.isinf(end.seconds) or self._machine.programs.runs_pod(pod.document):
            return
        delay = _pause(pod) if _is_waiting(pod) else end.seconds
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
            status = _with_containers(pod, now, [_restarted(pod, each, now) for each in _containers(pod)])
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
    return any(part(each, "state", "waiting").get("reason") == _CRASHED for each in _containers(pod))


def _since(pod: Stored) -> float:
    """When the containers began to run, or to wait."""
    for each in _containers(pod):
        ended = part(each, "lastState", "terminated").get("finishedAt")
        since = ended if _is_waiting(pod) else part(each, "state", "running").get("startedAt")
        if since:
            return seconds_of(since)
    return 0.0


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


def _restarted(pod: Stored, known: Document, now: float) -> Document:
    restarts = known.get("restartCount", 0) + 1
    again = statuses.container_id(pod.uid, known.get("name", ""), restarts)
    running = {"state": statuses.running_state(now), "ready": True, "started": True}
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
