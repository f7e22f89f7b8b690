"""A pod that waits to be scheduled, with its history."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.framework.events import ClusterEvent


class QueuedPod:
    """What the queue knows of a pod. QueueSort plugins are given this."""

    __slots__ = (
        "attempts",
        "backoff_expiry",
        "consecutive_errors",
        "first_attempt_time",
        "flush_time",
        "flushed",
        "gating_events",
        "gating_plugin",
        "gating_reason",
        "pending_plugins",
        "pod",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
    )

    def __init__(self, pod: Pod, timestamp: float) -> None:
        self.pod = pod
        self.timestamp = timestamp
        self.attempts = 0
        self.first_attempt_time: float | None = None
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()
        self.gating_plugin = ""
        self.gating_reason = ""
        self.gating_events: tuple[ClusterEvent, ...] = ()
        self.backoff_expiry: float | None = None
        self.flushed = False
        self.flush_time: float | None = None

    @property
    def gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def rejecting_plugins(self) -> set[str]:
        return self.unschedulable_plugins | self.pending_plugins

    def __repr__(self) -> str:
        return f"<QueuedPod {self.pod.key} after {self.attempts} attempts>"
