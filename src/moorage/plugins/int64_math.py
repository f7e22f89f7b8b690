"""Arithmetic as kube-scheduler's machine does it, for numbers at the edge of 64 bits.

NumPy's 64-bit sums and products wrap around as Go's do. What differs is here: NumPy's `//` rounds down where
Go truncates, and a float that does not fit becomes the lowest number there is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage.state.columns import Int64s

LOWEST = -(2**63)


def divided(dividend: Int64s, divisor: Int64s | int) -> Int64s:
    """The quotient, truncated toward zero. Slower than `//`, which does where nothing is negative."""
    with np.errstate(over="ignore"):  # the lowest number divided by -1 is itself
        quotient: Int64s = dividend // divisor
    is_cut = dividend != quotient * divisor
    quotient += is_cut & ((dividend < 0) != (np.asarray(divisor) < 0))
    return quotient


def truncated(numbers: NDArray[np.float64]) -> Int64s:
    """Floats without their fraction; those out of range, and what is no number, become the lowest number."""
    fits = (numbers >= float(LOWEST)) & (numbers < -float(LOWEST))
    return np.where(fits, np.where(fits, numbers, 0.0).astype(np.int64), LOWEST)
