"""Gangs: pods that get their nodes together, enough of them or none."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.framework.extension_points import Plugin


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
