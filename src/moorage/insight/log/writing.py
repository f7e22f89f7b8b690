"""Writes the decision log to a file, in a thread of its own: no pod waits for a disk."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from moorage import __version__
from moorage.insight.log.blocks import block, head_line, open_for_appending
from moorage.insight.log.decision_log import DECIDED, DecisionLog
from moorage.insight.log.entries import Arrays, Entry, Layout, Seen
from moorage.insight.log.matrix import Numbers
from moorage.insight.log.records import (
    FORMAT,
    VERSION,
    AttemptRecord,
    EndRecord,
    Head,
    LayoutRecord,
    OrderRecord,
    Record,
    SeenRecord,
    Start,
)
from moorage.what_if.blocks import append

log = logging.getLogger(__name__)

DEFAULT_SIZE = 100 << 20
KEPT_FILES = 5
"""The file and those that it was before, as FILE.1 and so on; the oldest goes."""
MOST_WAITING = 50_000
EVERY_SECONDS = 1.0
_RECORDS_IN_A_BLOCK = 512
_HOLDS = "names, namespaces, UIDs and labels of pods; names of nodes; what plugins said about them"
_HOLDS_REDACTED = "names of nodes, what plugins said about them; pods as random names, without labels"


class LogFile:
    """Appends every attempt of a log to a file from `start` to `stop`, or for the length of a `with` block.

    Raises NotALog or OSError where the file cannot be written. One larger than `most_bytes` is moved aside.
    With `redact`, names, namespaces, UIDs and labels of pods are left out.
    """

    def __init__(
        self, path: Path, decisions: DecisionLog, *, most_bytes: int = DEFAULT_SIZE, redact: bool = False
    ) -> None:
        self._path = path
        self._decisions = decisions
        self._most_bytes = most_bytes
        self._redact = redact
        self._names = secrets.token_bytes(16)
        self._waiting: deque[tuple[Entry, bool]] = deque()
        self._missed = 0
        self._encoder = _Encoder(self._alias if redact else None)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="decision-log", daemon=True)
        self._failed = False
        self._stream = self._open()

    def __enter__(self) -> LogFile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        self._decisions.followers.append(self._note)
        self._thread.start()

    def stop(self) -> None:
        """Writes what waits and closes the file."""
        if self._note in self._decisions.followers:
            self._decisions.followers.remove(self._note)
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._write()
        self._stream.close()

    def _note(self, entry: Entry, what: str) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._missed += 1
            return
        self._waiting.append((entry, what == DECIDED))

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            self._write()

    def _write(self) -> None:
        try:
            while self._waiting:
                self._write_some()
            self._failed = False
        except Exception as error:
            self._encoder.begin()  # it thinks that something was written
            if not self._failed:
                self._failed = True
                log.error("The decision log cannot be written to %s: %s; tried again", self._path, error)
        if self._missed:
            log.warning("%d records are missing in the decision log %s", self._missed, self._path)
            self._missed = 0

    def _write_some(self) -> None:
        records: list[Record] = []
        count = min(len(self._waiting), _RECORDS_IN_A_BLOCK)
        for entry, is_new in [self._waiting[place] for place in range(count)]:
            if is_new:
                records += self._encoder.attempt(entry)
            else:
                records.append(self._encoder.end(entry))
        append(self._stream, block(records))
        for _ in range(count):
            self._waiting.popleft()
        if self._stream.tell() >= self._most_bytes:
            self._rotate()

    def _rotate(self) -> None:
        self._stream.close()
        for number in range(KEPT_FILES - 1, 0, -1):
            older = _numbered(self._path, number - 1)
            if older.exists():
                older.replace(_numbered(self._path, number))
        self._stream = self._open()

    def _open(self) -> IO[bytes]:
        stream, is_new = open_for_appending(self._path)
        if is_new:
            holds = _HOLDS_REDACTED if self._redact else _HOLDS
            head = Head(FORMAT, VERSION, f"moorage {__version__}", self._redact, holds)
            append(stream, head_line(head))
        self._encoder.begin()
        append(stream, block([Start(time.time(), __version__, self._redact)]))
        return stream

    def _alias(self, uid: str) -> str:
        """The same for the same pod in this process, and telling nothing of it."""
        return f"pod-{hashlib.blake2b(uid.encode(), key=self._names, digest_size=6).hexdigest()}"


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


class _Encoder:
    """Makes records of entries; what many of them share stands in a file once."""

    def __init__(self, alias: Callable[[str], str] | None) -> None:
        self._alias = alias
        self.begin()

    def begin(self) -> None:
        """Another file begins, which knows nothing yet."""
        self._orders: set[int] = set()
        self._layouts: dict[Layout, int] = {}
        self._seen: dict[int, int] = {}
        self._last_shared: deque[Seen] = deque(maxlen=64)

    def attempt(self, entry: Entry) -> list[Record]:
        records: list[Record] = []
        seen = entry.seen
        number = next((self._seen[id(each)] for each in self._last_shared if each is seen), 0)
        if not number:
            records += self._found_out(entry, seen)
            number = entry.number
            if len(self._last_shared) == self._last_shared.maxlen:
                self._seen.pop(id(self._last_shared[0]), None)
            self._last_shared.append(seen)  # held here, its id is nobody else's
            self._seen[id(seen)] = number
        namespace, name, uid, labels = entry.namespace, entry.name, entry.uid, entry.labels
        message, after, gang = entry.message, entry.after_message, entry.gang
        if self._alias is not None:
            alias = self._alias(uid)
            message, after = self._without_names(entry, message), self._without_names(entry, after)
            namespace, name, uid, labels = "", alias, alias, {}
            gang = self._group_alias(gang)
        records.append(
            AttemptRecord(
                entry.number,
                number,
                entry.time,
                namespace,
                name,
                uid,
                labels,
                entry.profile,
                entry.tries,
                entry.woken_by,
                entry.outcome,
                entry.node,
                message,
                entry.plugins,
                entry.seconds,
                entry.ended,
                entry.after_by,
                after,
                gang,
            )
        )
        return records

    def end(self, entry: Entry) -> EndRecord:
        message = self._without_names(entry, entry.after_message)
        return EndRecord(entry.number, entry.outcome, entry.ended, entry.after_by, message)

    def _without_names(self, entry: Entry, text: str) -> str:
        if self._alias is None:
            return text
        alias = self._alias(entry.uid)
        if entry.gang:
            text = text.replace(entry.gang, self._group_alias(entry.gang))
        return text.replace(entry.key, alias).replace(entry.uid, alias).replace(entry.name, alias)

    def _group_alias(self, gang: str) -> str:
        return self._alias(gang).replace("pod-", "group-", 1) if gang and self._alias is not None else gang

    def _found_out(self, entry: Entry, seen: Seen) -> list[Record]:
        records: list[Record] = []
        order, layout = seen.order, seen.layout
        if order.number not in self._orders:
            self._orders.add(order.number)
            records.append(OrderRecord(order.number, list(order.names())))
        if layout not in self._layouts:
            self._layouts[layout] = len(self._layouts) + 1
            records.append(LayoutRecord(self._layouts[layout], *layout))
        candidates, pre_filter = seen.candidates, seen.pre_filter
        if self._alias is not None:
            if pre_filter is not None:
                reasons = (self._without_names(entry, reason) for reason in pre_filter.reasons)
                pre_filter = pre_filter._replace(reasons=tuple(reasons))
            candidates = tuple(each._replace(victims=("",) * len(each.victims)) for each in candidates)
        records.append(
            SeenRecord(
                entry.number,
                order.number,
                self._layouts[layout],
                seen.feasible,
                seen.looked_at,
                seen.ties,
                seen.total,
                seen.verdicts,
                seen.absent,
                pre_filter,
                seen.narrowed_to,
                candidates,
                [(point, plugin, seconds) for (point, plugin), seconds in seen.took.items()],
                seen.begin,
                _whole(seen),
            )
        )
        return records


def _whole(seen: Seen) -> Arrays:
    """The arrays with all scores in them, wherever they are kept."""
    arrays = seen.arrays
    if seen.history is None:
        return arrays
    parts = seen.history.at(seen.moment)[:, Numbers(seen).rows]
    return arrays._replace(summed=np.ascontiguousarray(parts).tobytes())
