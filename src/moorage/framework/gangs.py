"""Gangs: pods that get their nodes together, enough of them or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from moorage.api.pods import Pod
from moorage.framework.extension_points import Plugin
from moorage.state.cluster import ClusterState


class Gang(NamedTuple):
    """What a gang asks for, as it is now."""

    key: str
    """`namespace/name`"""
    minimum: int
    """So many members have nodes, or none has."""
    topology: str = ""
    """A label of nodes: all members go to nodes with the same value; empty if it does not matter."""
    is_topology_required: bool = False
    """Whether they wait rather than be spread over several values."""


class GangPlugin(Plugin):
    """Knows which pods belong together.

    The scheduler takes all waiting members of a gang from the queue at once and places one after the other,
    with all plugins, which need not know of it. If with those that have a node already they are enough, they
    are bound, otherwise every one is taken back before anything else happens.
    """

    def gang_of(self, pod: Pod) -> Gang | None:
        """The gang of a pod; None for one that goes its own way."""
        raise NotImplementedError

    def missing_gang(self, pod: Pod) -> str:
        """The `namespace/name` of the gang that a pod names and that does not exist; otherwise empty."""
        return ""

    def members_of(self, gang: Gang) -> Collection[Pod]:
        """All its pods that there are, with a node or without."""
        raise NotImplementedError

    def gang_tried(self, gang: Gang, *, is_placed: bool) -> None:
        """Its members were tried together: enough of them have nodes now, or none of these."""


def domains_of(state: ClusterState, label: str, pods: Iterable[Pod]) -> set[str]:
    """The values of the label on the nodes that these pods have."""
    placements = (state.placement(pod.uid) for pod in pods)
    found = (placement.node.node.metadata.labels.get(label) for placement in placements if placement)
    return {value for value in found if value is not None}


def home_of(state: ClusterState, gang: Gang, members: Iterable[Pod]) -> set[str] | None:
    """The names of the nodes to which a gang with members on nodes keeps; None if it keeps to none."""
    taken = domains_of(state, gang.topology, members) if gang.topology else ()
    if not taken:
        return None
    label = state.nodes.label(gang.topology)
    is_home = np.array([value in taken for value in label.values])[label.codes]
    return set(np.array(state.nodes.names, dtype=object)[is_home])
