"""Which plugin tipped the scale in a decision that was written down."""

from __future__ import annotations

from typing import Any

from moorage.insight.log.matrix import Numbers
from moorage.what_if.tipping import least_change


def tipping(numbers: Numbers) -> dict[str, Any] | None:
    """The plugin whose weight needs the least change, to what, and which node is then as good as the chosen.

    Beyond that weight the other node wins. None if no change of one weight turns the decision.
    """
    if numbers.chosen is None:
        return None
    found = least_change(numbers.by_plugin, numbers.weights, numbers.totals, numbers.chosen)
    if found is None:
        return None
    return {
        "plugin": found.plugin,
        "weight": numbers.weights[found.plugin],
        "newWeight": round(found.weight, 4),
        "then": numbers.names[int(numbers.rows[found.other])],
    }
