"""Bringing scores of any size into the range 0 to 100."""

from __future__ import annotations

import numpy as np

from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.plugins.int64_math import divided
from moorage.state.columns import Int64s


def default_normalize(scores: Int64s, *, reverse: bool = False) -> Int64s:
    """The highest score becomes 100 and the others shrink in proportion; `reverse` turns that round.

    Scores should not be negative. Where all are 0 they stay so, or with `reverse` all become 100.
    """
    highest = scores.max(initial=0)
    if highest == 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    scaled = scores * MAX_SCORE
    scaled = scaled // highest if scaled.min() >= 0 else divided(scaled, highest)
    return MAX_SCORE - scaled if reverse else scaled
