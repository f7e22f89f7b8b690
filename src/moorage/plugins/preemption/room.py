"""Room on a node, reckoned in numbers where nothing else decides whether a pod fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from moorage.api.pods import Pod
from moorage.api.requests import row_request
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.plugin_errors import is_ours
from moorage.framework.runtime.filtering import usage_decides
from moorage.plugins.node_resources_fit import Demand, NodeResourcesFit, demands_in
from moorage.plugins.resource_scoring import amount_at
from moorage.state.node_info import NodeInfo
from moorage.state.node_table import NodeTable

_UNBOUNDED = 2**62
"""Of what devices serve: not looked at here."""


class FreeRoom:
    """What is left on a node of the resources that a pod asks for, beyond what it asks for."""

    __slots__ = ("_names", "_places", "_spare")

    def __init__(self, names: Sequence[str], spare: list[int], places: int) -> None:
        self._names = names
        self._spare = spare
        self._places = places

    def give(self, request: Mapping[str, int]) -> None:
        """A pod with this request leaves."""
        self._places += 1
        for index, name in enumerate(self._names):
            self._spare[index] += request.get(name, 0)

    def take(self, request: Mapping[str, int]) -> None:
        """A pod with this request comes."""
        self._places -= 1
        for index, name in enumerate(self._names):
            self._spare[index] -= request.get(name, 0)

    def is_enough(self) -> bool:
        return self._places > 0 and min(self._spare, default=0) >= 0


class Room:
    """What a pod needs, where room is all that the pods on a node decide."""

    def __init__(self, table: NodeTable, pod: Pod, demands: Sequence[Demand]) -> None:
        self._table = table
        self._pod = pod
        self._demands = demands
        self._names = [demand.name for demand in demands]

    @classmethod
    def needed(cls, handle: Handle, cycle: CycleState, pod: Pod) -> Room | None:
        """None if other filters than those of Moorage take part, or such as look at more than usage."""
        profile, demands = handle.profile, demands_in(cycle)
        assert profile is not None
        filters = [plugin for plugin, _ in profile.filter]
        if (
            demands is None
            or not usage_decides(profile, cycle)
            or not all(is_ours(type(plugin)) for plugin in filters)
            or not any(type(plugin) is NodeResourcesFit for plugin in filters)
            or handle.state.table.has_extreme_amounts
        ):
            return None
        return cls(handle.state.table, pod, demands)

    def on(self, node: NodeInfo, nominated: Iterable[Pod]) -> FreeRoom:
        """What is left on a node, with the pods that are nominated to it and as important on it."""
        table, row = self._table, node.row
        spare = [
            _UNBOUNDED
            if or_devices and amount_at(table.allocatable, row, name) <= 0
            else amount_at(table.allocatable, row, name) - amount_at(table.requested, row, name) - amount
            for name, amount, or_devices in self._demands
        ]
        free = FreeRoom(self._names, spare, table.allowed_pods[row] - table.pod_count[row])
        for other in nominated:
            if other.priority >= self._pod.priority and other.uid != self._pod.uid and not node.has(other):
                free.take(row_request(other))
        return free
