"""What the scheduler holds, written to the log on request (SIGUSR2)."""

from __future__ import annotations

from moorage.framework.logger import Logger
from moorage.scheduler.scheduler import Scheduler

log = Logger(__name__)


def dump(scheduler: Scheduler) -> None:
    """Logs every node with its pods, what is pending where, and where state and watch disagree."""
    state = scheduler.state
    for info in state.table:
        pods = sorted(pod.key for pod in info.pods)
        log.info(
            0,
            "Dump of cached node",
            node=info.name,
            requested=dict(info.requested),
            allocatable=dict(info.allocatable),
            pods=pods,
        )
    pending = scheduler.queue.pending()
    for place, queued_pods in pending._asdict().items():
        for queued in queued_pods:
            log.info(0, "Dump of waiting pod", queue=place, pod=queued.pod, attempts=queued.attempts)
    log.info(0, "Dump of scheduling queue", summary=scheduler.queue.describe())
    missing, redundant = differences(scheduler)
    log.info(0, "Cache compared with what is watched", missed=missing, redundant=redundant)


def differences(scheduler: Scheduler) -> tuple[list[str], list[str]]:
    """Watched pods with a node that are not cached, and cached ones that are neither watched nor assumed."""
    watched = {pod.uid: pod for pod in scheduler.door.pods() if pod.spec.node_name}
    cached = {pod.uid: pod for pod in scheduler.state.pods}
    missed = sorted(pod.key for uid, pod in watched.items() if uid not in cached)
    redundant = sorted(
        pod.key for uid, pod in cached.items() if uid not in watched and not scheduler.state.is_assumed(uid)
    )
    return missed, redundant
