"""The nodes that have nothing for claims of some kind, kept while volumes are taken and come back."""

from __future__ import annotations

import numpy as np

from moorage.plugins.storage.first_of_groups import NONE, FirstOfGroups
from moorage.plugins.storage.masks import Mask
from moorage.plugins.storage.node_groups import NodeGroups
from moorage.state.columns import Bools, Int32s
from moorage.state.nodes import Rows


class UnservedRows:
    """The rows of which no group has a first one."""

    def __init__(self, groups: NodeGroups, firsts: FirstOfGroups) -> None:
        self._groups = groups
        self._firsts = firsts
        self._made_of: tuple[int, int] | None = None
        self._position = 0
        self._is_serving: Bools
        """By group, as far as it is counted."""
        self._serving_groups: Int32s
        """By row: how many of its groups serve, group 0 left out."""
        self._unserved: Bools
        """By row: whether that is none."""

    def among(self, rows: Rows) -> Mask:
        """Which of these rows are unserved."""
        first = self._firsts.now()
        if first.item(0) != NONE:
            return False  # every row is of group 0
        self._bring_up_to(first)
        unserved: Bools = self._unserved[rows]
        return unserved.copy() if isinstance(rows, slice) else unserved

    def _bring_up_to(self, first: Int32s) -> None:
        turns, made_of = self._firsts.turns, (self._firsts.times_made, self._groups.version)
        turned = turns.since(self._position) if self._made_of == made_of else None
        self._position = turns.end
        if turned is not None:
            for group in turned:
                self._correct(group, first.item(group) != NONE)
            return
        self._made_of = made_of
        self._is_serving = first != NONE
        self._is_serving[0] = False
        pairs = self._groups.pairs_now()
        rows = pairs.rows[self._is_serving[pairs.groups]]
        self._serving_groups = np.bincount(rows, minlength=self._groups.row_count).astype(np.int32)
        self._unserved = self._serving_groups == 0

    def _correct(self, group: int, is_serving: bool) -> None:
        if group == 0 or self._is_serving[group] == is_serving:
            return
        self._is_serving[group] = is_serving
        change = 1 if is_serving else -1
        rows = self._groups.rows_of(group)
        if len(rows) == 1:
            # As with the volumes that are part of a node: numbers are much faster than arrays of one.
            row = rows.item(0)
            count = self._serving_groups[row] = self._serving_groups.item(row) + change
            self._unserved[row] = count == 0
            return
        self._serving_groups[rows] += change
        self._unserved[rows] = self._serving_groups[rows] == 0
