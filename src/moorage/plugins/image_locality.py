"""ImageLocality: nodes that have a pod's images already."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.plugins.fresh import Fresh
from moorage.plugins.int64_math import truncated
from moorage.state.columns import Int64s
from moorage.state.kept_rows import RowScores
from moorage.state.lru import Lru
from moorage.state.nodes import Nodes

_MEBIBYTE = 1024 * 1024
_SMALLEST_SUM = 23 * _MEBIBYTE
_LARGEST_SUM_PER_CONTAINER = 1000 * _MEBIBYTE
_KNOWN_TEMPLATES = 128


class WantedImages(NamedTuple):
    names: tuple[str, ...]
    """One per use, so that an image used twice counts twice."""
    containers: int


def wanted_images(pod: Pod) -> WantedImages:
    spec = pod.spec
    containers = (*spec.init_containers, *spec.containers)
    names = [with_tag(container.image) for container in containers]
    names += [with_tag(volume.image.reference) for volume in spec.volumes if volume.image is not None]
    return WantedImages(tuple(names), len(containers))


def with_tag(image: str) -> str:
    """The name with `:latest` if it has neither tag nor digest; a port of the registry is no tag."""
    return f"{image}:latest" if image.rfind(":") <= image.rfind("/") else image


class ImageLocality(ScorePlugin):
    """Prefers nodes that already have the pod's container images, the larger the better."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = handle.state.table
        self._scores = Fresh(_KNOWN_TEMPLATES, self._score_all)
        self._row_scores = Lru[WantedImages, RowScores](_KNOWN_TEMPLATES)

    def row_scores(self, pod: Pod) -> RowScores:
        wanted = wanted_images(pod)
        return self._row_scores.get(wanted) or self._row_scores.put(
            wanted,
            RowScores(
                lambda nodes: self._scores.get(wanted, self._version())[nodes.rows],
                lambda row: int(self._scores.get(wanted, self._version())[row]),
                self._version,
            ),
        )

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        return self._scores.get(wanted_images(pod), self._version())[nodes.rows]

    def _version(self) -> tuple[int, int]:
        """Which nodes have an image, and how many nodes there are, matters to the score of all of them."""
        return self._table.images.version, self._table.order_version

    def _score_all(self, wanted: WantedImages) -> Int64s:
        """The score of every row of the table."""
        table = self._table
        total = len(table)
        sums = np.zeros(total, dtype=np.int64)
        for name in wanted.names:
            image = table.images.find(name)
            if image is not None:
                # The share of nodes that have it keeps pods from crowding on the few with a rare image.
                # Divide, multiply, truncate, in this order.
                share = float(len(image.nodes)) / float(total)
                amount = truncated(np.array(float(image.size) * share))
                sums[[info.row for info in image.nodes]] += amount
        largest = _LARGEST_SUM_PER_CONTAINER * wanted.containers
        clamped = np.maximum(np.minimum(sums, largest), _SMALLEST_SUM)
        scores: Int64s = MAX_SCORE * (clamped - _SMALLEST_SUM) // (largest - _SMALLEST_SUM)
        scores.flags.writeable = False
        return scores
