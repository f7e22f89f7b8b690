"""Counts of pods added up per domain (zone, host, ...), kept up to date as pods come and go."""

from __future__ import annotations

import numpy as np

from moorage.state.columns import Bools, Column, Int32s, Int64s
from moorage.state.node_table import NodeTable


class DomainSums:
    """What a column of counts adds up to in every domain of a label, by the code of the label's value.

    Of nodes that are not `included` nothing is counted; None includes all. Code 0 is for nodes without the
    label, unless `labelled` ones alone count.
    """

    __slots__ = (
        "_codes",
        "_column",
        "_included",
        "_labelled",
        "_sums",
        "_table",
        "_topology_key",
        "_version",
    )

    def __init__(self, table: NodeTable, column: Column, topology_key: str, *, labelled: bool) -> None:
        self._labelled = labelled
        self._table = table
        self._column = column
        self._topology_key = topology_key
        self._included: Bools | None = None
        self._version = -1
        self._codes: Int32s = np.zeros(0, dtype=np.int32)
        self._sums: Int64s = np.zeros(0, dtype=np.int64)

    def get(self, included: Bools | None) -> Int64s:
        """The sums as they are now; not to be written to, and not to be kept."""
        table = self._table
        if self._version != table.static_version or self._included is not included:
            label = table.label(self._topology_key)
            counts = self._column.data[: len(table)]
            if included is not None:
                counts = counts * included
            codes = self._codes = label.column.data[: len(table)]
            self._sums = np.bincount(codes, counts, len(label.codes)).astype(np.int64)
            if self._labelled:
                self._sums[0] = 0
            self._included = included
            self._version = table.static_version
        return self._sums

    def add(self, row: int, weight: int) -> None:
        """A pod came to a row, or went, which changed the count there by so much."""
        table = self._table
        if self._version == table.static_version and (self._included is None or self._included[row]):
            code = self._codes.item(row)
            if code or not self._labelled:
                self._sums[code] += weight
