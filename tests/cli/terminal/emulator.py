"""A terminal with its scrolled-off lines, which can be made larger and smaller as real ones can.

Some terminals cut lines when they become narrower (xterm), others fold them (most, tmux too): `folds`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyte
from pyte import modes

Row = Any
"""pyte's: characters by column."""


class Emulator(pyte.Screen):
    def __init__(self, columns: int, rows: int, *, folds: bool = False) -> None:
        self._folds = folds
        self._scrolled: list[Row] = []
        self._continued: dict[
            int, tuple[Row, int]
        ] = {}  # by id: rows that go on in the next, and their width
        super().__init__(columns, rows)

    def draw(self, data: str) -> None:
        for letter in data:
            if self.cursor.x == self.columns and modes.DECAWM in self.mode:
                row = self.buffer[self.cursor.y]
                self._continued[id(row)] = row, self.columns
            super().draw(letter)

    def index(self) -> None:
        if self.cursor.y == self.lines - 1:
            self._scrolled.append(self.buffer[0])
        super().index()

    def erase_in_display(self, how: int = 0, *args: Any, **options: Any) -> None:
        assert how == 0, "only what is below the cursor is ever erased"
        for y in range(self.cursor.y, self.lines):
            self._continued.pop(id(self.buffer[y]), None)
        super().erase_in_display(how, *args, **options)

    def change_size(self, columns: int, rows: int) -> None:
        if self._folds and columns != self.columns:
            self._fold(columns)
        spare = self.lines - 1 - self.cursor.y
        for _ in range(max(0, self.lines - rows - spare)):
            self._scroll_off()
        if self.columns > columns:
            for row in self.buffer.values():
                for column in range(columns, self.columns):
                    row.pop(column, None)
        for gone in range(rows, self.lines):
            self.buffer.pop(gone, None)
        self.lines, self.columns = rows, columns
        self.cursor.x = min(self.cursor.x, columns - 1)

    def _scroll_off(self) -> None:
        self._scrolled.append(self.buffer[0])
        for y in range(self.lines - 1):
            self.buffer[y] = self.buffer[y + 1]
        self.buffer.pop(self.lines - 1, None)
        self.cursor.y -= 1

    def _fold(self, columns: int) -> None:
        """Breaks all lines anew; as in tmux, the last of them stay on the screen."""
        old = [*self._scrolled, *(self.buffer[y] for y in range(self.lines))]
        cursor = len(self._scrolled) + self.cursor.y
        while len(old) - 1 > cursor and not self._text([old[-1]]).strip():
            old.pop()
        new: list[Row] = []
        pending: list[Any] = []
        new_cursor = 0
        for number, row in enumerate(old):
            if number == cursor:
                new_cursor = len(new)
            pending += [row[x] for x in range(self._width(row))]
            if id(row) in self._continued:
                continue
            pieces = [pending[at : at + columns] for at in range(0, max(len(pending), 1), columns)]
            for piece in pieces:
                made = type(row)(self.default_char)
                made.update(enumerate(piece))
                new.append(made)
                if piece is not pieces[-1]:
                    self._continued[id(made)] = made, columns
            pending = []
        first = max(0, len(new) - self.lines)
        self._scrolled = new[:first]
        self.buffer.clear()
        self.buffer.update(enumerate(new[first:]))
        self.cursor.y = max(0, new_cursor - first)
        self.columns = columns

    def screen(self) -> list[str]:
        """The rows of the screen."""
        return [self._text([self.buffer[y]]) for y in range(self.lines)]

    def text(self) -> list[str]:
        """All lines, those scrolled off too; what was folded is whole again."""
        lines: list[str] = []
        whole: list[Row] = []
        for row in [*self._scrolled, *(self.buffer[y] for y in range(self.lines))]:
            whole.append(row)
            if id(row) not in self._continued:
                lines.append(self._text(whole))
                whole = []
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _text(self, rows: Iterable[Row]) -> str:
        return "".join(row[x].data for row in rows for x in range(self._width(row))).rstrip()

    def _width(self, row: Row) -> int:
        """Whole rows where the text goes on, so that blanks at their ends are kept."""
        if id(row) in self._continued:
            return self._continued[id(row)][1]
        return max(row, default=-1) + 1
