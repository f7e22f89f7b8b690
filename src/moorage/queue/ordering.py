"""The order of the queue, as the QueueSort plugin wants it."""

from __future__ import annotations

import logging
from typing import Any

from moorage.framework.calls import FAILURES
from moorage.framework.profile import Profile
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.slow_calls import watched

log = logging.getLogger(__name__)

_NONE_YET = object()


class QueueOrder:
    """Asks a profile's QueueSort plugin for a pod's place, and copes with one that does not answer well.

    A pod whose key cannot be had, or cannot be compared with those of the others, comes last.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._plugin = profile.queue_sort[0]
        self._sample: Any = _NONE_YET

    def of(self, queued: QueuedPod) -> tuple[Any, ...]:
        try:
            key = watched(self._profile, self._plugin, "QueueSort", self._plugin.sort_key, queued)
            sample = key if self._sample is _NONE_YET else self._sample
            bool(key < sample)  # Raises if this key is of another kind than the first one was.
        except FAILURES as error:
            self._profile.observer.plugin_failed(self._plugin.name, self._profile.name)
            log.error(
                "QueueSort plugin %s has no place for pod %s, it comes last: %r",
                self._plugin.name,
                queued.pod.key,
                error,
            )
            return (1,)
        self._sample = sample
        return (0, key)
