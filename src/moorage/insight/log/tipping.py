"""Which plugin tipped the scale: the smallest change of one weight that turns a decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.insight.log.matrix import Numbers


def tipping(numbers: Numbers) -> dict[str, Any] | None:
    """The plugin whose weight needs the least change, to what, and which node is then as good as the chosen.

    Beyond that weight the other node wins. None if no change of one weight turns the decision.
    """
    place = numbers.chosen
    if place is None or len(numbers.totals) < 2:
        return None
    behind = numbers.totals[place] - numbers.totals
    found: tuple[float, str, float, int] | None = None
    for name, scores in numbers.by_plugin.items():
        weight = numbers.weights[name]
        ahead = scores[place] - scores
        # With a weight of w + d, a node is behind by `behind + d * ahead`.
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(ahead != 0, -behind / ahead, np.inf)
        change[place] = np.inf
        change[weight + change < 0] = np.inf
        other = int(np.abs(change).argmin())
        least = float(change[other])
        if np.isfinite(least) and (found is None or abs(least) < found[0]):
            found = abs(least), name, weight + least, other
    if found is None:
        return None
    _, name, new_weight, other = found
    return {
        "plugin": name,
        "weight": numbers.weights[name],
        "newWeight": round(new_weight, 4),
        "then": numbers.names[int(numbers.rows[other])],
    }
