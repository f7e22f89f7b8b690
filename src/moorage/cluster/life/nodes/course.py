"""What happens to a pod in the course of its life, and when: ready, failed, past its deadline, ended."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from moorage.cluster.base import parts
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import seconds_of

READY = "moorage/ready"
FAIL = "moorage/fail"
ANNOTATIONS = (READY, FAIL)
"""With these a user says when a simulated pod is ready and when it fails."""

DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"

NEVER = math.inf
_DURATION = re.compile(r"(\d{1,9})s", re.ASCII)


@dataclass(frozen=True, slots=True)
class Course:
    """All times are seconds since the pod started."""

    ready: dict[str, float]
    """By container; one that is not here is ready at once."""
    failing: float
    deadline: float

    def is_ready(self, container: str, age: float) -> bool:
        return age >= self.ready.get(container, 0.0)

    def next_after(self, age: float) -> float:
        """When something happens next."""
        moments = (*self.ready.values(), self.failing, self.deadline)
        return min([each for each in moments if each > age], default=NEVER)


def course_of(pod: Document) -> Course:
    """That of a simulated pod."""
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    ready = _seconds(annotations.get(READY))
    failing = _seconds(annotations.get(FAIL))
    return Course(
        ready=dict(_readiness(pod.get("spec") or {}, ready)),
        failing=NEVER if failing is None else failing,
        deadline=deadline_of(pod),
    )


def deadline_of(pod: Document) -> float:
    seconds = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return NEVER if seconds is None else float(seconds)


def age_of(pod: Document, now: float) -> float:
    """Seconds since a pod started. Its start is known to the second: nothing happens too early."""
    started = (pod.get("status") or {}).get("startTime")
    return max(now - seconds_of(started) - 1, 0.0) if started else 0.0


def rest_of_end(pod: Document, now: float) -> float:
    """The seconds for which the hooks of a pod that is being deleted still sleep; never past its grace."""
    metadata = pod["metadata"]
    sleep = sleep_before_end(pod)
    if not sleep:
        return 0.0
    grace = metadata.get("deletionGracePeriodSeconds") or 0
    asked = seconds_of(metadata.get("deletionTimestamp") or "") - grace
    return max(asked + min(sleep, grace) - now, 0.0)


def sleep_before_end(pod: Document) -> int:
    """The longest sleep that a preStop hook of a running container asks for: they begin at the same time."""
    if parts.text(pod, "status", "phase") != "Running":
        return 0
    spec = pod.get("spec") or {}
    return max(
        (
            parts.number(each, "lifecycle", "preStop", "sleep", "seconds")
            for _, each in running_containers(spec)
            if "lifecycle" in each
        ),
        default=0,
    )


def misunderstood(pod: Document) -> list[str]:
    """What is wrong with the annotations of a pod; such an annotation has no effect."""
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    return [
        f'The annotation {name}: "{annotations[name]}" has no effect;'
        ' it must be "true", "false" or a number of seconds such as "10s"'
        for name in ANNOTATIONS
        if name in annotations and _seconds(annotations[name]) is None
    ]


def is_sidecar(container: Document) -> bool:
    """Whether an init container goes on while the others run."""
    return container.get("restartPolicy") == "Always"


def running_containers(spec: Document) -> Iterator[tuple[str, Document]]:
    """The containers that run side by side, sidecars first, each with the field it stands in."""
    for each in spec.get("initContainers") or ():
        if is_sidecar(each):
            yield "initContainers", each
    for each in spec.get("containers") or ():
        yield "containers", each


def _readiness(spec: Document, asked: float | None) -> Iterator[tuple[str, float]]:
    """The containers that are not ready at once."""
    for _, container in running_containers(spec):
        after = asked
        if after is None and "readinessProbe" in container:
            after = parts.number(container, "readinessProbe", "initialDelaySeconds")
        if after:
            yield container.get("name", ""), after


def _seconds(text: str | None) -> float | None:
    """`true` is at once; None stands for nothing that makes sense."""
    if text in ("true", "false"):
        return 0.0 if text == "true" else NEVER
    found = _DURATION.fullmatch(text or "")
    return float(found[1]) if found else None
