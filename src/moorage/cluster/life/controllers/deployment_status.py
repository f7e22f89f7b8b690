"""What a deployment tells about itself: counts, whether it is available and whether it gets ahead."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.life.controllers.rollout_sizes import counted, surge_and_unavailable, wanted

AVAILABLE = "Available"
PROGRESSING = "Progressing"
FAILURE = "ReplicaFailure"

NEW_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
CREATE_ERROR = "ReplicaSetCreateError"

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
    same = known is not None and known.get("status") == value
    if known is not None and same and known.get("reason") == reason and not again:
        return
    since = known.get("lastTransitionTime") if known is not None and same else None
    others = [each for each in status.get("conditions") or () if each.get("type") != type]
    status["conditions"] = [
        *others,
        {
            "type": type,
            "status": value,
            "lastUpdateTime": timestamp(now),
            "lastTransitionTime": since or timestamp(now),
            "reason": reason,
            "message": message,
        },
    ]


def drop_condition(status: Document, type: str) -> None:
    left = [each for each in status.get("conditions") or () if each.get("type") != type]
    status.pop("conditions", None)
    if left:
        status["conditions"] = left


def current_status(deployment: Stored, new: Stored | None, sets: Sequence[Stored], now: float) -> Document:
    """The counts and whether enough pods are available; other conditions as they are."""
    available = sum(counted(each, "availableReplicas") for each in sets)
    unavailable = max(sum(wanted(each) for each in sets) - available, 0)
    known = deployment.status
    counts = {
        "observedGeneration": deployment.generation,
        "replicas": sum(counted(each, "replicas") for each in sets),
        "updatedReplicas": counted(new, "replicas") if new is not None else 0,
        "readyReplicas": sum(counted(each, "readyReplicas") for each in sets),
        "availableReplicas": available,
        "unavailableReplicas": unavailable,
    }
    status: Document = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = sum(counted(each, "terminatingReplicas") for each in sets)
    if "collisionCount" in known:
        status["collisionCount"] = known["collisionCount"]
    if known.get("conditions"):
        status["conditions"] = known["conditions"]
    if available >= wanted(deployment) - surge_and_unavailable(deployment)[1]:
        words = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        words = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    set_condition(status, AVAILABLE, *words, now)
    return status


def rollout_status(deployment: Stored, new: Stored | None, sets: Sequence[Stored], now: float) -> Document:
    """As `current_status`, with whether the rollout gets ahead, is done, or has stood still for too long."""
    status = current_status(deployment, new, sets, now)
    deadline = deadline_of(deployment)
    known = condition(deployment.status, PROGRESSING)
    if deadline is None:
        drop_condition(status, PROGRESSING)
    was_done = (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and known is not None
        and known.get("reason") == NEW_AVAILABLE
    )
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
        set_condition(
            status,
            FAILURE,
            failure.get("status", "True"),
            failure.get("reason", ""),
            failure.get("message", ""),
            now,
        )
    return status


def seconds_to_deadline(deployment: Stored, now: float) -> float | None:
    """When to look whether the rollout has stood still for too long."""
    deadline = deadline_of(deployment)
    status = deployment.status
    known = condition(status, PROGRESSING)
    if deadline is None or known is None or known.get("reason") in (TIMED_OUT, NEW_AVAILABLE):
        return None
    if is_complete(deployment, status):
        return None
    return max(seconds_of(known.get("lastUpdateTime") or "") + deadline - now, 0.0) + 1.0


def _gets_ahead(before: Document, status: Document) -> bool:
    def count(of: Document, name: str) -> int:
        number: int = of.get(name) or 0
        return number

    def outdated(of: Document) -> int:
        return count(of, "replicas") - count(of, "updatedReplicas")

    return outdated(status) < outdated(before) or any(
        count(status, name) > count(before, name)
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
    for each in (*((new,) if new is not None else ()), *sets):
        found = condition(each.status, FAILURE)
        if found is not None:
            return found
    return None
