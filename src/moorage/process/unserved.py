"""What the cluster holds that this scheduler does not serve: said at the start, not left to be found out."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.api.meta import Object
from moorage.config.feature_gates import GENERIC_WORKLOAD
from moorage.framework.logger import Logger
from moorage.scheduler.scheduler import Scheduler

log = Logger(__name__)

_NO_GROUPS = f"groups are scheduled with --feature-gates={GENERIC_WORKLOAD}=true"


def warn_of_unserved(scheduler: Scheduler) -> None:
    """One warning for each kind of thing. Looks only at what is watched anyway."""
    for line in unserved(scheduler):
        log.warning(line)


def unserved(scheduler: Scheduler) -> list[str]:
    """A line for each kind of thing: how many there are, the first by name, and what becomes of them."""
    if scheduler.services.gates.enabled(GENERIC_WORKLOAD):
        return []
    waiting = [queued.pod for part in scheduler.queue.pending() for queued in part]
    grouped = (pod for pod in waiting if pod.spec.scheduling_group is not None)
    lines = (_line("Waiting pods of pod groups", grouped, f"Each is scheduled by itself: {_NO_GROUPS}"),)
    return [line for line in lines if line is not None]


def _line(what: str, objects: Iterable[Object], fate: str) -> str | None:
    keys = sorted(item.key for item in objects)
    return f"{what}: {len(keys)} (first: {keys[0]}). {fate}" if keys else None
