"""Tables for people: as wide as the terminal at most, and one whole line per row in a file or pipe."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence

import click

_BETWEEN = "  "
_LEAST_ROOM = 30
"""So wide must the last column be, or its text is better read below the row."""


def terminal_width() -> int | None:
    """How many columns there are; None if nobody looks at a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    stacked: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> None:
    """Prints rows of texts below their headings.

    On a terminal the last column is folded between words, or goes below its row. Where that is not enough,
    every row becomes lines of `heading: text`. `stacked` are the headings in several lines, which save room
    on terminals. `notes` are texts that go below the rows, one for each.
    """
    for line in table_lines(headings, rows, terminal_width(), stacked=stacked, notes=notes):
        click.echo(line)


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    stacked: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of a table for so many columns, or for any number of them."""
    below = [[note] if note else [] for note in notes or [""] * len(rows)]
    shown = list(stacked or headings) if width is not None else list(headings)
    columns = [
        max(_widest(text.splitlines()) for text in (heading, *(row[place] for row in rows)))
        for place, heading in enumerate(shown)
    ]
    *fixed, last = columns
    taken = sum(fixed) + len(_BETWEEN) * len(fixed)
    room = last if width is None else width - taken
    if width is not None and taken - len(_BETWEEN) > width:
        for row, note in zip(rows, below, strict=True):
            yield from _row_in_lines(headings, row, note, width)
        return
    if room < min(_LEAST_ROOM, last):
        for row, note in zip(rows, below, strict=True):
            note[:0] = [f"{headings[-1]}: {row[-1]}"] if row[-1] else []
        shown, rows, columns, room = shown[:-1], [row[:-1] for row in rows], fixed, fixed[-1]
    tallest = max(heading.count("\n") for heading in shown)
    yield from _line(["\n" * (tallest - heading.count("\n")) + heading for heading in shown], columns)
    for row, note in zip(rows, below, strict=True):
        yield from _line([*row[:-1], "\n".join(fold(row[-1], room))], columns)
        for text in note:
            yield from folded(text, width, first="    ")


def _line(texts: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
    """Texts beside one another, in as many lines as the one with the most has."""
    cells = [text.splitlines() for text in texts]
    height = max(map(len, cells))
    for level in range(height):
        parts = (cell[level] if level < len(cell) else "" for cell in cells)
        yield _BETWEEN.join(map(_padded, parts, columns)).rstrip()


def _row_in_lines(
    headings: Sequence[str], row: Sequence[str], notes: Sequence[str], width: int
) -> Iterator[str]:
    named = [f"{heading}: {text}" for heading, text in zip(headings, row, strict=True) if text]
    for place, text in enumerate((*named, *notes)):
        yield from folded(text, width, first="  " if place else "")


def folded(text: str, width: int | None, *, first: str = "") -> Iterator[str]:
    """The text in lines of so many columns, the first behind some blanks, the others behind two more."""
    if width is None:
        yield f"{first}{text}"
        return
    rest = f"{first}  "
    begin, *others = fold(text, width - len(first), width - len(rest))
    yield f"{first}{begin}"
    yield from (f"{rest}{line}" for line in others)


def fold(text: str, width: int, further: int | None = None) -> list[str]:
    """Lines of at most `width` columns, those after the first of `further`; a longer word stays whole."""
    lines: list[str] = []
    room = width
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _wide(longer) <= room:
            lines[-1] = longer
        else:
            room = width if not lines else (width if further is None else further)
            lines.append(word)
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _wide(text))


def _widest(lines: Sequence[str]) -> int:
    return max(map(_wide, lines), default=0)


def _wide(text: str) -> int:
    """How many columns the text takes; some letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
