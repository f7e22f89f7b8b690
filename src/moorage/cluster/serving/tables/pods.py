"""Pods: above all, what the STATUS column says about them."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.cluster.base.parts import flag, is_deleted, is_true, number, records, size, text, value
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.durations import human_duration, seconds_since_epoch

NONE = "<none>"
_ENDED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


@dataclass
class _Containers:
    """What the containers of a pod add up to."""

    ready: int = 0
    restarts: int = 0
    last_restart: float | None = None

    def count_restarts(self, status: Document) -> None:
        self.restarts += number(status, "restartCount")
        when = seconds_since_epoch(text(status, "lastState", "terminated", "finishedAt"))
        if when is not None and (self.last_restart is None or when > self.last_restart):
            self.last_restart = when

    def shown_restarts(self, now: float) -> str:
        if self.restarts and self.last_restart is not None:
            return f"{self.restarts} ({human_duration(now - self.last_restart)} ago)"
        return str(self.restarts)


def pod(pod: Document, now: float) -> Document:
    """The cells that are more than a part of a pod, by the names of their columns."""
    sidecars = _sidecars(pod)
    status, containers = _status(pod, sidecars)
    total = size(pod, "spec", "containers") + len(sidecars)
    return {
        "Ready": f"{containers.ready}/{total}",
        "Status": status,
        "Restarts": containers.shown_restarts(now),
        "IP": _ip(pod) or NONE,
        "Readiness Gates": _readiness_gates(pod),
    }


def _sidecars(pod: Document) -> set[str]:
    """The init containers that go on running beside the others."""
    inits = records(pod, "spec", "initContainers")
    return {text(each, "name") for each in inits if each.get("restartPolicy") == "Always"}


def _status(pod: Document, sidecars: set[str]) -> tuple[str, _Containers]:
    phase = text(pod, "status", "phase")
    pod_reason = text(pod, "status", "reason")
    status = pod_reason or phase
    for each in records(pod, "status", "conditions"):
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            status = "SchedulingGated"
    running, starting = _Containers(), _Containers()
    initializing = _initializing(pod, sidecars, starting, running)
    if initializing is not None:
        status = initializing
    if initializing is None or is_true(pod, "Initialized"):
        status = _running(pod, status, running)
        containers = running
    else:
        containers = starting
        containers.ready = running.ready
    if is_deleted(pod):
        if pod_reason == "NodeLost":
            status = "Unknown"
        elif phase not in _ENDED:
            status = "Terminating"
    return status, containers


def _initializing(
    pod: Document, sidecars: set[str], starting: _Containers, running: _Containers
) -> str | None:
    """The status of a pod whose init containers are not through.

    Counts what has happened up to the first that is not; of these, the sidecars matter later, too.
    """
    for index, container in enumerate(records(pod, "status", "initContainerStatuses")):
        sidecar = text(container, "name") in sidecars
        starting.count_restarts(container)
        if sidecar:
            running.count_restarts(container)
        ended = value(container, "state", "terminated")
        if isinstance(ended, dict) and number(ended, "exitCode") == 0:
            continue
        if sidecar and flag(container, "started"):
            running.ready += flag(container, "ready")
            continue
        if isinstance(ended, dict):
            return f"Init:{_end(ended)}"
        waiting = text(container, "state", "waiting", "reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{size(pod, 'spec', 'initContainers')}"
    return None


def _running(pod: Document, status: str, containers: _Containers) -> str:
    """The status of a pod whose containers have been started; the first one has the last word."""
    some_run = False
    failure = ""
    for container in reversed(records(pod, "status", "containerStatuses")):
        containers.count_restarts(container)
        waiting = text(container, "state", "waiting", "reason")
        ended = value(container, "state", "terminated")
        if waiting:
            status = waiting
        elif isinstance(ended, dict):
            status = _end(ended)
            if number(ended, "exitCode") != 0:
                failure = status
        elif flag(container, "ready") and value(container, "state", "running") is not None:
            some_run = True
            containers.ready += 1
    if status != "Completed":
        return status
    conditions = records(pod, "status", "conditions")
    if some_run and any((each.get("type"), each.get("status")) == ("Ready", "True") for each in conditions):
        return "Running"
    return failure or ("NotReady" if some_run else status)


def _end(terminated: Document) -> str:
    if reason := text(terminated, "reason"):
        return reason
    if signal := number(terminated, "signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{number(terminated, 'exitCode')}"


def _ip(pod: Document) -> str:
    addresses = records(pod, "status", "podIPs")
    return text(pod, "status", "podIP") or (text(addresses[0], "ip") if addresses else "")


def _readiness_gates(pod: Document) -> str:
    met = [is_true(pod, text(gate, "conditionType")) for gate in records(pod, "spec", "readinessGates")]
    return f"{sum(met)}/{len(met)}" if met else NONE


def ended(pod: Document) -> list[Document]:
    """What is to be said about the row of a pod that has ended."""
    phase = text(pod, "status", "phase")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]
