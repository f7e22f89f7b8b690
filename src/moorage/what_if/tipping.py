"""Which plugin tipped the scale: the smallest change of one weight that turns a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from moorage.state.columns import Int64s


class Tip(NamedTuple):
    """A plugin, and the weight with which another node would be as good as the chosen."""

    plugin: str
    weight: float
    other: int
    """The place of that node."""


def least_change(
    by_plugin: Mapping[str, Int64s], weights: Mapping[str, int], totals: Int64s, chosen: int
) -> Tip | None:
    """The plugin whose weight needs the least change; None if no change of one weight turns the decision.

    The arrays are over the same nodes: scores before the weights, and their weighted sums.
    """
    if len(totals) < 2:
        return None
    behind = totals[chosen] - totals
    found: tuple[float, Tip] | None = None
    for name, scores in by_plugin.items():
        weight = weights[name]
        ahead = scores[chosen] - scores
        # With a weight of w + d, a node is behind by `behind + d * ahead`.
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(ahead != 0, -behind / ahead, np.inf)
        change[chosen] = np.inf
        change[weight + change < 0] = np.inf
        other = int(np.abs(change).argmin())
        least = float(change[other])
        if np.isfinite(least) and (found is None or abs(least) < found[0]):
            found = abs(least), Tip(name, weight + least, other)
    return None if found is None else found[1]
