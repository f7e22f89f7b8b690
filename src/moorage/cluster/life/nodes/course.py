"""What happens to a pod in the course of its life, and when: ready, past its deadline, ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moorage.cluster.base import parts
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import seconds_of
from moorage.cluster.life.nodes import pod_annotations as wishes
from moorage.cluster.life.nodes.pod_annotations import NEVER

DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"


@dataclass(frozen=True, slots=True)
class Course:
    """All times are seconds since the pod started."""

    ready: dict[str, float]
    """By container; one that is not here is ready at once."""
    deadline: float

    def is_ready(self, container: str, age: float) -> bool:
        return age >= self.ready.get(container, 0.0)

    def next_after(self, age: float) -> float:
        """When something happens next."""
        moments = (*self.ready.values(), self.deadline)
        return min([each for each in moments if each > age], default=NEVER)


def course_of(pod: Document) -> Course:
    """That of a simulated pod."""
    ready = wishes.seconds(pod["metadata"].get("annotations") or {}, wishes.READY)
    return Course(ready=dict(_readiness(pod.get("spec") or {}, ready)), deadline=deadline_of(pod))


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
