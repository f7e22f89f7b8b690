"""By what replays are compared. Less is better, but never at the price of pods without a node.

Light to import: command lines name the objectives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.what_if.replay.jobs import Outcome

OBJECTIVES = ("pending_p99", "nodes_in_use", "fragmentation", "cost")
"""Fields of an Outcome."""


def value_of(outcome: Outcome, objective: str) -> float:
    """The figure itself; what is not a number counts as the worst."""
    value = float(getattr(outcome, objective))
    return math.inf if math.isnan(value) else value


def rank(outcomes: Sequence[Outcome], objective: str) -> tuple[float, float]:
    """The smaller, the better: first by how many pods were placed, then by the objective, on average.

    Whoever places fewer pods needs fewer nodes, and those pods wait for nothing; that is no gain.
    """
    placed = sum(outcome.placed for outcome in outcomes) / len(outcomes)
    return -placed, sum(value_of(outcome, objective) for outcome in outcomes) / len(outcomes)
