"""Traces in files: written while things happen, read again and again."""

from __future__ import annotations

import fcntl
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import msgspec

from moorage.api.decoding import DecodeError, from_document
from moorage.what_if.blocks import Cut, Damaged, append, next_block, open_private, packed, unpacked
from moorage.what_if.trace.changes import Change, Head, Trace
from moorage.what_if.trace.kept import Document, kept, traced_kind
from moorage.what_if.trace.records import Record, Records, Told, Writing

FORMAT = "moorage-trace"
VERSION = 1
_BLOCK = 256 << 10
"""So many bytes of records go into a block, which is then packed."""
_LONGEST_HEAD = 1 << 16
_LATEST = 253_402_300_799.0
"""The last second of the year 9999, since 1970."""

log = logging.getLogger(__name__)


class BadTrace(ValueError):
    """A file that cannot be read as a trace; the text is one line that says what and where."""


class TraceFull(Exception):
    """What is to be written would make the file larger than it may be; all before is in it."""


class _FirstLine(Head, frozen=True, kw_only=True, rename="camel"):
    format: str
    version: int


def read_trace(path: Path) -> Trace:
    """Checks a file and reads its head; the changes are read when they are asked for.

    A file that was cut off, as by the end of a recorder that was killed, is read up to there, with a warning.
    Raises BadTrace for any other damage and for another file, and OSError.
    """
    with path.open("rb") as stream:
        head = _read_head(stream, path)
        try:
            while next_block(stream) is not None:
                pass
        except Cut as cut:
            log.warning(
                "%s: cut off at byte %d, as when its recorder is killed; it is read up to there, and "
                "`moorage record --out %s` goes on with it",
                path,
                cut.begin,
                path,
            )
        except Damaged as damaged:
            raise _damaged(path, damaged) from None
    return Trace(_plain(head), _Changes(path))


class _Changes:
    """The changes of a file, as often as they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Change]:
        with self._path.open("rb") as stream:
            head = _read_head(stream, self._path)
            for told in _READERS[head.version](stream, self._path, head):
                kind = traced_kind(told.document)
                if kind is None:
                    continue  # a newer Moorage reads more kinds
                try:
                    item = from_document(kind, told.document)
                except DecodeError as error:
                    raise BadTrace(f"{self._path}: {error}; record or import it anew") from None
                yield Change(told.time, item, told.gone)


def _read_head(stream: IO[bytes], path: Path) -> _FirstLine:
    line = stream.readline(_LONGEST_HEAD)
    if not line:
        raise BadTrace(f"{path}: the file is empty; give one that `moorage record` wrote")
    try:
        found = msgspec.json.decode(line)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError
        version = found.get("version")
        if type(version) is not int or version < 1:
            raise ValueError
        if version in _READERS:
            head = msgspec.convert(found, _FirstLine)
            if not 0 <= head.began <= _LATEST:
                raise ValueError
            return head
    except (ValueError, RecursionError):
        raise BadTrace(f"{path}: not a trace; give a file that `moorage record` wrote") from None
    raise BadTrace(
        f"{path}: a trace of version {version}, and this Moorage reads versions up to {VERSION};"
        " use a newer Moorage"
    )


def _blocks_1(stream: IO[bytes], path: Path) -> Iterator[list[Record]]:
    """The records of each block, up to where the file ends or is cut off."""
    decoder = msgspec.msgpack.Decoder(list[list[Any]])
    while True:
        begin = stream.tell()
        try:
            block = next_block(stream)
            if block is None:
                return
            yield decoder.decode(unpacked(block))
        except Cut:
            return
        except Damaged as damaged:
            raise _damaged(path, damaged) from None
        except (zlib.error, msgspec.MsgspecError):
            raise _damaged(path, Damaged(begin)) from None


def _told_1(stream: IO[bytes], path: Path, head: Head) -> Iterator[Told]:
    for told in _told_by_blocks(stream, path, Records(head.began)):
        yield from told


def _told_by_blocks(stream: IO[bytes], path: Path, records: Records) -> Iterator[list[Told]]:
    """What the records of each block say, which `records` then knows."""
    for number, block in enumerate(_blocks_1(stream, path), 1):
        try:
            yield [_sensible(told) for record in block if (told := records.read(record)) is not None]
        except (LookupError, TypeError, ValueError, AttributeError):
            raise BadTrace(
                f"{path}: block {number} holds what makes no sense; record or import it anew"
            ) from None


def _sensible(told: Told) -> Told:
    """Raises ValueError for what is no object, and for times that no calendar has."""
    if not isinstance(told.document, dict) or not 0 <= told.time <= _LATEST:
        raise ValueError
    return told


_READERS: dict[int, Callable[[IO[bytes], Path, Head], Iterator[Told]]] = {1: _told_1}
"""How each version is read: what has once been written can always be read."""


def _damaged(path: Path, damaged: Damaged) -> BadTrace:
    return BadTrace(f"{path}: {damaged}; copy the file again from where it was written")


def _plain(head: _FirstLine) -> Head:
    return Head(**{name: getattr(head, name) for name in Head.__struct_fields__})


class TraceWriter:
    """Writes a new trace; only the owner may read the file. Raises FileExistsError, OSError and TraceFull.

        with TraceWriter(path, Head(began=time.time())) as trace:
            trace.put(time.time(), {"apiVersion": "v1", "kind": "Node", ...})

    Of objects only what a scheduler reads is written, and of known ones only what has changed. Times that go
    back count as that of the latest change. `close` writes what is left.
    """

    def __init__(self, path: Path, head: Head, *, most_bytes: int | None = None) -> None:
        stream = open_private(path, os.O_EXCL)
        try:
            _lock(stream, path)
            line = {"format": FORMAT, "version": VERSION, **msgspec.to_builtins(head)}
            append(stream, msgspec.json.encode(line) + b"\n")
        except BaseException:
            stream.close()
            raise
        self._begin(path, head, stream, Records(head.began), most_bytes)

    @classmethod
    def resumed(cls, path: Path, *, most_bytes: int | None = None) -> TraceWriter:
        """Goes on with a trace; what was cut off at its end is forgotten. Raises BadTrace, OSError."""
        stream = open_private(path)
        try:
            _lock(stream, path)
            head = _read_head(stream, path)
            if head.version != VERSION:
                raise BadTrace(f"{path}: a trace of version {head.version} can be read, not gone on with")
            records, end = Records(head.began), stream.tell()
            for _ in _told_by_blocks(stream, path, records):
                end = stream.tell()
            stream.seek(end)
            stream.truncate()
        except BaseException:
            stream.close()
            raise
        made = cls.__new__(cls)
        made._begin(path, _plain(head), stream, records, most_bytes)
        return made

    def _begin(
        self, path: Path, head: Head, stream: IO[bytes], records: Records, most_bytes: int | None
    ) -> None:
        self.path = path
        self.head = head
        self.changes = 0
        """How many have been written by this writer."""
        self._stream = stream
        self._records = records
        self._writing = Writing(records)
        self._most_bytes = most_bytes
        self._size = stream.tell()
        self._waiting: list[msgspec.Raw] = []
        self._waiting_bytes = 0
        self._encoder = msgspec.msgpack.Encoder()

    @property
    def size(self) -> int:
        """Bytes of the file; what waits for its block does not count yet."""
        return self._size

    @property
    def time(self) -> float:
        """Of the latest change."""
        return self._records.time

    def documents(self) -> Iterator[Document]:
        """The objects that there are at the end of the trace."""
        return iter(self._records.documents.values())

    def known(self, document: Document) -> Document | None:
        """What is known of an object, by another state of it; None if it is not there."""
        return self._writing.known(document)

    def put(self, time: float, document: Document) -> bool:
        """An object as it is from this time on; returns whether that was anything new."""
        return self._write(self._writing.put(time, self._room_for(kept(document))))

    def gone(self, time: float, document: Document) -> bool:
        """An object as it last was, that is no more; returns whether it was known."""
        return self._write(self._writing.gone(time, self._room_for(kept(document))))

    def flush(self) -> None:
        """Writes what waits, so that it is there whatever happens to this process."""
        if self._waiting:
            block = packed(self._encoder.encode(self._waiting))
            append(self._stream, block)
            self._size += len(block)
            self._waiting, self._waiting_bytes = [], 0

    def close(self) -> None:
        if self._stream.closed:
            return
        try:
            self.flush()
        finally:
            self._stream.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _room_for(self, document: Document) -> Document:
        """Makes sure, before anything counts as known, that it can be written as a whole."""
        if self._most_bytes is not None:
            needed = 3 * len(self._encoder.encode(document)) + _RECORD
            if self._size + self._waiting_bytes + needed > self._most_bytes:
                self.flush()
                if self._size + needed > self._most_bytes:
                    raise TraceFull(f"{self.path}: has its {self._most_bytes} bytes")
        return document

    def _write(self, records: list[Record]) -> bool:
        for record in records:
            encoded = self._encoder.encode(record)
            self._waiting.append(msgspec.Raw(encoded))
            self._waiting_bytes += len(encoded)
        self.changes += bool(records)
        if self._waiting_bytes >= _BLOCK:
            self.flush()
        return bool(records)


def _lock(stream: IO[bytes], path: Path) -> None:
    """Two that write to one file would spoil it."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadTrace(f"{path}: another process writes to it; end that one") from None


_RECORD = 100
"""More bytes than a record takes beside its documents, and a block beside its records."""
