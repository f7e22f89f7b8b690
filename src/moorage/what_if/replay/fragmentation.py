"""How much of what is free is of no use to the pods that typically come.

The measure of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
(USENIX ATC 2023), for any resource. What is free of a resource on a node is of no use to a typical pod if the
pod does not fit on the node, or does not ask for that resource. The typical pods are the kinds of pods of the
trace; each counts by how many there are of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.what_if.replay.lives import Shape

MOST_SHAPES = 64
_COVERED = 0.95
"""The kinds of pods that are most frequent and together make up so much are typical."""

Floats = NDArray[np.float64]


class TypicalPods:
    """The kinds of pods of a trace, most frequent first; `resources` are those that any pod asks for."""

    def __init__(self, shapes: Counter[Shape]) -> None:
        kinds = _most_frequent(shapes)
        total = sum(count for _, count in kinds)
        asked = {name for shape in shapes for name, amount in shape if amount > 0 and name != "pods"}
        self.resources: Sequence[str] = sorted(asked)
        places = {name: place for place, name in enumerate(self.resources)}
        self._asks = np.zeros((len(kinds), len(self.resources)))
        self.popularity = np.array([count / total for _, count in kinds])
        for row, (shape, _) in enumerate(kinds):
            for name, amount in shape:
                if name in places:
                    self._asks[row, places[name]] = amount
        self._weights: Floats = (self._asks > 0) * self.popularity[:, None]

    def useless(self, free: Floats, free_pods: NDArray[np.int64] | Floats) -> Floats:
        """Of what is `free` on nodes (rows) of `resources` (columns): how much typical pods cannot use.

        `free_pods` is how many more pods each of the nodes takes.
        """
        there = np.maximum(free, 0.0)
        # A pod that does not ask for a resource fits, even if more is requested than there is.
        fits = (self._asks[None, :, :] <= there[:, None, :]).all(axis=2) & (free_pods >= 1)[:, None]
        useful: Floats = fits @ self._weights
        return there * (1.0 - useful)


def _most_frequent(shapes: Counter[Shape]) -> list[tuple[Shape, int]]:
    # Equally frequent ones in an order of their own, whatever the order of the trace.
    ordered = sorted(shapes.items(), key=lambda entry: (-entry[1], entry[0]))
    enough, found, kinds = _COVERED * shapes.total(), 0, list[tuple[Shape, int]]()
    for shape, count in ordered[:MOST_SHAPES]:
        kinds.append((shape, count))
        found += count
        if found >= enough:
            break
    return kinds
