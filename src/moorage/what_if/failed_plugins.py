"""Which plugins failed, whether or not a pod was held up by it."""

from __future__ import annotations

from collections import Counter

from moorage.framework.observer import NoObserver
from moorage.queue.observer import NoQueueObserver


class FailedPlugins(NoObserver, NoQueueObserver):
    """Counts how often each plugin raised, or answered what it must not."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def plugin_failed(self, plugin: str, profile: str) -> None:
        self.counts[plugin] += 1
