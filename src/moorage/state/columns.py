"""Columns: NumPy arrays with one entry per node, kept in step with the rows of the node table."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.quantities import wrapped

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]

H = TypeVar("H", bound=Hashable)

_SMALLEST = 64


class Column:
    """One fact about every node. `data` may be replaced when rows are added: never keep it across cycles."""

    __slots__ = ("__weakref__", "data", "fill")

    def __init__(self, capacity: int, dtype: Any, fill: Any) -> None:
        self.fill = fill
        self.data: NDArray[Any] = np.full(capacity, fill, dtype=dtype)

    def __getitem__(self, row: int) -> Any:
        return self.data[row].item()

    def __setitem__(self, row: int, value: Any) -> None:
        self.data[row] = value

    def add(self, row: int, amount: int) -> int:
        """Adds as 64-bit numbers do: a sum beyond their range wraps around. Returns it as it would be."""
        total: int = self.data.item(row) + amount
        try:
            self.data[row] = total
        except OverflowError:
            self.data[row] = wrapped(total)
        return total


class Columns:
    """All columns of a table. Growing, moving and reordering rows applies to every one of them.

    A column lives as long as somebody holds it.
    """

    def __init__(self) -> None:
        self.size = 0
        self._capacity = _SMALLEST
        self._columns: weakref.WeakSet[Column] = weakref.WeakSet()

    def create(self, dtype: Any = np.int64, fill: Any = 0) -> Column:
        column = Column(self._capacity, dtype, fill)
        self._columns.add(column)
        return column

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def append_row(self) -> int:
        """Adds a row filled with each column's default and returns its number."""
        row = self.size
        if row == self._capacity:
            self._capacity *= 2
            for column in self._columns:
                grown = np.full(self._capacity, column.fill, dtype=column.data.dtype)
                grown[:row] = column.data
                column.data = grown
        self.size = row + 1
        return row

    def remove_row(self, row: int) -> int:
        """Puts the last row in the place of `row`; returns the number the moved row had."""
        last = self.size - 1
        for column in self._columns:
            column.data[row] = column.data[last]
            column.data[last] = column.fill
        self.size = last
        return last

    def reorder(self, order: NDArray[np.intp]) -> Moved:
        """Row i becomes what row `order[i]` was; returns the stretch outside of which nothing moved."""
        places = np.flatnonzero(order != np.arange(len(order)))
        begin, end = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
        rows = order[begin:end]
        for column in self._columns if len(rows) else ():
            column.data[begin:end] = column.data[rows]
        return Moved(begin, rows)


class Moved(NamedTuple):
    """Rows from `begin` on that stand elsewhere now, in their new order."""

    begin: int
    rows: NDArray[np.intp]


class Codes(Generic[H]):
    """Small integers for hashable values, counted, so that the code of a value nobody has is used again.

    Code 0 is for "none". `version` changes whenever a code gets or loses its meaning.
    """

    def __init__(self) -> None:
        self.values: list[H | None] = [None]
        self.version = 0
        self._codes: dict[H, int] = {}
        self._holders: list[int] = [0]
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest code."""
        return len(self.values)

    def get(self, value: H) -> int:
        """The code of a value that some row has, else 0."""
        return self._codes.get(value, 0)

    def hold(self, value: H) -> int:
        code = self._codes.get(value)
        if code is None:
            self.version += 1
            if self._free:
                code = self._free.pop()
                self.values[code] = value
            else:
                code = len(self.values)
                self.values.append(value)
                self._holders.append(0)
            self._codes[value] = code
        self._holders[code] += 1
        return code

    def release(self, code: int) -> None:
        if code == 0:
            return
        self._holders[code] -= 1
        if self._holders[code] == 0:
            self.version += 1
            value = self.values[code]
            assert value is not None
            del self._codes[value]
            self.values[code] = None
            self._free.append(code)
