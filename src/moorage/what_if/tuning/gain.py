"""What a tuned configuration gains over its base, by seeds, and whether that can be told from chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.sweeps.figures import Figure, figure, short
from moorage.what_if.sweeps.objectives import value_of

_LEAST = 0.001
"""What is less than this share of the base is no gain worth a change."""


@dataclass(frozen=True)
class Gain:
    """The same seeds with both configurations, in the same order."""

    objective: str
    base: Sequence[Outcome]
    tuned: Sequence[Outcome]

    @property
    def before(self) -> Figure:
        return figure([value_of(outcome, self.objective) for outcome in self.base])

    @property
    def after(self) -> Figure:
        return figure([value_of(outcome, self.objective) for outcome in self.tuned])

    @property
    def differences(self) -> Figure:
        """How much less it is, seed by seed."""
        pairs = zip(self.base, self.tuned, strict=True)
        return figure([value_of(a, self.objective) - value_of(b, self.objective) for a, b in pairs])

    @property
    def placed_before(self) -> Figure:
        return figure([float(outcome.placed) for outcome in self.base])

    @property
    def placed_after(self) -> Figure:
        return figure([float(outcome.placed) for outcome in self.tuned])

    @property
    def share(self) -> float:
        """The gain as a share of what it was before."""
        return self.differences.mean / self.before.mean if self.before.mean else 0.0

    @property
    def why_not(self) -> str:
        """Why there is no gain; empty if there is one."""
        differences = self.differences
        missing = self.placed_before.mean - self.placed_after.mean
        if missing > 0:
            return f"it places {short(missing)} pods fewer"
        if differences.mean < 0:
            return "it is worse"
        if differences.mean <= _LEAST * abs(self.before.mean):
            return "it is the same"
        if differences.mean <= 2 * differences.spread / math.sqrt(len(self.base)):
            return "the difference is within what the seeds make"
        return ""
