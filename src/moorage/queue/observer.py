"""What the queue tells those who count."""

from __future__ import annotations

from typing import Protocol


class QueueObserver(Protocol):
    """Told of everything the queue's metrics need; how many pods are pending, `counts` of the queue says."""

    def incoming(self, queue: str, event: str) -> None:
        """A pod entered the `active`, `backoff` or `unschedulable` queue (gated pods count as the last)."""

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        """One pod more (1) or fewer (-1) is in the queue because this plugin rejected it."""

    def pre_enqueue(self, profile: str, seconds: float) -> None:
        """The PreEnqueue plugins of a profile were run for a pod."""


class NoQueueObserver:
    """Counts nothing."""

    def incoming(self, queue: str, event: str) -> None:
        pass

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        pass

    def pre_enqueue(self, profile: str, seconds: float) -> None:
        pass
