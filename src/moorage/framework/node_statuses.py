"""Why each node was rejected, in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moorage.framework.status import Code, Status
from moorage.state.columns import Bools
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

Reasons: TypeAlias = tuple[NDArray[np.integer], Sequence[Status]]

_SILENT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class Rejections(NamedTuple):
    """Nodes that were rejected; why they were is found out when somebody asks, in the same cycle."""

    nodes: Nodes
    rejected: Bools
    """Which of them."""
    ask_why: Callable[[NDArray[np.intp], Bools], Reasons]

    def rows(self) -> NDArray[np.intp]:
        places = self.rejected.nonzero()[0]
        rows = self.nodes.rows
        return places + rows.start if isinstance(rows, slice) else rows[places]

    def why(self, rows: NDArray[np.intp]) -> Reasons:
        """For each of the rows the place of its status, from 1 on, and the statuses.

        The place is 0 for one that was not rejected after all.
        """
        return self.ask_why(rows, self.rejected)


class NodeStatuses:
    """One status per node of the table; nodes that were not looked at have the status `absent`.

    Valid within one cycle, as rows move when nodes come and go.
    """

    def __init__(self, table: NodeTable, absent: Status | None = None) -> None:
        """Made by the scheduler, not for plugins."""
        self.absent: Status = absent or _SILENT
        """The status of nodes that were not looked at."""
        self.statuses: list[Status] = []
        """For the scheduler, not for plugins."""
        self._table = table
        self.put_off: list[Rejections] = []
        """Those of which nobody asked yet why; for the scheduler, not for plugins."""

    @cached_property
    def given(self) -> NDArray[np.int32]:
        """By row: the place of its status in `statuses`, from 1 on; 0 if it has none, or it was put off.

        For the scheduler, not for plugins.
        """
        return np.zeros(len(self._table), dtype=np.int32)

    @property
    def _codes(self) -> NDArray[np.int32]:
        self.set_now()
        return self.given

    @property
    def size(self) -> int:
        """How many nodes there are; for the scheduler, not for plugins."""
        return len(self._table)

    def set_now(self) -> None:
        """Sets what was put off; whatever comes from now on goes before it. Not for plugins."""
        while self.put_off:
            rejections = self.put_off.pop(0)
            rows = rejections.rows()
            numbers, said = rejections.why(rows)
            places = np.zeros(len(said) + 1, dtype=np.int32)
            for number in np.unique(numbers).tolist():
                places[number] = self.add_status(said[number - 1]) if number else 0
            self.given[rows] = places[numbers]

    def add_status(self, status: Status) -> int:
        """Registers a status and returns its code for `set_rows`; not for plugins."""
        self.statuses.append(status)
        return len(self.statuses)

    def first_error(self) -> Status | None:
        """A status that is no rejection but a failure, if some node has one."""
        for code, status in enumerate(self.statuses, 1):
            if not status.rejected and bool((self.given == code).any()):
                return status
        return None

    def set_row(self, row: int, status: Status) -> None:
        """For the scheduler, not for plugins."""
        # What was put off must not come later than this.
        self._codes[row] = self.add_status(status)

    def set_rows(self, rows: NDArray[np.intp], code: int) -> None:
        """For the scheduler, not for plugins."""
        self.given[rows] = code

    def __len__(self) -> int:
        """How many nodes have a status of their own."""
        return int(np.count_nonzero(self._codes))

    def get(self, name: str) -> Status:
        """Why the node of this name was rejected."""
        info = self._table.by_name.get(name)
        code = 0 if info is None else int(self._codes[info.row])
        return self.statuses[code - 1] if code else self.absent

    def nodes_with(self, code: Code) -> list[str]:
        """The names of the nodes whose status has this code."""
        infos = self._table.infos
        return [infos[row].name for row in self.rows_with(code).tolist()]

    def rows_with(self, code: Code) -> NDArray[np.intp]:
        """As `nodes_with`, the rows of the nodes in the table, in their order; not for plugins."""
        codes = self._codes
        wanted = np.array([self.absent.code == code, *(status.code == code for status in self.statuses)])
        return np.flatnonzero(wanted[codes])

    def explicit(self) -> Iterator[tuple[str, Status]]:
        """Node name and status, for every node that has one of its own."""
        for row in np.flatnonzero(self._codes).tolist():
            yield self._table.infos[row].name, self.statuses[self._codes[row] - 1]

    def reasons(self) -> dict[str, int]:
        """How many nodes give each reason, those without a status of their own included."""
        codes = self._codes
        counts = np.bincount(codes, minlength=len(self.statuses) + 1).tolist()
        histogram: dict[str, int] = {}
        for status, count in zip((self.absent, *self.statuses), counts, strict=True):
            for reason in status.reasons if count else ():
                histogram[reason] = histogram.get(reason, 0) + count
        return histogram

    def plugins(self) -> tuple[set[str], set[str]]:
        """The plugins that rejected nodes, and those among them that did so as pending."""
        used = set(np.unique(self._codes).tolist())
        found = [status for code, status in enumerate(self.statuses, 1) if code in used and status.plugin]
        return (
            {status.plugin for status in found},
            {status.plugin for status in found if status.code is Code.PENDING},
        )
