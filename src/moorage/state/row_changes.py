"""Which rows of the node table changed, for those who keep something per row."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", bound=Hashable)

_MOST_KEPT = 4096


class Changes(Generic[T]):
    """What changed, in the order in which it did. Who keeps something about it remembers `end`."""

    __slots__ = ("_changed", "_forgotten")

    def __init__(self) -> None:
        self._changed: list[T] = []
        self._forgotten = 0

    @property
    def end(self) -> int:
        return self._forgotten + len(self._changed)

    def note(self, changed: T) -> None:
        self._changed.append(changed)
        if len(self._changed) > _MOST_KEPT:
            half = _MOST_KEPT // 2
            del self._changed[:half]
            self._forgotten += half

    def since(self, position: int) -> list[T] | None:
        """What changed since `end` was this; None if that is too long ago."""
        begin = position - self._forgotten
        return None if begin < 0 else self._changed[begin:]


RowChanges: TypeAlias = Changes[int]
"""Rows that move with others (nodes come and go) do not count: `NodeTable.order_version` tells of that."""
