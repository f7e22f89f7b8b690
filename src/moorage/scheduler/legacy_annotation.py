"""The annotation by which pods named their scheduler before `spec.schedulerName` existed."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy

from moorage.api.pods import DEFAULT_SCHEDULER, Pod
from moorage.framework.logger import Logger

log = Logger(__name__)

ANNOTATION = "scheduler.alpha.kubernetes.io/name"


class LegacyAnnotation:
    """What is done about it: `ignore`, `warn` (a log line per pod), or `honor`.

    Honouring it is only right where no other scheduler serves `default-scheduler`.
    """

    def __init__(self, mode: str, profiles: Collection[str]) -> None:
        self._mode = mode
        self._profiles = profiles

    def appeared(self, pod: Pod) -> None:
        """Warns of a new pod with the annotation."""
        named = pod.annotations.get(ANNOTATION)
        if named and self._mode == "warn" and named != pod.spec.scheduler_name:
            log.warning(
                f"The annotation {ANNOTATION} has no effect; set spec.schedulerName",
                pod=pod,
                annotation=named,
                schedulerName=pod.spec.scheduler_name,
            )

    def apply(self, pod: Pod) -> Pod:
        """The pod under the profile its annotation names, where that is honoured."""
        if self._mode != "honor" or pod.spec.scheduler_name != DEFAULT_SCHEDULER:
            return pod
        named = pod.annotations.get(ANNOTATION)
        if not named or named not in self._profiles:
            return pod
        adopted = copy(pod)
        adopted.__dict__.update(pod.__dict__)
        adopted.spec = copy(pod.spec)
        adopted.spec.scheduler_name = named
        return adopted
