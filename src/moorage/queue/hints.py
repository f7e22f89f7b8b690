"""Which events are worth another attempt, as the plugins that rejected a pod see it."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Mapping
from enum import IntEnum
from typing import Any

from moorage.api.likeness import likeness
from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.events import ClusterEvent, Hint
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime import answers
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.runtime.profile import Profile, Registration
from moorage.framework.status import Status

log = logging.getLogger(__name__)

_HINT = Question("QueueingHint", answers.hint)
_LABELS = {Hint.QUEUE: "Queue", Hint.SKIP: "QueueSkip"}


class Requeue(IntEnum):
    """What an event means for a waiting pod; the greater wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Interests:
    """The events that the plugins of all profiles registered for."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles
        self._matching: dict[tuple[str, int], dict[str, list[Registration]]] = {}
        self._plugins: dict[tuple[str, int], set[str]] = {}

    def wanted(self, event: ClusterEvent) -> bool:
        """Whether an event can matter to any pod at all."""
        return event.wildcard or bool(self._matches(event))

    def plugins(self, event: ClusterEvent) -> set[str]:
        """The plugins, of whatever profile, that want to hear of an event."""
        kind = (event.resource, int(event.action))
        found = self._plugins.get(kind)
        if found is None:
            matches = self._matches(event).values()
            found = self._plugins[kind] = {wanting.plugin for each in matches for wanting in each}
        return found

    def group(self, queued: QueuedPod) -> Hashable:
        """Equal for pods that no event can tell apart, unless it is about one of them."""
        return self.kind(queued) or (queued.pod.uid, frozenset(queued.rejecting_plugins))

    def kind(self, queued: QueuedPod) -> Hashable:
        """Equal for pods that are alike and wait for the same plugins.

        None for a pod like no other, or if one of the plugins does not promise to treat such pods alike.
        """
        pod, profile = queued.pod, self._profiles[queued.pod.spec.scheduler_name]
        plugins = queued.rejecting_plugins
        known = profile.plugins
        if all(name in known and known[name].treats_like_pods_alike for name in plugins):
            like = likeness(pod)
            if like is not None:
                pending = frozenset(queued.pending_plugins)
                return (profile.name, like, frozenset(plugins), pending, queued.gating_plugin)
        return None

    def worth_requeueing(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Requeue:
        """Whether an event may have made a pod schedulable."""
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        if event.wildcard:
            return Requeue.SKIP if _is_of_another_pod(queued, old, new) else Requeue.AFTER_BACKOFF
        verdict = Requeue.SKIP
        profile = self._profiles.get(queued.pod.spec.scheduler_name)
        if profile is None:
            return verdict
        for plugin, registered in self._matches(event).get(profile.name, ()):
            if plugin in queued.pending_plugins:
                best = Requeue.IMMEDIATELY
            elif plugin in queued.unschedulable_plugins:
                best = Requeue.AFTER_BACKOFF
            else:
                continue
            if best > verdict and _says_queue(profile, plugin, registered, event, queued.pod, old, new):
                verdict = best
        return verdict

    def _matches(self, event: ClusterEvent) -> dict[str, list[Registration]]:
        """Per profile, the registrations that cover an event."""
        kind = (event.resource, int(event.action))
        found = self._matching.get(kind)
        if found is None:
            covering = {
                name: [wanting for wanting in profile.registrations if wanting.event.covers(event)]
                for name, profile in self._profiles.items()
            }
            found = self._matching[kind] = {name: matches for name, matches in covering.items() if matches}
        return found


def _is_of_another_pod(queued: QueuedPod, old: Any, new: Any) -> bool:
    carried = new if new is not None else old
    return isinstance(carried, Pod) and carried.uid != queued.pod.uid


def _says_queue(
    profile: Profile, name: str, registered: ClusterEvent, event: ClusterEvent, pod: Pod, old: Any, new: Any
) -> bool:
    """A plugin's answer; one that cannot answer must not keep a pod waiting that might fit now."""
    started = time.perf_counter()
    answer: Hint | Status = Hint.QUEUE
    if registered.hint is not None:
        answer = ask(_HINT, profile, profile.plugins[name], False, registered.hint, pod, old, new)
    label = "Error" if isinstance(answer, Status) else _LABELS[answer]
    profile.observer.hint_given(name, event.label, label, time.perf_counter() - started)
    if isinstance(answer, Status):
        profile.observer.plugin_failed(name, profile.name)
        said = diagnosis.for_log(profile, answer.by(name))
        log.error("the hint of plugin %s for %s failed for pod %s: %s", name, registered.label, pod.key, said)
        return True
    return answer is Hint.QUEUE
