"""Nodes on which a pod would fit if some pods went, and which of them is the best choice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from moorage.api.pods import Pod

_OFFSET = 2**31


class Candidate(NamedTuple):
    """A node and the pods that would have to go, the most important first."""

    node_name: str
    victims: tuple[Pod, ...]
    pdb_violations: int


def start_time(pod: Pod, now: float) -> float:
    """When a pod started, in seconds; one that has not counts as starting now."""
    text = pod.status.start_time
    if text is None:
        return now
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return now


def by_importance(now: float) -> Callable[[Pod], tuple[int, float]]:
    """A sort key: higher priority first, then the one that has run longer."""
    return lambda pod: (-pod.priority, start_time(pod, now))


def best_candidates(candidates: list[Candidate], now: float = float("inf")) -> list[Candidate]:
    """The candidates that no criterion tells apart; each criterion keeps the best of what is left."""

    def latest_start(candidate: Candidate) -> float:
        highest = max(victim.priority for victim in candidate.victims)
        important = (victim for victim in candidate.victims if victim.priority == highest)
        return -min(start_time(victim, now) for victim in important)

    criteria: tuple[Callable[[Candidate], float], ...] = (
        lambda candidate: candidate.pdb_violations,
        lambda candidate: candidate.victims[0].priority,
        lambda candidate: sum(victim.priority + _OFFSET for victim in candidate.victims),
        lambda candidate: len(candidate.victims),
        latest_start,
    )
    left = candidates
    for criterion in criteria:
        if len(left) <= 1:
            break
        values = [criterion(candidate) for candidate in left]
        smallest = min(values)
        left = [candidate for candidate, value in zip(left, values, strict=True) if value == smallest]
    return left
