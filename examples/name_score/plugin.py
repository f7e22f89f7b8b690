import re

from moorage import CycleState, NodeInfo, Pod, ScorePlugin


def name_score(node_name: str) -> int:
    """Ten for each unit of the number at the end of a node's name, at most 100."""
    number = re.search(r"[0-9]+$", node_name)
    return min(100, 10 * int(number[0])) if number else 0


class NameScore(ScorePlugin):
    """Prefers the node with the highest number at the end of its name."""

    name = "name-score"

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return name_score(node.name)
