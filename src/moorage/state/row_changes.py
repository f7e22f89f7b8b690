"""Which rows of the node table changed, for those who keep something per row."""

from __future__ import annotations

_MOST_KEPT = 4096


class RowChanges:
    """Row numbers in the order in which the rows changed. Who keeps something per row remembers `end`.

    Rows that move with the others (nodes come and go) do not count: `NodeTable.order_version` tells of that.
    """

    __slots__ = ("_forgotten", "_rows")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0

    @property
    def end(self) -> int:
        return self._forgotten + len(self._rows)

    def note(self, row: int) -> None:
        self._rows.append(row)
        if len(self._rows) > _MOST_KEPT:
            half = _MOST_KEPT // 2
            del self._rows[:half]
            self._forgotten += half

    def since(self, position: int) -> list[int] | None:
        """The rows that changed since `end` was this; None if that is too long ago."""
        begin = position - self._forgotten
        return None if begin < 0 else self._rows[begin:]
