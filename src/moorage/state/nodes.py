"""A stretch of the node table: what the fast form of a plugin is asked about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.api.nodes import Node
from moorage.state.columns import Bools, Column, Int32s, Int64s
from moorage.state.node_info import NodeInfo
from moorage.state.node_table import NodeTable, ResourceColumns

Rows = slice | NDArray[np.intp]


class ResourceView:
    """`nodes.allocatable["cpu"]` and the like: an array with one amount per node, zeros for unknown names."""

    __slots__ = ("_columns", "_nodes")

    def __init__(self, nodes: Nodes, columns: ResourceColumns) -> None:
        """Made by the scheduler, not for plugins."""
        self._nodes = nodes
        self._columns = columns

    def __getitem__(self, name: str) -> Int64s:
        """One amount per node: cpu in millicores, others in whole units."""
        column = self._columns.find(name)
        if column is None:
            return np.zeros(len(self._nodes), dtype=np.int64)
        return column.data[self._nodes.rows]

    def __contains__(self, name: str) -> bool:
        """Whether a node ever had this resource."""
        return self._columns.find(name) is not None


class LabelView:
    """One label on every node: `codes[i]` is an index into `values`; 0 stands for "no such label"."""

    __slots__ = ("codes", "values")

    def __init__(self, codes: Int32s, values: list[str | None]) -> None:
        """Made by the scheduler, not for plugins."""
        self.codes = codes
        """One number per node: its place in `values`, 0 without the label."""
        self.values = values
        """The values of the label; the first is None."""


class Nodes:
    """Nodes in columns. Every array has one entry per node, in the same order; do not write to them.

        free = nodes.allocatable["cpu"] - nodes.requested["cpu"]

    Columns: `allocatable[r]`, `requested[r]`, `nonzero_requested[r]`, `pod_count`, `unschedulable`,
    `label(key)`, and `column(name, compute)` for a fact of your own.
    """

    __slots__ = ("_size", "rows", "table")

    def __init__(self, table: NodeTable, rows: Rows) -> None:
        """Made by the scheduler, not for plugins."""
        self.table = table
        """For the scheduler, not for plugins."""
        self.rows = rows
        """For the scheduler, not for plugins."""
        self._size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    @classmethod
    def all(cls, table: NodeTable) -> Nodes:
        """For the scheduler, not for plugins."""
        return cls(table, slice(0, len(table)))

    def __len__(self) -> int:
        """How many nodes there are."""
        return self._size

    def __iter__(self) -> Iterator[NodeInfo]:
        """The nodes one by one, in the order of the columns."""
        if isinstance(self.rows, slice):
            return iter(self.table.infos[self.rows])
        infos = self.table.infos
        return (infos[row] for row in self.rows.tolist())

    @property
    def names(self) -> list[str]:
        """The names, in the order of the columns."""
        return [info.name for info in self]

    def info(self, index: int) -> NodeInfo:
        """The node at this place of the columns."""
        row: int = self.rows.start + index if isinstance(self.rows, slice) else self.rows[index]
        return self.table.infos[row]

    def index(self, name: str) -> int | None:
        """Where a node stands in these columns, or None."""
        info = self.table.by_name.get(name)
        if info is None:
            return None
        if isinstance(self.rows, slice):
            inside = self.rows.start <= info.row < self.rows.stop
            return info.row - self.rows.start if inside else None
        found = np.flatnonzero(self.rows == info.row)
        return int(found[0]) if len(found) else None

    def among(self, names: Collection[str]) -> Bools:
        """Which of these nodes have one of the names; the work goes by the fewer of the two."""
        if len(self) < len(names):
            return np.array([info.name in names for info in self], dtype=np.bool_)
        marked = np.zeros(len(self.table), dtype=np.bool_)
        for name in names:
            info = self.table.by_name.get(name)
            if info is not None:
                marked[info.row] = True
        found: Bools = marked[self.rows]
        return found

    def row_numbers(self) -> NDArray[np.intp]:
        """The table's row number of each of these nodes; not for plugins."""
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop, dtype=np.intp)
        return self.rows

    def take(self, column: Column) -> NDArray[Any]:
        """The part of a column of the whole table that these nodes have; not for plugins."""
        return column.data[self.rows]

    @property
    def allocatable(self) -> ResourceView:
        """What pods may use in all: `nodes.allocatable["cpu"]` in millicores, others in whole units."""
        return ResourceView(self, self.table.allocatable)

    @property
    def requested(self) -> ResourceView:
        """What the pods on each node ask for, per resource."""
        return ResourceView(self, self.table.requested)

    @property
    def nonzero_requested(self) -> ResourceView:
        """Cpu and memory with a default for containers that ask for nothing: what scores count with."""
        return ResourceView(self, self.table.nonzero_requested)

    @property
    def pod_count(self) -> Int64s:
        """How many pods each node has."""
        return self.take(self.table.pod_count)

    @property
    def allowed_pods(self) -> Int64s:
        """How many pods each node takes."""
        return self.take(self.table.allowed_pods)

    @property
    def unschedulable(self) -> Bools:
        """Which nodes are cordoned."""
        return self.take(self.table.unschedulable)

    def label(self, key: str) -> LabelView:
        """One label on every node, as codes: few values are judged once instead of every node.

        zones = nodes.label("topology.kubernetes.io/zone")
        in_zone_a = np.array([value == "zone-a" for value in zones.values])[zones.codes]
        """
        label = self.table.label(key)
        return LabelView(self.take(label.column), label.codes.values)

    def column(self, name: str, compute: Callable[[Node], Any], dtype: Any = np.float64) -> NDArray[Any]:
        """A fact of your own about every node: computed when a node appears or changes, and kept.

        cost = nodes.column("example.com/cost", lambda node: float(node.labels.get("cost", "0")))
        """
        return self.take(self.table.fact(name, compute, dtype))

    def subset(self, indices: NDArray[np.intp]) -> Nodes:
        """The nodes at these places of this stretch."""
        if isinstance(self.rows, slice):
            return Nodes(self.table, indices + self.rows.start)
        return Nodes(self.table, self.rows[indices])
