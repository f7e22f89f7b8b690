"""PreEnqueue: whether a pod may enter the queue at all."""

from __future__ import annotations

import logging

from moorage.api.pods import Pod
from moorage.framework.calls import FAILURES, failure
from moorage.framework.extension_points import checked_status
from moorage.framework.profile import Profile
from moorage.framework.slow_calls import watched
from moorage.framework.status import Code, Status

log = logging.getLogger(__name__)


def first_objection(profile: Profile, pod: Pod) -> Status | None:
    """The answer of the first PreEnqueue plugin that does not let the pod in; it has the plugin's name."""
    for plugin in profile.pre_enqueue:
        try:
            status = checked_status(
                watched(profile, plugin, "PreEnqueue", plugin.pre_enqueue, pod), "pre_enqueue"
            )
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is not Code.SUCCESS:
            if status.code is Code.ERROR:
                profile.observer.plugin_failed(plugin.name, profile.name)
                _tell(profile, plugin.name, pod, status.message)
            return status.by(plugin.name)
    return None


def _tell(profile: Profile, name: str, pod: Pod, message: str) -> None:
    log.error("PreEnqueue plugin %s failed for pod %s: %s", name, pod.key, message)
    if profile.services.may_bind():  # One scheduler of several is enough to write the event.
        note = f'running PreEnqueue plugin "{name}": {message}'
        profile.recorder.event(pod, None, "Warning", "FailedScheduling", "Scheduling", note)
