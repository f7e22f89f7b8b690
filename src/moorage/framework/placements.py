"""Where the pods of a group may go together: plugins that name such parts of the cluster, and rank them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.framework.extension_points import Plugin
from moorage.framework.status import Status


class Placement(NamedTuple):
    """A part of the cluster."""

    name: str
    """Of a gang that stays in one domain, the value of the label, as in `rack-7`."""
    nodes: frozenset[str]
    """The names of its nodes."""


class PlacedGroup(NamedTuple):
    """A gang as it would be placed in a part of the cluster."""

    key: str
    """`namespace/name` of the PodGroup."""
    placement: Placement
    """Where it was tried."""
    placed: Sequence[tuple[Pod, str]]
    """The pods that fit, each with its node."""


class PlacementGeneratePlugin(Plugin):
    """Says where a PodGroup of Kubernetes itself is tried. In-tree, not for plugins of others."""

    read_only_points = ("placementGenerate",)

    def generate_placements(self, key: str, everywhere: Placement) -> list[Placement] | Status:
        """The parts of the cluster in which the group of this key is tried, or why that cannot be said."""
        raise NotImplementedError


class PlacementScorePlugin(Plugin):
    """Judges where a whole gang would go, when it may go to one of several parts of the cluster.

    A gang that stays in one rack is tried in every rack that may have room; with such a plugin it goes to the
    one with the highest score, and without to the one with the least room. The state of the cluster is that
    without the gang.
    """

    read_only_points = ("placementScore",)
    methods_of_points = ("score_placement",)

    def score_placement(self, group: PlacedGroup) -> int:
        """How good it is that a gang is there: 0 to 100 unless the plugin has `normalize`, too."""
        raise NotImplementedError

    def normalize(self, scores: list[int]) -> list[int]:
        """Brings the scores of all placements into the range 0 to 100, where `score_placement` does not."""
        return scores
