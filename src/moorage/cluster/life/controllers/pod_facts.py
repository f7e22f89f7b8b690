"""What controllers want to know of pods."""

from __future__ import annotations

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Document, Stored

FINISHED = ("Succeeded", "Failed")


def is_finished(pod: Stored) -> bool:
    return pod.status.get("phase") in FINISHED


def is_active(pod: Stored) -> bool:
    """Whether a pod is neither finished nor being deleted."""
    return not is_finished(pod) and not pod.is_deleted


def ready_condition(pod: Stored) -> Document | None:
    """The Ready condition of a pod that is ready."""
    found = condition(pod.status, "Ready")
    return found if found is not None and found.get("status") == "True" else None
