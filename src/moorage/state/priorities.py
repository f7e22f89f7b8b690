"""How much of each node is used by pods below a given priority.

Only preemption asks, so nothing is kept until it does for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moorage.state.columns import Column, Columns, Int64s
from moorage.state.undoing import Undoable

if TYPE_CHECKING:
    from moorage.state.node_info import NodeInfo, PodInfo
    from moorage.state.node_table import NodeTable


class Usage:
    """The pods of one priority, on every node."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.pods = columns.create()
        self.requested: dict[str, Column] = {}
        self.total = 0

    def add(self, row: int, request: Mapping[str, int], sign: int) -> None:
        self.total += sign
        self.pods.data[row] += sign
        for name, amount in request.items():
            column = self.requested.get(name)
            if column is None:
                column = self.requested[name] = self._columns.create()
            column.add(row, sign * amount)

    def add_all(self, rows: NDArray[np.intp], request: Mapping[str, int]) -> None:
        """One pod with this request on each of the rows, which may come several times."""
        self.total += len(rows)
        np.add.at(self.pods.data, rows, 1)
        for name, amount in request.items():
            column = self.requested.get(name)
            if column is None:
                column = self.requested[name] = self._columns.create()
            np.add.at(column.data, rows, amount)


class UsageByPriority:
    def __init__(self, table: NodeTable, trials: list[Undoable]) -> None:
        self._table = table
        self._trials = trials
        self._usages: dict[int, Usage] | None = None

    def place(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self._change(info, pod_info, +1)

    def remove(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self._change(info, pod_info, -1)

    def _change(self, info: NodeInfo, pod_info: PodInfo, sign: int) -> None:
        if self._usages is not None:
            self._count(self._usages, info, pod_info, sign)

    def _count(self, usages: dict[int, Usage], info: NodeInfo, pod_info: PodInfo, sign: int) -> None:
        priority = pod_info.pod.priority
        usage = usages.get(priority)
        if usage is None:
            usage = usages[priority] = Usage(self._table.columns)
        usage.add(info.row, pod_info.request, sign)
        if not usage.total:
            del usages[priority]

    def _count_all(self) -> dict[int, Usage]:
        """All pods there are, those together that have the same priority and the same request."""
        alike: dict[tuple[int, int], tuple[Mapping[str, int], list[int]]] = {}
        for info in self._table.infos:
            row = info.row
            for pod_info in info.pod_infos:
                key = (pod_info.pod.priority, id(pod_info.request))
                found = alike.get(key)
                if found is None:
                    found = alike[key] = (pod_info.request, [])
                found[1].append(row)
        usages: dict[int, Usage] = {}
        for (priority, _), (request, rows) in alike.items():
            if priority not in usages:
                usages[priority] = Usage(self._table.columns)
            usages[priority].add_all(np.array(rows, dtype=np.intp), request)
        return usages

    def pods_below(self, priority: int) -> Int64s:
        """How many pods with a lower priority each node has."""
        pods = np.zeros(len(self._table), dtype=np.int64)
        for usage in self._below(priority):
            pods += usage.pods.data[: len(pods)]
        return pods

    def gone_below(self, priority: int) -> GoneBelow:
        """Takes all pods with a lower priority off the usage columns of every node, for a `with` block."""
        return GoneBelow(self._table, list(self._below(priority)), self._trials)

    def _below(self, priority: int) -> Iterator[Usage]:
        if self._usages is None:
            self._usages = self._count_all()
        return (usage for own, usage in self._usages.items() if own < priority)


class GoneBelow(Undoable):
    """The usage columns of all nodes without some pods."""

    __slots__ = ("_before", "_table", "_usages")

    def __init__(self, table: NodeTable, usages: Sequence[Usage], trials: list[Undoable]) -> None:
        super().__init__(trials)
        self._table = table
        self._usages = usages

    def note(self) -> None:
        touched = {id(column): column for column, _ in self._amounts()}
        size = len(self._table)
        self._before = [(column, column.data[:size].copy()) for column in touched.values()]

    def change(self) -> None:
        size = len(self._table)
        for column, amounts in self._amounts():
            column.data[:size] -= amounts.data[:size]

    def undo(self) -> None:
        for column, values in self._before:
            column.data[: len(values)] = values

    def _amounts(self) -> Iterator[tuple[Column, Column]]:
        """Columns of the table, each with one whose amounts are to be taken off."""
        for usage in self._usages:
            yield self._table.pod_count, usage.pods
            for name, amounts in usage.requested.items():
                column = self._table.requested.find(name)
                if column is not None:
                    yield column, amounts
