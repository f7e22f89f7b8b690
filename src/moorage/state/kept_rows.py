"""Answers about nodes that are kept: for each row, until the row changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.state.columns import Bools, Int64s
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes
from moorage.state.row_changes import RowChanges

_CHUNK_BITS = 7
_FEW = 16
"""So many rows are corrected one by one; where more changed, their chunks are computed again."""
_MOST_SAID = 4096
_MOST_CHANGES = 2048


class KeptRows:
    """Numbers per row of the node table, computed in chunks when they are first asked for.

    Rows that changed since are corrected, so that the work goes by what changed and not by what is there.
    """

    __slots__ = ("_changes", "_known", "_order", "_position", "_table")

    def __init__(self, table: NodeTable, changes: RowChanges) -> None:
        self._table = table
        self._changes = changes
        self._order = -1
        self._position = 0
        self._known = bytearray()
        """By chunk: whether its rows were computed."""

    def _begin(self, size: int) -> None:
        """Forgets everything; the table has so many rows now."""
        raise NotImplementedError

    def _fill(self, rows: slice) -> None:
        raise NotImplementedError

    def _correct(self, row: int) -> None:
        raise NotImplementedError

    def _bring_up_to(self, rows: slice | NDArray[np.intp]) -> None:
        """Makes the numbers of these rows what they are now."""
        end = self._changes.end
        if self._order != self._table.order_version:
            self._restart(end)
        elif self._position != end:
            self._catch_up(end)
        if isinstance(rows, slice):
            self._fill_unknown(rows.start >> _CHUNK_BITS, ((rows.stop - 1) >> _CHUNK_BITS) + 1)
        elif 0 in self._known:
            # Rows come in any order: a search may begin anew at the first one, extenders answer as they like.
            chunks = rows >> _CHUNK_BITS
            unknown = np.frombuffer(self._known, dtype=np.uint8)[chunks] == 0
            if unknown.any():
                wanted = np.unique(chunks[unknown])
                for run in np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1):
                    self._fill_unknown(int(run[0]), int(run[-1]) + 1)

    def _fill_unknown(self, first: int, end: int) -> None:
        """Computes those of the chunks that are not known."""
        known, table = self._known, self._table
        while (first := known.find(0, first, end)) >= 0:
            # Chunks side by side are computed together.
            after = known.find(1, first, end)
            after = end if after < 0 else after
            known[first:after] = b"\1" * (after - first)
            self._fill(slice(first << _CHUNK_BITS, min(after << _CHUNK_BITS, len(table))))

    def _restart(self, end: int) -> None:
        size = len(self._table)
        self._order = self._table.order_version
        self._position = end
        self._known = bytearray((size >> _CHUNK_BITS) + 1)
        self._begin(size)

    def _catch_up(self, end: int) -> None:
        rows = self._changes.since(self._position)
        self._position = end
        known = self._known
        if rows is None or len(rows) > max(len(known), _FEW):
            known[:] = bytes(len(known))
        elif len(rows) <= _FEW:
            for row in rows:
                if known[row >> _CHUNK_BITS]:
                    self._correct(row)
        else:
            for row in rows:
                known[row >> _CHUNK_BITS] = 0


class KeptReasons(KeptRows):
    """Why rows are rejected, as far as somebody asked: for each row the place of what was said, from 1 on."""

    __slots__ = ("_numbers", "_places", "said")

    def __init__(self, table: NodeTable, changes: RowChanges) -> None:
        super().__init__(table, changes)
        self.said: list[Any] = []
        self._places: dict[Any, int] = {}
        self._numbers: NDArray[np.uint16]

    def of(
        self, rows: NDArray[np.intp], ask: Callable[[NDArray[np.intp]], Sequence[Hashable]]
    ) -> NDArray[np.uint16]:
        """The places of what is said of these rows; `ask` is asked about those of which that is not known.

        It may answer None for some of them, which stay unknown and have place 0.
        """
        if len(self.said) > _MOST_SAID:
            self.said, self._places = [], {}
            self.forget()
        self._bring_up_to(rows)
        found: NDArray[np.uint16] = self._numbers[rows]
        if not found.all():
            unknown = rows[found == 0]
            self._numbers[unknown] = [self._place_of(reason) for reason in ask(unknown)]
            found = self._numbers[rows]
        return found

    def forget(self) -> None:
        """Everything is to be asked again."""
        self._order = -1

    def _place_of(self, reason: Hashable) -> int:
        if reason is None:
            return 0
        place = self._places.get(reason)
        if place is None:
            self.said.append(reason)
            place = self._places[reason] = len(self.said)
        return place

    def _begin(self, size: int) -> None:
        self._numbers = np.zeros(size, dtype=np.uint16)

    def _fill(self, rows: slice) -> None:
        self._numbers[rows] = 0

    def _correct(self, row: int) -> None:
        self._numbers[row] = 0


class KeptVerdicts(KeptRows):
    """Which rows a filter rejects."""

    __slots__ = ("_dirty", "_of_rows", "_rejected", "reasons", "rejects")

    def __init__(
        self,
        table: NodeTable,
        changes: RowChanges,
        of_rows: Callable[[Nodes], Bools],
        of_row: Callable[[int], bool],
    ) -> None:
        """`of_rows` and `of_row` tell the same: whether a row is rejected."""
        super().__init__(table, changes)
        self.reasons = KeptReasons(table, changes)
        self._of_rows = of_rows
        self.rejects = of_row
        """Whether a row is rejected as it is now."""
        self._rejected: Bools
        self._dirty = bytearray()
        """By chunk: whether some of its rows may be rejected."""

    def rejected(self, nodes: Nodes) -> Bools | None:
        """Which of these nodes are rejected; None if none is."""
        rows = nodes.rows
        if not isinstance(rows, slice):
            if len(rows) <= _FEW:
                few = np.array([self.rejects(row) for row in rows.tolist()], dtype=np.bool_)
                return few if few.any() else None
        elif rows.stop - rows.start <= 1:
            is_rejected = rows.start < rows.stop and self.rejects(rows.start)
            return np.ones(1, dtype=np.bool_) if is_rejected else None
        self._bring_up_to(rows)
        if isinstance(rows, slice):
            first, last = rows.start >> _CHUNK_BITS, (rows.stop - 1) >> _CHUNK_BITS
            if 1 not in self._dirty[first : last + 1]:
                return None
        found: Bools = self._rejected[rows]
        return found if found.any() else None

    def _begin(self, size: int) -> None:
        self._rejected = np.zeros(size, dtype=np.bool_)
        self._dirty = bytearray(len(self._known))

    def _fill(self, rows: slice) -> None:
        found = self._of_rows(Nodes(self._table, rows))
        self._rejected[rows] = found
        _mark_chunks(self._dirty, rows, found)

    def _correct(self, row: int) -> None:
        if self.rejects(row):
            self._rejected[row] = True
            self._dirty[row >> _CHUNK_BITS] = 1
        else:
            self._rejected[row] = False


class NeverRejects(KeptVerdicts):
    """What a filter keeps that has nothing against any node."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def rejected(self, nodes: Nodes) -> Bools | None:
        return None


NEVER_REJECTS = NeverRejects()


class RowScores:
    """How a plugin scores rows; `of_rows` and `of_row` tell the same.

    They change with the row; those that have a `version` change with that instead.
    """

    __slots__ = ("of_row", "of_rows", "version")

    def __init__(
        self,
        of_rows: Callable[[Nodes], Int64s],
        of_row: Callable[[int], int],
        version: Callable[[], Hashable] | None = None,
    ) -> None:
        self.of_rows = of_rows
        self.of_row = of_row
        self.version = version


ALL_ZERO = RowScores(lambda nodes: np.zeros(len(nodes), dtype=np.int64), lambda row: 0)
"""Of a plugin that prefers no node."""


class PartsHistory:
    """What the parts of kept scores were at every moment since it began: then, and each change since.

    So a moment can be remembered without a copy of thousands of numbers.
    """

    __slots__ = ("_began_with", "changes")

    def __init__(self, parts: NDArray[np.int8]) -> None:
        self._began_with = parts.copy()
        self.changes: list[tuple[int, int, bytes]] = []
        """From one row to before another, and the new parts, plugin after plugin."""

    @property
    def room(self) -> int:
        """The bytes of what it began with."""
        return self._began_with.nbytes

    def at(self, moment: int) -> NDArray[np.int8]:
        """The parts after so many changes; of rows that nobody had asked for it is anything."""
        parts = self._began_with.copy()
        for begin, end, changed in self.changes[:moment]:
            parts[:, begin:end] = np.frombuffer(changed, dtype=np.int8).reshape(len(parts), end - begin)
        return parts


class KeptScores(KeptRows):
    """The weighted sum of several plugins' scores, and what each gave."""

    __slots__ = ("_history", "_parts", "_totals", "_version", "_versions", "_was_asked", "_weighted")

    def __init__(
        self, table: NodeTable, changes: RowChanges, weighted: Sequence[tuple[RowScores, int]]
    ) -> None:
        super().__init__(table, changes)
        self._weighted = tuple(weighted)
        self._versions = [scores.version for scores, _ in weighted if scores.version is not None]
        self._version: list[Hashable] = []
        self._totals: Int64s
        self._parts: NDArray[np.int8]
        """Scores end at 100."""
        self._history: PartsHistory | None = None
        self._was_asked = False

    def totals(self, nodes: Nodes) -> Int64s:
        """The sums of these nodes; not to be written to."""
        self._check_versions()
        self._bring_up_to(nodes.rows)
        return self._totals[nodes.rows]

    def parts(self, nodes: Nodes) -> NDArray[np.int8]:
        """What each plugin of `weighted` gave to each node, before its weight; not to be written to."""
        self._check_versions()
        self._bring_up_to(nodes.rows)
        return self._parts[:, nodes.rows]

    def moment(self) -> tuple[PartsHistory | None, int]:
        """By which what `parts` gives now can be found later; not the first time, when that is not worth it.

        From the second time on, changes are written down.
        """
        history = self._history
        if history is None or len(history.changes) >= _MOST_CHANGES:
            if not self._was_asked:
                self._was_asked = True
                return None, 0
            history = self._history = PartsHistory(self._parts)
        return history, len(history.changes)

    def _check_versions(self) -> None:
        version = [version() for version in self._versions]
        if version != self._version:
            self._version = version
            self._order = -1

    def _begin(self, size: int) -> None:
        self._history, self._was_asked = None, False
        self._totals = np.zeros(size, dtype=np.int64)
        self._parts = np.zeros((len(self._weighted), size), dtype=np.int8)

    def _fill(self, rows: slice) -> None:
        nodes = Nodes(self._table, rows)
        totals = self._totals[rows]
        totals[:] = 0
        for index, (scores, weight) in enumerate(self._weighted):
            found = scores.of_rows(nodes)
            self._parts[index, rows] = found
            totals += found * weight
        if self._history is not None:
            self._history.changes.append((rows.start, rows.stop, self._parts[:, rows].tobytes()))

    def _correct(self, row: int) -> None:
        total, parts, given = 0, self._parts, []
        for index, (scores, weight) in enumerate(self._weighted):
            if scores.version is None:
                found = parts[index, row] = scores.of_row(row)
            else:
                found = parts.item(index, row)  # of no row alone does it change
            given.append(found)
            total += found * weight
        self._totals[row] = total
        if self._history is not None:
            self._history.changes.append((row, row + 1, bytes(given)))


class KeptRawScores(KeptRows):
    """Scores of one plugin that are still to be normalized."""

    __slots__ = ("_dirty", "_raw", "_scores")

    def __init__(self, table: NodeTable, changes: RowChanges, scores: RowScores) -> None:
        super().__init__(table, changes)
        self._scores = scores
        self._raw: Int64s
        self._dirty = bytearray()
        """By chunk: whether some of its rows may have another score than 0."""

    def of(self, nodes: Nodes) -> Int64s | None:
        """The scores of these nodes, not to be written to; None if all are 0."""
        rows = nodes.rows
        self._bring_up_to(rows)
        if isinstance(rows, slice):
            first, last = rows.start >> _CHUNK_BITS, (rows.stop - 1) >> _CHUNK_BITS
            if 1 not in self._dirty[first : last + 1]:
                return None
        elif 1 not in self._dirty:
            return None
        found: Int64s = self._raw[rows]
        return found if found.any() else None

    def _begin(self, size: int) -> None:
        self._raw = np.zeros(size, dtype=np.int64)
        self._dirty = bytearray(len(self._known))

    def _fill(self, rows: slice) -> None:
        found = self._scores.of_rows(Nodes(self._table, rows))
        self._raw[rows] = found
        _mark_chunks(self._dirty, rows, found)

    def _correct(self, row: int) -> None:
        score = self._raw[row] = self._scores.of_row(row)
        if score:
            self._dirty[row >> _CHUNK_BITS] = 1


def _mark_chunks(marks: bytearray, rows: slice, found: NDArray[Any]) -> None:
    """Marks the chunks of these rows in which something was found, and no others of them."""
    first, end = rows.start >> _CHUNK_BITS, ((rows.stop - 1) >> _CHUNK_BITS) + 1
    marks[first:end] = bytes(end - first)
    for chunk in {place >> _CHUNK_BITS for place in found.nonzero()[0].tolist()} if found.any() else ():
        marks[first + chunk] = 1
