"""Trying out on one node's row: what is put on or taken off there is undone, however it ends.

Before anything is changed, what it was is written down, and undoing puts exactly that back. So it does not
matter how far a change came before something was raised, and undoing may be done twice.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from moorage.api.volume_uses import VolumeUse
from moorage.state.node_info import HostPort, NodeInfo, PodInfo
from moorage.state.volumes import UseOnNode

if TYPE_CHECKING:
    from moorage.state.cluster import ClusterState


class Trial:
    """Changes to one node's row that will be undone; `ClusterState.what_if` makes it, for a `with` block.

    Trials end in the opposite order of their beginning: one that ends takes those along that began in it.
    """

    __slots__ = ("_amounts", "_info", "_pod_count", "_pods", "_ports", "_ports_held", "_state", "_uses", "of")

    def __init__(self, state: ClusterState, info: NodeInfo, of: object = None) -> None:
        self._state = state
        self._info = info
        self.of = of
        """Whose trial it is, if that matters to somebody."""

    @property
    def is_open(self) -> bool:
        return self in self._state.trials

    def __enter__(self) -> Trial:
        if self.is_open:
            raise RuntimeError(f"a trial on node {self._info.name} that has not ended cannot begin again")
        table, info = self._state.table, self._info
        row = info.row
        self._pods = info.pods_as_they_are()
        self._pod_count = int(table.pod_count[row]) if row >= 0 else 0
        self._amounts = [(held, held.as_they_are(row)) for held in (table.requested, table.nonzero_requested)]
        self._ports = frozenset(info.used_ports)
        self._ports_held: dict[HostPort, int] = {}
        self._uses: dict[VolumeUse, UseOnNode] = {}
        self._state.trials.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_open:
            self._state.undo_trials(self._state.trials.index(self))

    def add(self, pod_info: PodInfo) -> None:
        self._note(pod_info)
        self._state.use(self._info, pod_info)

    def remove(self, pod_info: PodInfo) -> None:
        self._note(pod_info)
        self._state.unuse(self._info, pod_info)

    def _note(self, pod_info: PodInfo) -> None:
        """Writes down what else a pod takes that the row does not show; the first time is what counts."""
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
