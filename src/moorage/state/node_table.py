"""The node table: one row per node, one column per fact.

Rows stand in the order in which nodes are looked at (:mod:`moorage.state.zones`), so that a stretch of the
search is a slice of every column. `refresh` restores the order before a cycle, after nodes came or went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from moorage.api.nodes import Node
from moorage.api.quantities import QuantityError
from moorage.api.requests import Resources, allocatable
from moorage.api.taints import Taint
from moorage.state.columns import Codes, Column, Columns
from moorage.state.images import Images
from moorage.state.lru import Lru
from moorage.state.node_info import NodeInfo
from moorage.state.row_changes import RowChanges
from moorage.state.zones import ZoneOrder

_LABEL_COLUMNS = 256
_FACTS = 64


ORDINARY = 2**56
"""Amounts from 0 to this, and a hundred times their differences, fit 64 bits."""


class Amounts(NamedTuple):
    """What a row holds of every resource, and who holds anything of it."""

    extreme: bool
    by_name: dict[str, Column]
    holders: dict[str, int]
    values: list[int]


class ResourceColumns:
    """A column per resource name, kept while some node or pod has that name.

    `extreme` is True from the first amount on that is not ordinary: whoever computes with amounts must then
    reckon with overflow and negative numbers.
    """

    def __init__(self, columns: Columns) -> None:
        self.extreme = False
        self._columns = columns
        self._by_name: dict[str, Column] = {}
        self._holders: dict[str, int] = {}

    def find(self, name: str) -> Column | None:
        return self._by_name.get(name)

    def names(self) -> list[str]:
        return list(self._by_name)

    def at(self, row: int) -> Resources:
        if row < 0:
            return Resources()
        amounts = ((name, column[row]) for name, column in self._by_name.items())
        return Resources((name, amount) for name, amount in amounts if amount)

    def hold(self, row: int, amounts: Mapping[str, int]) -> None:
        for name, amount in amounts.items():
            column = self._by_name.get(name)
            if column is None:
                column = self._by_name[name] = self._columns.create()
                self._holders[name] = 0
            self._holders[name] += 1
            data = column.data
            total = data.item(row) + amount
            if 0 <= total <= ORDINARY:
                data[row] = total
            else:
                column.add(row, amount)
                self.extreme = True

    def release(self, row: int, amounts: Mapping[str, int]) -> None:
        for name, amount in amounts.items():
            self._by_name[name].add(row, -amount)
            self._holders[name] -= 1
            if not self._holders[name]:
                del self._by_name[name], self._holders[name]

    def as_they_are(self, row: int) -> Amounts:
        """For `put_back`, if nothing changes meanwhile but this row."""
        values = [column[row] for column in self._by_name.values()] if row >= 0 else []
        return Amounts(self.extreme, dict(self._by_name), dict(self._holders), values)

    def put_back(self, row: int, amounts: Amounts) -> None:
        self.extreme, self._by_name, self._holders, values = amounts
        if row >= 0:
            for column, value in zip(self._by_name.values(), values, strict=True):
                column[row] = value


class LabelColumn:
    """The value of one label on every node, as codes; 0 where the node lacks the label."""

    def __init__(self, columns: Columns, key: str) -> None:
        self.key = key
        self.codes = Codes[str]()
        self.column = columns.create(np.int32)

    def put(self, info: NodeInfo) -> None:
        self.codes.release(self.column[info.row])
        value = info.node.metadata.labels.get(self.key)
        self.column[info.row] = 0 if value is None else self.codes.hold(value)

    def drop(self, info: NodeInfo) -> None:
        self.codes.release(self.column[info.row])


class Fact:
    """A column of a plugin's own: computed from the node when it appears or changes, and kept."""

    def __init__(self, columns: Columns, compute: Callable[[Node], Any], dtype: Any) -> None:
        self.compute = compute
        self.column = columns.create(dtype)
        self.failed = False

    def put(self, info: NodeInfo) -> None:
        self.column[info.row] = self.compute(info.node)

    def put_if_possible(self, info: NodeInfo) -> None:
        """A node changed: what `compute` raises waits for the plugin that asks for the fact again."""
        try:
            self.put(info)
        except Exception:
            self.failed = True


class NodeTable:
    """All nodes. `static_version` changes with names, labels, taints, cordons, features; not with usage.

    `labels_version` changes with the labels of nodes and the order of rows alone, `order_version` with that
    order alone. `node_changes` tells which nodes changed, `usage_changes` also where pods came and went,
    `pod_changes` even where one changed.
    """

    def __init__(self) -> None:
        self.columns = Columns()
        self.infos: list[NodeInfo] = []
        self.by_name: dict[str, NodeInfo] = {}
        self.images = Images()
        self.taint_sets = Codes[tuple[Taint, ...]]()
        self.static_version = 0
        self.labels_version = 0
        self.order_version = 0
        self.node_changes = RowChanges()
        self.usage_changes = RowChanges()
        self.pod_changes = RowChanges()

        self.allocatable = ResourceColumns(self.columns)
        self.requested = ResourceColumns(self.columns)
        self.nonzero_requested = ResourceColumns(self.columns)
        self.pod_count = self.columns.create()
        self.allowed_pods = self.columns.create()
        self.unschedulable = self.columns.create(np.bool_, False)
        self.taint_code = self.columns.create(np.int32)
        self.problems: dict[str, str] = {}
        self.device_resources: frozenset[str] = frozenset()
        """Those that devices may serve where a node has none of them; another set when that changes."""

        self._order = ZoneOrder(self.columns)
        self._order_is_stale = False
        self._labels = Lru[str, LabelColumn](_LABEL_COLUMNS, trim_on_put=False)
        self._facts = Lru[str, Fact](_FACTS)
        self._allocatable: dict[str, Resources] = {}

    def __len__(self) -> int:
        return self.columns.size

    @property
    def has_extreme_amounts(self) -> bool:
        return self.allocatable.extreme or self.requested.extreme or self.nonzero_requested.extreme

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(self.infos)

    def add(self, info: NodeInfo, node: Node) -> None:
        """Gives a node its row. The caller then places the pods it already knows there."""
        info.row = self.columns.append_row()
        self.infos.append(info)
        self.by_name[info.name] = info
        self._order_is_stale = True
        self._order_changes()
        self._put(info, node)

    def update(self, info: NodeInfo, node: Node) -> None:
        self._put(info, node)

    def remove(self, info: NodeInfo) -> None:
        """Takes a node's row away. The caller has taken its pods off before."""
        for label in self._labels:
            label.drop(info)
        self.taint_sets.release(self.taint_code[info.row])
        self.allocatable.release(info.row, self._allocatable.pop(info.name))
        self.images.withdraw(info)
        info.images = {}
        self.problems.pop(info.name, None)
        self._order.remove(info.row, info.name)
        last = self.columns.remove_row(info.row)
        moved = self.infos.pop()
        if moved is not info:
            moved.row = info.row
            self.infos[info.row] = moved
        assert last == len(self.infos)
        info.row = -1
        del self.by_name[info.name]
        self._order_is_stale = True
        self._order_changes()

    def refresh(self) -> None:
        """Puts the rows in the order of the search after nodes came or went."""
        if self._labels.trim():
            # A label that is asked for again may get other codes.
            self.static_version += 1
        if not self._order_is_stale:
            return
        self._order_is_stale = False
        moved = self.columns.reorder(self._order.restored(len(self)))
        infos = self.infos
        for row, info in enumerate([infos[row] for row in moved.rows.tolist()], moved.begin):
            infos[row] = info
            info.row = row
        self._order_changes()

    def _order_changes(self) -> None:
        self.order_version += 1
        self.labels_version += 1
        self.static_version += 1

    def label(self, key: str) -> LabelColumn:
        found = self._labels.get(key)
        if found is None:
            found = self._labels.put(key, LabelColumn(self.columns, key))
            for info in self.infos:
                found.put(info)
        return found

    def fact(self, name: str, compute: Callable[[Node], Any], dtype: Any) -> Column:
        found = self._facts.get(name)
        if found is None or found.failed:
            found = Fact(self.columns, compute, dtype)
            for info in self.infos:
                found.put(info)
            self._facts.put(name, found)
        return found.column

    def _put(self, info: NodeInfo, node: Node) -> None:
        row, old = info.row, info.node
        info.node = node
        self.node_changes.note(row)
        self.usage_changes.note(row)
        self.pod_changes.note(row)
        self._order.put(row, node)
        if info.name in self._allocatable:
            self.allocatable.release(row, self._allocatable[info.name])
        amounts = self._read_allocatable(node)
        self._allocatable[info.name] = amounts
        self.allocatable.hold(row, amounts)
        self.allowed_pods[row] = amounts["pods"]
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_sets.release(self.taint_code[row])
        self.taint_code[row] = self.taint_sets.hold(node.spec.taints) if node.spec.taints else 0
        for label in self._labels:
            label.put(info)
        for fact in self._facts:
            fact.put_if_possible(info)
        if node.status.images != old.status.images or not info.images or self.images.is_outdated(node):
            info.images = self.images.put(info, node)
        else:
            node.status.images = old.status.images
        if node.metadata.labels != old.metadata.labels:
            self.labels_version += 1
            self.static_version += 1
        elif (
            node.spec != old.spec
            or node.status.declared_features != old.status.declared_features
            or node.metadata.annotations != old.metadata.annotations
        ):
            self.static_version += 1

    def _read_allocatable(self, node: Node) -> Resources:
        """What the node offers; an amount that cannot be read makes the node unusable, with the reason."""
        self.problems.pop(node.name, None)
        try:
            return allocatable(node.status.allocatable)
        except QuantityError as error:
            self.problems[node.name] = f"node(s) had an invalid allocatable: {error}"
            return Resources()
