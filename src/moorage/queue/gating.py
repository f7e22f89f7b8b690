"""PreEnqueue: whether a pod may enter the queue at all."""

from __future__ import annotations

import logging

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.runtime.answers import status_of
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status

log = logging.getLogger(__name__)

_PRE_ENQUEUE = Question("PreEnqueue", status_of("pre_enqueue"))


def first_objection(profile: Profile, pod: Pod) -> Status | None:
    """The answer of the first PreEnqueue plugin that does not let the pod in; it has the plugin's name."""
    is_timed = profile.observer.samples_plugins()
    for plugin in profile.pre_enqueue:
        status = ask(_PRE_ENQUEUE, profile, plugin, is_timed, plugin.pre_enqueue, pod)
        if status is not None and status.code is not Code.SUCCESS:
            if status.code is Code.ERROR:
                profile.observer.plugin_failed(plugin.name, profile.name)
                _tell(profile, pod, status.by(plugin.name))
            return status.by(plugin.name)
    return None


def _tell(profile: Profile, pod: Pod, status: Status) -> None:
    name = status.plugin
    log.error("PreEnqueue plugin %s failed for pod %s: %s", name, pod.key, diagnosis.for_log(profile, status))
    if profile.services.may_bind():  # One scheduler of several is enough to write the event.
        diagnosis.tell(profile.recorder, pod, diagnosis.running("PreEnqueue", name, status))
