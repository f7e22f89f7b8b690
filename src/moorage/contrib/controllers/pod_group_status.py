"""What becomes of a PodGroup: its phase and its counts, from its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from moorage.api.pods import Pod
from moorage.contrib.objects import PodGroup, PodGroupStatus
from moorage.framework.logger import Logger

log = Logger(__name__)

PENDING, SCHEDULING, RUNNING, FINISHED, FAILED = "Pending", "Scheduling", "Running", "Finished", "Failed"
LONGEST_WAIT = timedelta(hours=48)


class Warned(NamedTuple):
    """An event that warns."""

    reason: str
    note: str


TIMEOUT = Warned("Timeout", "schedule time longer than 48 hours")


class Outcome(NamedTuple):
    status: PodGroupStatus
    warned: Warned | None = None


def settled(group: PodGroup, pods: Collection[Pod], now: float) -> Outcome:
    """The status that a group with these pods comes to, however many phases it goes through at once."""
    outcome = Outcome(group.status)
    while True:
        following = step(replace(group, status=outcome.status), pods, now)
        if following.warned is not None or following.status == outcome.status:
            return following
        outcome = following


def step(group: PodGroup, pods: Collection[Pod], now: float) -> Outcome:
    """From one phase to the next, or to the same with other counts.

    `pods` are the members in the group's namespace, those that have ended included; `now` is in seconds since
    the epoch. A group that does not say how many it needs has enough with one.
    """
    if group.status.phase in (FINISHED, FAILED):
        return Outcome(group.status)
    counts = Counter(pod.status.phase for pod in pods)
    running, succeeded, failed = counts["Running"], counts["Succeeded"], counts["Failed"]
    if _waited_too_long(group) and not running + succeeded + failed:
        return Outcome(group.status, TIMEOUT)
    needed = wanted(group)
    # Counted in every phase: of pods that are gone nobody shall read that they run.
    status = replace(group.status, running=running, succeeded=succeeded, failed=failed)
    if not status.phase:
        return Outcome(replace(status, phase=PENDING))
    if status.phase == PENDING:
        phase = SCHEDULING if len(pods) >= needed else PENDING
    else:
        phase = _phase(len(pods), needed, running, succeeded, failed)
    if status.phase == PENDING != phase:
        status = replace(status, occupied_by=_owners(pods) or status.occupied_by)
    if phase == SCHEDULING != status.phase:
        # The first time counts: a group that has run for days has not waited so long.
        status = replace(status, schedule_start_time=status.schedule_start_time or _text(now))
    return Outcome(replace(status, phase=phase))


def wanted(group: PodGroup) -> int:
    """So many pods it needs."""
    return max(group.spec.min_member or 1, 1)


def _phase(pods: int, wanted: int, running: int, succeeded: int, failed: int) -> str:
    if pods < wanted:
        return PENDING
    if succeeded >= wanted:
        return FINISHED
    if failed and failed + running + succeeded >= wanted:
        return FAILED
    return RUNNING if succeeded + running >= wanted else SCHEDULING


def _waited_too_long(group: PodGroup) -> bool:
    """Whether it came to be scheduled so late that its pods are probably gone."""
    status, created = group.status, group.metadata.creation_timestamp
    if status.phase not in (PENDING, SCHEDULING) or status.running:
        return False
    if status.schedule_start_time is None or created is None:
        return False
    try:
        waited = datetime.fromisoformat(status.schedule_start_time) - datetime.fromisoformat(created)
    except (TypeError, ValueError) as error:
        # Anybody may write a status, and its times are texts.
        log.warning("The times of a PodGroup cannot be read", podGroup=group, err=error)
        return False
    return waited > LONGEST_WAIT


def _owners(pods: Collection[Pod]) -> str:
    first = min(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
    return ",".join(sorted(f"{first.namespace}/{owner.name}" for owner in first.metadata.owner_references))


def _text(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
