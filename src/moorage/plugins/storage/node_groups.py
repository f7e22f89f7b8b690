"""Which nodes each of many selectors matches, for thousands of selectors and nodes at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.selectors import IN, NodeSelector, NodeSelectorTerm
from moorage.plugins.node_matching import selector_mask
from moorage.state.columns import Int32s, Int64s
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Rows

_FEW = 8
"""So many nodes are sooner looked at one by one than all nodes at once."""


class Pairs(NamedTuple):
    """Rows and groups that they belong to, in two columns."""

    rows: NDArray[np.intp]
    groups: Int32s


@lru_cache(maxsize=16384)
def for_labels(selector: NodeSelector | None) -> NodeSelector | None:
    """What a volume's node affinity says about labels; None if every node will do.

    The name of a node is not looked at: a term that asks for nothing else matches every node.
    """
    if selector is None:
        return None
    terms = [term for term in selector.node_selector_terms if not term.empty and term.problem() is None]
    if any(not term.match_expressions for term in terms):
        return None
    return NodeSelector(tuple(NodeSelectorTerm(term.match_expressions) for term in terms))


class NodeGroups:
    """A number for each different selector, and the pairs of rows and numbers that belong together.

    Group 0 is every node; it has no pairs. The selectors are those that `for_labels` returns.
    """

    def __init__(self, table: NodeTable, selectors: Iterable[NodeSelector | None]) -> None:
        self._table = table
        self._numbers: dict[NodeSelector | None, int] = {None: 0}
        self.group_of: Int32s = np.array(
            [self._numbers.setdefault(each, len(self._numbers)) for each in selectors], dtype=np.int32
        )
        """The group of each selector, in their order."""
        self._version = -1
        self._pairs = Pairs(np.empty(0, np.intp), np.empty(0, np.int32))
        self._begins: NDArray[np.intp]
        """Where the pairs of each row begin, and where those of the last one end."""
        self._by_group: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
        """The rows of one group after the other, and where those of each group end."""

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def version(self) -> int:
        """Changes when the pairs do."""
        return self._table.labels_version

    @property
    def row_count(self) -> int:
        return len(self._table)

    def least(self, by_group: Int32s, rows: Rows) -> Int32s:
        """For each of the rows, the smallest number that a group of it has."""
        places, groups = self.pairs_among(rows)
        size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        found = np.full(size, by_group[0], dtype=by_group.dtype)
        np.minimum.at(found, places, by_group[groups])
        return found

    def greatest(self, by_group: Int64s) -> Int64s:
        """For every row, the largest number that a group of it has."""
        rows, groups = self.pairs_now()
        found = np.full(len(self._table), by_group[0], dtype=by_group.dtype)
        np.maximum.at(found, rows, by_group[groups])
        return found

    def pairs_among(self, rows: Rows) -> Pairs:
        """The pairs of these rows, each with the place that its row has among them."""
        pairs, begins = self.pairs_now(), self._begins
        if isinstance(rows, slice):
            wanted = slice(begins[rows.start], begins[rows.stop])
            return Pairs(pairs.rows[wanted] - rows.start, pairs.groups[wanted])
        counts = begins[rows + 1] - begins[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        before = np.cumsum(counts) - counts
        return Pairs(places, pairs.groups[np.arange(len(places)) + (begins[rows] - before)[places]])

    def groups_of(self, row: int) -> list[int]:
        """The groups of one row, all but 0."""
        groups, begins = self.pairs_now().groups, self._begins
        found: list[int] = groups[begins[row] : begins[row + 1]].tolist()
        return found

    def rows_of(self, group: int) -> NDArray[np.intp]:
        """The rows that belong to a group other than 0."""
        rows, groups = self.pairs_now()
        if self._by_group is None:
            ends = np.cumsum(np.bincount(groups, minlength=len(self)))
            self._by_group = rows[np.argsort(groups, kind="stable")], ends
        by_group, ends = self._by_group
        return by_group[ends[group - 1] : ends[group]]

    def pairs_now(self) -> Pairs:
        """All pairs, by ascending rows."""
        if self._version != self._table.labels_version:
            rows, groups = self._match()
            order = np.argsort(rows, kind="stable")
            self._pairs = Pairs(rows[order], groups[order])
            self._begins = np.searchsorted(self._pairs.rows, np.arange(len(self._table) + 1))
            self._by_group = None
            self._version = self._table.labels_version
        return self._pairs

    def _match(self) -> Pairs:
        of_one_label: dict[str, dict[str, int]] = {}
        others: list[tuple[NodeSelector, int]] = []
        for selector, number in self._numbers.items():
            label = None if selector is None else _one_label(selector)
            if label is not None:
                of_one_label.setdefault(label[0], {})[label[1]] = number
            elif selector is not None:
                others.append((selector, number))
        found = [self._with_label(key, numbers) for key, numbers in of_one_label.items()]
        found += self._with_selectors(others)
        if not found:
            return Pairs(np.empty(0, np.intp), np.empty(0, np.int32))
        return Pairs(
            np.concatenate([each.rows for each in found]), np.concatenate([each.groups for each in found])
        )

    def _with_label(self, key: str, numbers: dict[str, int]) -> Pairs:
        """The groups that ask for one value of this label."""
        label, size = self._table.label(key), len(self._table)
        group_of_code = np.zeros(len(label.codes), dtype=np.int32)
        for value, number in numbers.items():
            group_of_code[label.codes.get(value)] = number
        group_of_code[0] = 0
        groups = group_of_code[label.column.data[:size]]
        rows = np.flatnonzero(groups)
        return Pairs(rows, groups[rows])

    def _with_selectors(self, selectors: list[tuple[NodeSelector, int]]) -> list[Pairs]:
        found = []
        rows_by_value: dict[str, dict[str, list[int]]] = {}
        for selector, number in selectors:
            rows = self._few_rows(selector, rows_by_value)
            if rows is None:
                rows = np.flatnonzero(selector_mask(self._table, selector))
            found.append(Pairs(rows, np.full(len(rows), number, dtype=np.int32)))
        return found

    def _few_rows(
        self, selector: NodeSelector, rows_by_value: dict[str, dict[str, list[int]]]
    ) -> NDArray[np.intp] | None:
        """The rows of a selector with a label that only few nodes have, such as the host name."""
        if len(selector.node_selector_terms) != 1:
            return None
        for line in selector.node_selector_terms[0].match_expressions:
            if line.operator != IN or len(line.values) != 1:
                continue
            known = rows_by_value.get(line.key)
            if known is None:
                known = rows_by_value[line.key] = self._rows_by_value(line.key)
            rows = known.get(line.values[0], [])
            if len(rows) <= _FEW:
                infos = self._table.infos
                matching = [row for row in rows if selector.matches(infos[row].node.labels, "")]
                return np.array(matching, dtype=np.intp)
        return None

    def _rows_by_value(self, key: str) -> dict[str, list[int]]:
        label, size = self._table.label(key), len(self._table)
        codes = label.column.data[:size]
        order = np.argsort(codes, kind="stable")
        values, starts = np.unique(codes[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {
            label.codes.values[code] or "": part.tolist()
            for code, part in zip(values.tolist(), parts, strict=True)
            if code
        }


def _one_label(selector: NodeSelector) -> tuple[str, str] | None:
    """The key and value of a selector that asks for one value of one label."""
    if len(selector.node_selector_terms) != 1:
        return None
    lines = selector.node_selector_terms[0].match_expressions
    if len(lines) != 1 or lines[0].operator != IN or len(lines[0].values) != 1:
        return None
    return lines[0].key, lines[0].values[0]
