"""Changes that hold for a while and are undone, however that ends.

Before anything is changed, what it was is written down, and undoing puts exactly that back. So it does not
matter how far a change came before something was raised, and undoing may be done twice.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Undoable:
    """A change for the length of a `with` block.

    Blocks end in the opposite order of their beginning: one that ends takes those along that began in it.
    """

    __slots__ = ("_open_ones",)

    def __init__(self, open_ones: list[Undoable]) -> None:
        """`open_ones` has those that have begun and not ended."""
        self._open_ones = open_ones

    @property
    def is_open(self) -> bool:
        return self in self._open_ones

    def __enter__(self) -> Self:
        if self.is_open:
            raise RuntimeError(f"{self} has not ended and cannot begin again")
        self.note()
        self._open_ones.append(self)
        self.change()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_open:
            undo_all_but(self._open_ones.index(self), self._open_ones)

    def note(self) -> None:
        """Writes down what is."""
        raise NotImplementedError

    def change(self) -> None:
        """What is done right at the beginning."""

    def undo(self) -> None:
        """Puts back what was written down; whatever has happened since, and if need be again."""
        raise NotImplementedError


def undo_all_but(first: int, open_ones: list[Undoable]) -> None:
    """Ends all but the first so many."""
    while len(open_ones) > first:
        open_ones[-1].undo()
        open_ones.pop()
