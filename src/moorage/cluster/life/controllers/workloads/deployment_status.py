"""What a deployment tells about itself: counts, whether it is available and whether it gets ahead."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cluster.base.parts import condition, keep_only, number, other_conditions
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.life.controllers.objects import since
from moorage.cluster.life.controllers.workloads.revisions import find_new
from moorage.cluster.life.controllers.workloads.rollout_sizes import counted, surge_and_unavailable, wanted

PROGRESSING = "Progressing"
FAILURE = "ReplicaFailure"

NEW_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"

NEVER = 2**31 - 1


def deadline_of(deployment: Stored) -> int | None:
    """The seconds a rollout may stand still, if that is limited."""
    seconds: int | None = deployment.spec.get("progressDeadlineSeconds")
    return None if seconds == NEVER else seconds


def is_complete(deployment: Stored, status: Document) -> bool:
    total = wanted(deployment)
    return (
        all(status.get(name, 0) == total for name in ("updatedReplicas", "replicas", "availableReplicas"))
        and status.get("observedGeneration", 0) >= deployment.generation
    )


def set_condition(
    status: Document, type: str, value: str, reason: str, message: str, now: float, *, again: bool = False
) -> None:
    """Changes a condition unless it says the same already; `again` renews its update time even then."""
    known = condition(status, type)
    if known and (known.get("status"), known.get("reason")) == (value, reason) and not again:
        return
    new = {
        "type": type,
        "status": value,
        "lastUpdateTime": timestamp(now),
        "lastTransitionTime": since(known, value, now),
        "reason": reason,
        "message": message,
    }
    status["conditions"] = [*other_conditions(status, type), new]


def drop_condition(status: Document, type: str) -> None:
    keep_only(status, "conditions", lambda each: each.get("type") != type)


def current_status(deployment: Stored, sets: Sequence[Stored], now: float) -> Document:
    """The counts and whether enough pods are available; other conditions as they are."""
    new = find_new(deployment, sets)

    def total(name: str) -> int:
        return sum(counted(each, name) for each in sets)

    available = total("availableReplicas")
    counts = {
        "observedGeneration": deployment.generation,
        "replicas": total("replicas"),
        "updatedReplicas": counted(new, "replicas") if new is not None else 0,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(sum(wanted(each) for each in sets) - available, 0),
    }
    status: Document = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = total("terminatingReplicas")
    kept = ("collisionCount", "conditions")
    status |= {name: value for name, value in deployment.status.items() if name in kept}
    if available >= wanted(deployment) - surge_and_unavailable(deployment)[1]:
        words = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        words = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    set_condition(status, "Available", *words, now)
    return status


def rollout_status(deployment: Stored, sets: Sequence[Stored], now: float) -> Document:
    """As `current_status`, with whether the rollout gets ahead, is done, or has stood still for too long."""
    status = current_status(deployment, sets, now)
    new = find_new(deployment, sets)
    deadline = deadline_of(deployment)
    known = condition(deployment.status, PROGRESSING)
    if deadline is None:
        drop_condition(status, PROGRESSING)
    is_settled = number(status, "replicas") == number(status, "updatedReplicas")
    was_done = is_settled and known is not None and known.get("reason") == NEW_AVAILABLE
    if deadline is not None and not was_done:
        who = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
        if is_complete(deployment, status):
            text = f"{who} has successfully progressed."
            set_condition(status, PROGRESSING, "True", NEW_AVAILABLE, text, now)
        elif _gets_ahead(deployment.status, status):
            text = f"{who} is progressing."
            set_condition(status, PROGRESSING, "True", "ReplicaSetUpdated", text, now, again=True)
        elif _stands_still(status, deadline, now):
            set_condition(status, PROGRESSING, "False", TIMED_OUT, f"{who} has timed out progressing.", now)
    failure = _failure(new, sets)
    if failure is None:
        drop_condition(status, FAILURE)
    else:
        words = (failure.get("status", "True"), failure.get("reason", ""), failure.get("message", ""))
        set_condition(status, FAILURE, *words, now)
    return status


def seconds_to_deadline(deployment: Stored, now: float) -> float | None:
    """When to look whether the rollout has stood still for too long."""
    deadline = deadline_of(deployment)
    status = deployment.status
    known = condition(status, PROGRESSING)
    if deadline is None or known is None or is_complete(deployment, status):
        return None
    if known.get("reason") in (TIMED_OUT, NEW_AVAILABLE):
        return None
    return max(seconds_of(known.get("lastUpdateTime") or "") + deadline - now, 0.0) + 1.0


def _gets_ahead(before: Document, status: Document) -> bool:
    def outdated(of: Document) -> int:
        return number(of, "replicas") - number(of, "updatedReplicas")

    return outdated(status) < outdated(before) or any(
        number(status, name) > number(before, name)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _stands_still(status: Document, deadline: int, now: float) -> bool:
    known = condition(status, PROGRESSING)
    if known is None or known.get("reason") == NEW_AVAILABLE:
        return False
    if known.get("reason") == TIMED_OUT:
        return True
    return seconds_of(known.get("lastUpdateTime") or "") + deadline < now


def _failure(new: Stored | None, sets: Sequence[Stored]) -> Document | None:
    found = (condition(each.status, FAILURE) for each in (new, *sets) if each is not None)
    return next(filter(None, found), None)
