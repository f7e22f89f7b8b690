"""PrioritySort: the order of the queue."""

from __future__ import annotations

from moorage.framework.extension_points import QueueSortPlugin
from moorage.framework.queued_pod import QueuedPod


class PrioritySort(QueueSortPlugin):
    """Takes pods of higher priority first, among equals the one that has been queued longest."""

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.pod.priority, queued.timestamp
