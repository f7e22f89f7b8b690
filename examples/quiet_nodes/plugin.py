from moorage import CycleState, FilterPlugin, NodeInfo, Pod, ScorePlugin, Status


class QuietNodes(FilterPlugin, ScorePlugin):
    """Keeps pods off noisy nodes and prefers the emptiest of the rest."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if node.labels.get("noisy") == "true":
            return Status.unschedulable("node is noisy")
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(0, 100 - len(node.pods))
