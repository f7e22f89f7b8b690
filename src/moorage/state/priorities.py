"""How much of each node is used by pods below a given priority.

Only preemption asks, so nothing is kept until it does for the first time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from moorage.state.columns import Column, Columns, Int64s

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


class UsageByPriority:
    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._usages: dict[int, Usage] | None = None

    def place(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self._change(info, pod_info, +1)

    def remove(self, info: NodeInfo, pod_info: PodInfo) -> None:
        self._change(info, pod_info, -1)

    def _change(self, info: NodeInfo, pod_info: PodInfo, sign: int) -> None:
        if self._usages is None:
            return
        priority = pod_info.pod.priority
        usage = self._usages.get(priority)
        if usage is None:
            usage = self._usages[priority] = Usage(self._table.columns)
        usage.add(info.row, pod_info.request, sign)
        if not usage.total:
            del self._usages[priority]

    def pods_below(self, priority: int) -> Int64s:
        """How many pods with a lower priority each node has."""
        pods = np.zeros(len(self._table), dtype=np.int64)
        for usage in self._below(priority):
            pods += usage.pods.data[: len(pods)]
        return pods

    @contextmanager
    def gone_below(self, priority: int) -> Iterator[None]:
        """Takes all pods with a lower priority off the usage columns of every node, for a while."""
        below = list(self._below(priority))
        self._shift(below, -1)
        try:
            yield
        finally:
            self._shift(below, +1)

    def _shift(self, usages: Iterable[Usage], sign: int) -> None:
        size = len(self._table)
        for usage in usages:
            self._table.pod_count.data[:size] += sign * usage.pods.data[:size]
            for name, amounts in usage.requested.items():
                column = self._table.requested.find(name)
                if column is not None:
                    column.data[:size] += sign * amounts.data[:size]

    def _below(self, priority: int) -> Iterator[Usage]:
        if self._usages is None:
            self._usages = {}
            for info in self._table.infos:
                for pod_info in info.pod_infos:
                    self._change(info, pod_info, +1)
        return (usage for own, usage in self._usages.items() if own < priority)
