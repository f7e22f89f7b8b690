"""PodGroupPodsCount: a PodGroup goes where most of its pods fit."""

from __future__ import annotations

from moorage.framework.handle import Handle
from moorage.framework.placements import PlacedGroup, PlacementScorePlugin
from moorage.framework.pod_groups import PodGroups

_HIGHEST = 100


class PodGroupPodsCount(PlacementScorePlugin):
    """Counts the pods of a group that would have nodes, those included that have one already."""

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = handle.shared(PodGroups)

    def score_placement(self, group: PlacedGroup) -> int:
        return len(self._groups.scheduled(group.key)) + len(group.placed)

    def normalize(self, scores: list[int]) -> list[int]:
        most = max(scores)
        if not most:
            raise ValueError("no pods from pod group are assigned to any of the candidate placements")
        return [score * _HIGHEST // most for score in scores]
