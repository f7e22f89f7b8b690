import numpy as np
from numpy.typing import NDArray

from moorage import CycleState, NodeInfo, Pod, ScorePlugin


class MyScoringPlugin(ScorePlugin):
    """Scores every node alike: the frame of a score plugin, to be filled with your own logic."""

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 10

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Only scores outside of 0 to 100 have to be changed here, and there are none."""
        return scores
