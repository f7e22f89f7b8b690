"""How many pods each replica set of a deployment may have while one template replaces another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.cluster.base.store import Document, Stored

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"

RECREATE = "Recreate"


def wanted(stored: Stored) -> int:
    """The replicas in the spec of a deployment or a replica set."""
    replicas: int = stored.spec.get("replicas", 1)
    return max(replicas, 0)


def counted(stored: Stored, name: str) -> int:
    """A count in the status."""
    count: int = stored.status.get(name) or 0
    return count


def strategy_type(deployment: Stored) -> str:
    strategy: Document = deployment.spec.get("strategy") or {}
    return strategy.get("type") or "RollingUpdate"


def surge_and_unavailable(deployment: Stored) -> tuple[int, int]:
    """How many pods there may be too many and too few; one of both is at least 1."""
    if strategy_type(deployment) == RECREATE:
        return 0, 0
    total = wanted(deployment)
    rolling = (deployment.spec.get("strategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), total, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), total, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, total)


def size_of_new(deployment: Stored, new: int, everything: int) -> int:
    """To what the newest replica set, of size `new` now, may grow beside the others."""
    total = wanted(deployment)
    if strategy_type(deployment) == RECREATE:
        return total
    room = total + surge_and_unavailable(deployment)[0] - everything
    return new if room <= 0 else new + min(room, total - new)


def sizes_of_old(deployment: Stored, new: Stored, old: Sequence[Stored]) -> dict[str, int]:
    """To what the old replica sets, oldest first, can shrink now without too few pods being available."""
    sizes = {each.name: wanted(each) for each in old}
    least = wanted(deployment) - surge_and_unavailable(deployment)[1]
    missing = wanted(new) - counted(new, "availableReplicas")
    room = sum(sizes.values()) + wanted(new) - least - missing
    if room <= 0:
        return sizes
    # Pods that do not serve anyone go first: they would only block the rollout.
    for each in old:
        unhealthy = max(sizes[each.name] - counted(each, "availableReplicas"), 0)
        gone = min(room, unhealthy, sizes[each.name])
        sizes[each.name] -= gone
        room -= gone
    spare = sum(counted(each, "availableReplicas") for each in (*old, new)) - least
    for each in old:
        gone = min(max(spare, 0), sizes[each.name])
        sizes[each.name] -= gone
        spare -= gone
    return sizes


def proportional_sizes(deployment: Stored, active: Sequence[Stored]) -> dict[str, int]:
    """The sizes of the replica sets of a deployment that is scaled in the middle of a rollout."""
    total = wanted(deployment)
    allowed = total + surge_and_unavailable(deployment)[0] if total else 0
    sizes = {each.name: wanted(each) for each in active}
    to_add = allowed - sum(sizes.values())
    if to_add == 0:
        return sizes
    by_age = sorted(active, key=lambda each: (each.created, each.name), reverse=to_add > 0)
    by_size = sorted(by_age, key=lambda each: -wanted(each))
    added = 0
    for each in by_size:
        if added == to_add:
            break
        share = _share(deployment, each, allowed)
        share = min(share, to_add - added) if to_add > 0 else max(share, to_add - added)
        sizes[each.name] += share
        added += share
    largest = by_size[0].name
    sizes[largest] = max(sizes[largest] + to_add - added, 0)
    return sizes


def scaled(value: Any, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total rounded up or down; what is neither is 0."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%"):
        return 0
    try:
        parts = int(value[:-1]) * total
    except ValueError:
        return 0
    return -(-parts // 100) if up else parts // 100


def annotation_number(stored: Stored, name: str) -> int | None:
    text = stored.annotations.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _share(deployment: Stored, replica_set: Stored, allowed: int) -> int:
    size = wanted(replica_set)
    if wanted(deployment) == 0:
        return -size
    before = annotation_number(replica_set, MAXIMUM) or counted(deployment, "replicas")
    if not before:
        return 0
    return (2 * size * allowed + before) // (2 * before) - size
