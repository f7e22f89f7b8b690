"""Which volumes the pods on each node use, kept up to date as pods come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.api.volume_uses import UseKind, VolumeUse
from moorage.state.attached_volumes import AttachedVolumes
from moorage.state.claimed_volumes import ClaimedVolumes
from moorage.state.dependents import put_count
from moorage.state.node_table import NodeTable
from moorage.state.objects import Objects
from moorage.state.volume_limits import UsedVolume, VolumeLimits

_DISKS = (UseKind.READS_DISK, UseKind.WRITES_DISK)
_NOWHERE: Mapping[str, int] = {}


class UseOnNode(NamedTuple):
    """What is known of a use on one node."""

    pods: int
    is_known: bool
    used: UsedVolume | None


class Volumes:
    """The nodes on which each volume is used, those that do not exist included; and what is attached."""

    def __init__(self, table: NodeTable, objects: Objects) -> None:
        self._table = table
        self._users: dict[VolumeUse, dict[str, int]] = {}
        self.limits = VolumeLimits(table, objects)
        self.claimed = ClaimedVolumes(objects, self.limits, self.nodes_with)
        self.attached = AttachedVolumes(objects, self.limits)

    def use(self, node: str, uses: Iterable[VolumeUse]) -> None:
        """A pod on the node takes these."""
        for use in uses:
            nodes = self._users.setdefault(use, {})
            nodes[node] = nodes.get(node, 0) + 1
            if nodes[node] == 1 and use.kind not in _DISKS:
                self.claimed.use(use, node)

    def unuse(self, node: str, uses: Iterable[VolumeUse]) -> None:
        for use in uses:
            nodes = self._users[use]
            nodes[node] -= 1
            if nodes[node]:
                continue
            del nodes[node]
            if not nodes:
                del self._users[use]
            if use.kind not in _DISKS:
                self.claimed.unuse(use, node)

    def as_it_is(self, node: str, use: VolumeUse) -> UseOnNode:
        """For `put_back`, if nothing else changes meanwhile."""
        pods = self.nodes_with(use).get(node, 0)
        if use.kind in _DISKS:
            return UseOnNode(pods, False, None)
        volume = self.claimed.volume_of(use)
        used = None if volume is None else self.limits.used_at(volume, node)
        return UseOnNode(pods, self.claimed.is_known(use), used)

    def put_back(self, node: str, use: VolumeUse, was: UseOnNode) -> None:
        """Makes it what it was, however far `use` or `unuse` came meanwhile."""
        put_count(self._users, use, node, was.pods)
        if use.kind not in _DISKS:
            self.claimed.put_back(use, known=was.is_known)
        if was.used is not None:
            self.limits.put_back(was.used, node)

    def nodes_with(self, use: VolumeUse) -> Mapping[str, int]:
        """The names of the nodes on which pods take this, each with the number of times."""
        return self._users.get(use, _NOWHERE)

    def is_used(self, use: VolumeUse) -> bool:
        """Whether a pod on a node that exists takes this."""
        return any(name in self._table.by_name for name in self.nodes_with(use))
