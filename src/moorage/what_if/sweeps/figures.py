"""A figure over several seeds, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class Figure:
    """A figure over several seeds."""

    mean: float
    spread: float
    """The standard deviation; 0 for one seed."""

    def __str__(self) -> str:
        spread = f" ± {short(self.spread)}" if self.spread else ""
        return f"{short(self.mean)}{spread}"


def figure(values: Sequence[float]) -> Figure:
    return Figure(fmean(values), stdev(values) if len(values) > 1 else 0.0)


def short(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
