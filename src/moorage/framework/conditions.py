"""Conditions of pods, as a scheduler writes them."""

from __future__ import annotations

from datetime import UTC, datetime

from moorage.api.pods import Condition, Pod


def condition(pod: Pod, type: str, status: str, *, reason: str, message: str, now: float) -> Condition:
    """A condition for a pod; it began `now`, unless the pod had it with the same status before."""
    known = pod.condition(type)
    began = None if known is None or known.status != status else known.last_transition_time
    return Condition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=began or datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        observed_generation=pod.metadata.generation,
    )


def says_already(pod: Pod, new: Condition) -> bool:
    """Whether a pod has a condition with these words; a newer generation alone is no reason to write."""
    known = pod.condition(new.type)
    return known is not None and (known.status, known.reason, known.message) == (
        new.status,
        new.reason,
        new.message,
    )
