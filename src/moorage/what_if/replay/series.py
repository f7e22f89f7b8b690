"""Figures over time in so much memory and no more: their means in equal stretches of the measured time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRETCHES = 480
"""As many as a plot can show."""

Floats = NDArray[np.float64]


class Series:
    """Means over time of several figures that keep their values until they get others."""

    def __init__(self, begin: float, end: float, figures: int, stretches: int = STRETCHES) -> None:
        self.begin = begin
        self.end = end
        self._width = (end - begin) / stretches if end > begin else 1.0
        self._sums = np.zeros((stretches, figures))
        self._covered = np.zeros(stretches)

    def add(self, since: float, until: float, values: Floats) -> None:
        """The figures had these values from one time to another."""
        # Counted from the beginning: seconds since 1970 are not as exact.
        since, until = max(since, self.begin) - self.begin, min(until, self.end) - self.begin
        if until <= since:
            return
        width, last = self._width, len(self._covered) - 1
        first, final = min(int(since / width), last), min(int(until / width), last)
        if first == final:
            self._note(first, until - since, values)
            return
        self._note(first, (first + 1) * width - since, values)
        self._sums[first + 1 : final] += values * width
        self._covered[first + 1 : final] += width
        self._note(final, until - final * width, values)

    def _note(self, stretch: int, seconds: float, values: Floats) -> None:
        self._sums[stretch] += values * seconds
        self._covered[stretch] += seconds

    @property
    def seconds(self) -> float:
        """For how long there are values."""
        return float(self._covered.sum())

    def means(self) -> Floats:
        """The mean of each figure over all that time; zeros if there was none."""
        seconds = self.seconds
        total = self.totals()
        return np.divide(total, seconds) if seconds else total

    def totals(self) -> Floats:
        """Each figure times the seconds that it had the value, added up."""
        total: Floats = self._sums.sum(axis=0)
        return total

    def points(self) -> tuple[Floats, Floats]:
        """The middles of the stretches in which there are values, and the means in each."""
        places = np.flatnonzero(self._covered > self._width * 1e-9)
        times = np.asarray(self.begin + (places + 0.5) * self._width, dtype=np.float64)
        return times, self._sums[places] / self._covered[places, None]
