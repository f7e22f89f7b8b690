"""Trying out on one node's row: what is put on or taken off there is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.api.volume_uses import VolumeUse
from moorage.state.node_info import HostPort, NodeInfo, PodInfo
from moorage.state.undoing import Undoable
from moorage.state.volumes import UseOnNode

if TYPE_CHECKING:
    from moorage.state.cluster import ClusterState


class Trial(Undoable):
    """Changes to one node's row that will be undone; `ClusterState.what_if` makes it, for a `with` block."""

    __slots__ = ("_amounts", "_info", "_pod_count", "_pods", "_ports", "_ports_held", "_state", "_uses", "of")

    def __init__(self, state: ClusterState, info: NodeInfo, of: object = None) -> None:
        super().__init__(state.trials)
        self._state = state
        self._info = info
        self.of = of
        """Whose trial it is, if that matters to somebody."""

    def note(self) -> None:
        table, info = self._state.table, self._info
        row = info.row
        self._pods = info.pods_as_they_are()
        self._pod_count = int(table.pod_count[row]) if row >= 0 else 0
        self._amounts = [(held, held.as_they_are(row)) for held in (table.requested, table.nonzero_requested)]
        self._ports = frozenset(info.used_ports)
        self._ports_held: dict[HostPort, int] = {}
        self._uses: dict[VolumeUse, UseOnNode] = {}

    def add(self, pod_info: PodInfo) -> None:
        self._note_of(pod_info)
        self._state.use(self._info, pod_info)

    def remove(self, pod_info: PodInfo) -> None:
        self._note_of(pod_info)
        self._state.unuse(self._info, pod_info)

    def _note_of(self, pod_info: PodInfo) -> None:
        """Writes down what else a pod takes that the row does not show; the first time is what counts."""
        self._info.pods_as_they_are()  # so that pods may be removed in a loop over the pods of the node
        ports, volumes = self._state.ports, self._state.volumes
        if pod_info.pod.host_ports:
            self._ports_held = {**ports.held(pod_info.pod.host_ports), **self._ports_held}
        for use in pod_info.volume_uses:
            if use not in self._uses:
                self._uses[use] = volumes.as_it_is(self._info.name, use)

    def undo(self) -> None:
        state, info = self._state, self._info
        info.put_pods_back(self._pods)
        state.ports.put_back(info, self._ports, self._ports_held)
        # Two uses may stand for one volume: what was noted of it first is put back last.
        for use, was in reversed(self._uses.items()):
            state.volumes.put_back(info.name, use, was)
        for held, amounts in self._amounts:
            held.put_back(info.row, amounts)
        if info.row >= 0:
            state.table.pod_count[info.row] = self._pod_count
            state.table.usage_changes.note(info.row)
            state.table.pod_changes.note(info.row)

    def __repr__(self) -> str:
        return f"<Trial on node {self._info.name}>"
