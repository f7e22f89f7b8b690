"""Rules that the specs and statuses of workloads share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.cluster.base.errors import invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import Found, check_nonnegative
from moorage.cluster.schema.forms import percent_problems

ROLLING: dict[str, tuple[str, Any]] = {
    "MaxUnavailable": ("maxUnavailable", 0),
    "MaxSurge": ("maxSurge", 0),
}


def check_count_or_percent(value: int | str, path: str, found: Found) -> None:
    if isinstance(value, str):
        for problem in percent_problems(value):
            found.append(invalid_value(path, value, problem))
    else:
        check_nonnegative(value, path, found)


def check_at_most_all(value: int | str, path: str, found: Found) -> None:
    percent = _percent(value)
    if percent is not None and percent > 100:
        found.append(invalid_value(path, value, "must not be greater than 100%"))


def is_zero(value: int | str) -> bool:
    """Whether nothing is allowed; a text that is neither a number nor a percentage counts as nothing too."""
    percent = _percent(value)
    if percent is not None:
        return percent == 0
    if isinstance(value, str):
        digits = value.lstrip("+-")
        return not (digits.isascii() and digits.isdigit() and len(digits) < 19 and int(digits))
    return value == 0


def _percent(value: int | str) -> int | None:
    if not isinstance(value, str) or percent_problems(value):
        return None
    digits = value[:-1].lstrip("0")
    return int(digits[:10]) if digits else 0  # only whether it is over 100 matters


def check_counts(status: Document, fields: Iterable[str], found: Found) -> None:
    for field in fields:
        check_nonnegative(status.get(field), f"status.{field}", found)


def check_parts(status: Document, fields: Iterable[str], found: Found, *, ready: str) -> None:
    """No part of the replicas is more than all, and those available are ready, as messages call these."""
    replicas = status.get("replicas", 0)
    for field in fields:
        count = status.get(field, 0)
        if count > replicas:
            detail = "cannot be greater than status.replicas"
            found.append(invalid_value(f"status.{field}", count, detail))
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        found.append(invalid_value("status.availableReplicas", available, f"cannot be greater than {ready}"))


def check_collisions(new: Document, old: Document, found: Found) -> None:
    count, before = new.get("collisionCount"), old.get("collisionCount")
    if before is not None and (count is None or count < before):
        found.append(invalid_value("status.collisionCount", count or 0, "cannot be decremented"))


def shown_strategy(strategy: Document, rolling: dict[str, tuple[str, Any]]) -> Document:
    """An update strategy with the names that messages have; `rolling` gives those of its numbers."""
    numbers = strategy.get("rollingUpdate")
    return {
        "Type": strategy.get("type", ""),
        "RollingUpdate": None
        if numbers is None
        else {name: numbers.get(field, absent) for name, (field, absent) in rolling.items()},
    }
