"""How records stand in a log file: a line of JSON, then blocks that can be checked one by one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from moorage.insight.log.records import FORMAT, VERSION, Head, Record
from moorage.what_if.blocks import Damaged, next_block, open_private, packed, unpacked

_LONGEST_HEAD = 1 << 16


class NotALog(ValueError):
    """The file is none that this version can read; the text says why and what to do."""


def head_line(head: Head) -> bytes:
    return msgspec.json.encode(head) + b"\n"


def block(records: Sequence[Record]) -> bytes:
    return packed(msgspec.msgpack.encode(records))


def open_for_appending(path: Path) -> tuple[IO[bytes], bool]:
    """The file, only its owner may read it, and whether it is new; what a crash left half-written is cut off.

    Raises NotALog for another file, and OSError.
    """
    stream = open_private(path)
    try:
        if not stream.read(1):
            return stream, True
        stream.seek(0)
        read_head(stream, path)
        end = max([stream.tell(), *(end for _, end in _blocks(stream))])
        stream.truncate(end)
        stream.seek(end)
        return stream, False
    except BaseException:
        stream.close()
        raise


def read_head(stream: IO[bytes], path: Path) -> Head:
    """Raises NotALog."""
    line = stream.readline(_LONGEST_HEAD)
    try:
        head = msgspec.json.decode(line, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise NotALog(f"{path}: not a decision log; give a file that --decision-log wrote") from None
    if head.format != FORMAT:
        raise NotALog(f"{path}: not a decision log but {head.format}; give a file that --decision-log wrote")
    if head.version != VERSION:
        raise NotALog(
            f"{path}: a decision log of version {head.version}, and this Moorage reads version {VERSION};"
            " use the Moorage that wrote it"
        )
    return head


def read_records(stream: IO[bytes]) -> Iterator[Record]:
    """The records after the head, up to the last whole block."""
    decoder = msgspec.msgpack.Decoder(list[Record])
    for block, _ in _blocks(stream):
        try:
            yield from decoder.decode(unpacked(block))
        except (zlib.error, msgspec.MsgspecError):
            return


def _blocks(stream: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Each whole block and where it ends."""
    try:
        while (block := next_block(stream)) is not None:
            yield block, stream.tell()
    except Damaged:
        return
