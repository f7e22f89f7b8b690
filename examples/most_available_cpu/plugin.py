from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage import CycleState, NodeInfo, PluginError, Pod, ScorePlugin


class MostAvailableCPUArgs(msgspec.Struct):
    source: Literal["available", "allocatable"] = "available"
    """What counts: the CPU that nobody has asked for yet, or all of the node's."""


class MostAvailableCPU(ScorePlugin):
    """Prefers the node with the most CPU available."""

    args_type = MostAvailableCPUArgs
    args: MostAvailableCPUArgs

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        if "cpu" not in node.node.status.allocatable:
            raise PluginError(f"error reading node: {node.name} does not say how much CPU it has")
        millicores = node.allocatable["cpu"]
        if self.args.source == "available":
            millicores -= node.requested["cpu"]
        return max(0, millicores)

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """The node with the most gets 100, the others their share of it."""
        most = scores.max()
        return scores * 100 // most if most else scores
