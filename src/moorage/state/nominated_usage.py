"""The usage of many nodes at once as it would be with the pods that are nominated to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.api.requests import row_request
from moorage.state.columns import Column
from moorage.state.node_table import NodeTable
from moorage.state.undoing import Undoable


class NominatedUsage(Undoable):
    """Puts what pods request on the usage columns of their nodes, for a `with` block.

    `is_whole` is False if something is requested that no placed pod requests: then there is no such column.
    """

    __slots__ = ("_added", "_before", "is_whole", "rows")

    def __init__(
        self, table: NodeTable, nominated: Mapping[str, Sequence[Pod]], trials: list[Undoable]
    ) -> None:
        super().__init__(trials)
        self._added: list[tuple[Column, list[int], list[int]]] = []
        by_name: dict[str, tuple[list[int], list[int]]] = {}
        pods: tuple[list[int], list[int]] = ([], [])
        rows: list[int] = []
        for node_name, others in nominated.items():
            info = table.by_name.get(node_name)
            if info is None:
                continue
            rows.append(info.row)
            for other in others:
                if info.has(other):
                    continue
                pods[0].append(info.row)
                pods[1].append(1)
                for name, amount in row_request(other).items():
                    where, amounts = by_name.setdefault(name, ([], []))
                    where.append(info.row)
                    amounts.append(amount)
        self.rows: NDArray[np.intp] = np.array(sorted(rows), dtype=np.intp)
        """Of the nodes that pods are nominated to."""
        self._added.append((table.pod_count, *pods))
        self.is_whole = not table.has_extreme_amounts
        for name, (where, amounts) in by_name.items():
            column = table.requested.find(name)
            if column is None:
                self.is_whole = False
            else:
                self._added.append((column, where, amounts))

    def note(self) -> None:
        self._before = [(column, column.data[self.rows].copy()) for column, _, _ in self._added]

    def change(self) -> None:
        for column, where, amounts in self._added:
            np.add.at(column.data, where, amounts)

    def undo(self) -> None:
        for column, values in self._before:
            column.data[self.rows] = values
