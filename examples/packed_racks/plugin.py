from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage import CycleState, FilterPlugin, Nodes, Pod, ScorePlugin, Status, Verdicts

MAX_SCORE = 100


class PackedRacksArgs(msgspec.Struct, rename="camel"):
    rack_label: str = "example.com/rack"
    most_percent: Annotated[int, msgspec.Meta(ge=1, le=100)] = 90
    """How much of a rack's CPU pods may ask for; the rest is what power and cooling do not allow."""


class PackedRacks(FilterPlugin, ScorePlugin):
    """Fills one rack after the other, each up to a limit, so that empty racks can be switched off.

    Nodes without the label count as one rack.
    """

    args_type = PackedRacksArgs
    args: PackedRacksArgs

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        requested, allocatable = self._rack_cpu(nodes)
        too_much = (requested + pod.requests["cpu"]) * 100 > allocatable * self.args.most_percent
        return Verdicts.where(too_much, Status.unschedulable("rack has reached its limit"))

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> NDArray[np.int64]:
        requested, allocatable = self._rack_cpu(nodes)
        return np.minimum(requested * 100 // np.maximum(allocatable, 1), MAX_SCORE)

    def _rack_cpu(self, nodes: Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What is requested of, and what there is in, the whole rack of each of these nodes."""
        # The nodes asked about may be a part of a rack, so that the sums are made of all nodes.
        everywhere = self.handle.nodes
        racks = everywhere.label(self.args.rack_label)
        mine = nodes.label(self.args.rack_label).codes

        def per_rack(amounts: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.bincount(racks.codes, amounts, len(racks.values)).astype(np.int64)[mine]

        return per_rack(everywhere.requested["cpu"]), per_rack(everywhere.allocatable["cpu"])
