"""The order of the queue, as the QueueSort plugin wants it."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

from moorage.framework import diagnosis
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status

log = logging.getLogger(__name__)

_NONE_YET = object()
_HUNG_SECONDS = 60.0


class QueueOrder:
    """Asks a profile's QueueSort plugin for a pod's place, and copes with one that does not answer well.

    A pod whose key cannot be had, or cannot be compared with those of the others, comes last. If the plugin
    did not return, it is not asked about that pod again for a while: each time, nothing else would happen.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._plugin = profile.queue_sort[0]
        self._sample: Any = _NONE_YET
        self._hung: dict[str, float] = {}
        """When it may be asked again about pods, by the performance counter."""
        self._question = Question("QueueSort", self._comparable)

    def of(self, queued: QueuedPod) -> tuple[Any, ...]:
        profile, plugin = self._profile, self._plugin
        if self._hung and time.perf_counter() < self._hung.get(queued.pod.uid, -math.inf):
            return (1,)
        started = time.perf_counter()
        key = ask(self._question, profile, plugin, False, plugin.sort_key, queued)
        if not isinstance(key, Status):
            return (0, key)
        profile.observer.plugin_failed(plugin.name, profile.name)
        said = diagnosis.for_log(profile, key.by(plugin.name))
        text = "QueueSort plugin %s has no place for pod %s, it comes last: %s"
        log.error(text, plugin.name, queued.pod.key, said)
        if profile.services.may_bind():  # One scheduler of several is enough to write the event.
            diagnosis.tell(profile.recorder, queued.pod, diagnosis.running("QueueSort", plugin.name, key))
        if profile.running.interrupted >= started:
            now = time.perf_counter()
            self._hung = {uid: until for uid, until in self._hung.items() if until > now}
            self._hung[queued.pod.uid] = now + _HUNG_SECONDS
        return (1,)

    def _comparable(self, key: Any) -> Any:
        """Raises if a key is of another kind than the first one was."""
        sample = key if self._sample is _NONE_YET else self._sample
        bool(key < sample)
        self._sample = sample
        return key
