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
        seen = Seen()
        seen.order, seen.layout = self._orders[record.order], self._layouts[record.layout]
        seen.begin, seen.feasible, seen.looked_at = record.begin, record.feasible, record.looked_at
        seen.ties, seen.total, seen.moment = record.ties, record.total, None
        seen.verdicts, seen.absent, seen.pre_filter = record.verdicts, record.absent, record.pre_filter
        seen.narrowed_to, seen.candidates = record.narrowed_to, record.candidates
        seen.took = {(point, plugin): seconds for point, plugin, seconds in record.took}
        seen.keep(record.arrays)
        return seen

    def _add(self, record: AttemptRecord) -> None:
        entry = Entry()
        entry.number = self._before + record.number
        entry.seen, entry.is_alike = self._seen[record.seen], record.seen != record.number
        entry.time, entry.seconds = record.time, record.seconds
        entry.namespace, entry.name, entry.uid = record.namespace, record.name, record.uid
        entry.labels, entry.profile = record.labels, record.profile
        entry.tries, entry.woken_by = record.tries, record.woken_by
        entry.outcome, entry.node = record.outcome, record.node
        entry.message, entry.plugins = record.message, record.plugins
        entry.ended, entry.after_by, entry.after_message = record.ended, record.after_by, record.after_message
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
