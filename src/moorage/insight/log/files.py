"""Reading a decision log from its file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from moorage.insight.log.attempts import Attempt
from moorage.insight.log.blocks import NotALog, read_head, read_records
from moorage.insight.log.entries import Entry, Layout, NodeOrder, Seen
from moorage.insight.log.finding import find
from moorage.insight.log.records import (
    AttemptRecord,
    EndRecord,
    Head,
    LayoutRecord,
    OrderRecord,
    Record,
    SeenRecord,
    Start,
)

__all__ = ["LogOfFile", "NotALog", "read_log"]


class LogOfFile:
    """The attempts of a log file; numbers go on where several processes wrote to it."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._entries: list[Entry] = []
        self._by_number: dict[int, Entry] = {}
        self._orders: dict[int, NodeOrder] = {}
        self._layouts: dict[int, Layout] = {}
        self._seen: dict[int, Seen] = {}
        self._before = 0
        """The highest number of the processes that wrote before."""

    @property
    def newest(self) -> int:
        return self._entries[-1].number if self._entries else 0

    @property
    def oldest(self) -> int:
        return self._entries[0].number if self._entries else 0

    def __len__(self) -> int:
        return len(self._entries)

    def attempt(self, number: int) -> Attempt | None:
        entry = self._by_number.get(number)
        return None if entry is None else Attempt(entry)

    def attempts(
        self,
        *,
        pod: str = "",
        outcome: str = "",
        node: str = "",
        plugin: str = "",
        before: int | None = None,
        limit: int = 100,
    ) -> list[Attempt]:
        """As those of the log in memory."""
        earlier = (each for each in reversed(self._entries) if before is None or each.number < before)
        return [Attempt(entry) for entry in islice(find(earlier, pod, outcome, node, plugin), limit)]

    def read(self, records: Iterable[Record]) -> None:
        for record in records:
            match record:
                case Start():
                    self._before = self.newest
                    self._orders, self._layouts, self._seen = {}, {}, {}
                case OrderRecord():
                    self._orders[record.number] = NodeOrder(record.number, record.names)
                case LayoutRecord():
                    self._layouts[record.number] = Layout(
                        record.filters, record.weights, record.summed, record.skipped
                    )
                case SeenRecord():
                    self._seen[record.number] = self._found_out(record)
                case AttemptRecord():
                    self._add(record)
                case EndRecord():
                    self._end(record)

    def _found_out(self, record: SeenRecord) -> Seen:
        return Seen(
            self._orders[record.order],
            self._layouts[record.layout],
            begin=record.begin,
            feasible=record.feasible,
            looked_at=record.looked_at,
            total=record.total,
            ties=record.ties,
            took={(point, plugin): seconds for point, plugin, seconds in record.took},
            verdicts=record.verdicts,
            absent=record.absent,
            pre_filter=record.pre_filter,
            narrowed_to=record.narrowed_to,
            candidates=record.candidates,
            unpacked=record.arrays,
        )

    def _add(self, record: AttemptRecord) -> None:
        entry = Entry(
            self._before + record.number,
            record.time,
            record.namespace,
            record.name,
            record.uid,
            record.labels,
            record.profile,
            record.tries,
            record.woken_by,
            record.seconds,
            self._seen[record.seen],
            record.outcome,
            record.node,
            record.message,
            record.plugins,
            is_alike=record.seen != record.number,
            ended=record.ended,
            after_by=record.after_by,
            after_message=record.after_message,
            gang=record.gang,
        )
        self._entries.append(entry)
        self._by_number[entry.number] = entry

    def _end(self, record: EndRecord) -> None:
        entry = self._by_number.get(self._before + record.number)
        if entry is not None:  # it may be in the file before this one
            entry.outcome, entry.ended = record.outcome, record.ended
            entry.after_by, entry.after_message = record.after_by, record.after_message


def read_log(path: str | Path) -> LogOfFile:
    """The log in a file; what is torn at its end is left out. Raises NotALog and OSError."""
    path = Path(path)
    with path.open("rb") as stream:
        found = LogOfFile(read_head(stream, path))
        try:
            found.read(read_records(stream))
        except KeyError as error:
            raise NotALog(f"{path}: damaged: a record speaks of {error}, which is not there") from None
    return found
