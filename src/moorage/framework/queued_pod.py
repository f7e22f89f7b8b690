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
        "hung_attempts",
        "is_of_group",
        "pending_plugins",
        "pod",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
        "woken_by",
    )

    def __init__(self, pod: Pod, timestamp: float) -> None:
        """Made by the scheduler, not for plugins."""
        self.pod = pod
        """The pod as the watch last brought it."""
        self.timestamp = timestamp
        """When it came into the queue this time, in seconds since the epoch."""
        self.attempts = 0
        """How often it was tried."""
        self.first_attempt_time: float | None = None
        """When it was tried first, in seconds since the epoch; None before that."""
        self.unschedulable_count = 0
        """How many attempts ended because nothing fitted; the backoff grows with it."""
        self.consecutive_errors = 0
        """How many attempts in a row ended with an error; the backoff grows with it."""
        self.hung_attempts = 0
        """How many attempts in a row a plugin held up until it was interrupted; the backoff grows with it."""
        self.unschedulable_plugins: set[str] = set()
        """The plugins that rejected it in the last attempt."""
        self.pending_plugins: set[str] = set()
        """Those that answered Pending in the last attempt."""
        self.woken_by = ""
        """The event for which it is tried, or was tried last: `PodAdd`, `NodeAdd`, ..."""
        self.gating_plugin = ""
        """The PreEnqueue plugin that keeps it out of the queue; empty if none does."""
        self.gating_reason = ""
        """What that plugin said."""
        self.gating_events: tuple[ClusterEvent, ...] = ()
        """For the scheduler, not for plugins."""
        self.is_of_group = False
        """Whether it was tried with its PodGroup, and is again when its backoff is over, not before.

        For the scheduler, not for plugins.
        """
        self.backoff_expiry: float | None = None
        """For the scheduler, not for plugins."""
        self.flushed = False
        """For the scheduler, not for plugins."""
        self.flush_time: float | None = None
        """For the scheduler, not for plugins."""

    @property
    def gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps it out of the queue."""
        return self.gating_plugin != ""

    @property
    def rejecting_plugins(self) -> set[str]:
        """The plugins whose events have it tried again."""
        return self.unschedulable_plugins | self.pending_plugins

    def __repr__(self) -> str:
        return f"<QueuedPod {self.pod.key} after {self.attempts} attempts>"
