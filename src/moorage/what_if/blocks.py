"""Files that grow by blocks: each is packed, and can be checked, without the others."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import IO

_SIZES = struct.Struct(">II")
"""Before each block: how many bytes it has, and their CRC-32."""
_LARGEST = 1 << 28
_LEVEL = 6


class Damaged(ValueError):
    """A block that is not as it was written."""

    def __init__(self, begin: int) -> None:
        super().__init__(f"the block at byte {begin} is damaged")
        self.begin = begin
        """Where it begins; everything before is whole."""


class Cut(Damaged):
    """The file ends in the middle of this block, as it does when the one who writes it is killed."""


def open_private(path: Path, *flags: int) -> IO[bytes]:
    """A file to read and write, made if it is not there; only its owner may read it. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | sum(flags), 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        # What could not be written must not be tried again by whoever closes it.
        return os.fdopen(descriptor, "r+b", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def packed(content: bytes) -> bytes:
    """A block as it stands in the file."""
    squeezed = zlib.compress(content, _LEVEL)
    return _SIZES.pack(len(squeezed), zlib.crc32(squeezed)) + squeezed


def unpacked(squeezed: bytes) -> bytes:
    """What `packed` was given. Raises zlib.error."""
    return zlib.decompress(squeezed)


def append(stream: IO[bytes], data: bytes) -> None:
    """All of it or, if an OSError is raised, nothing."""
    begin, left = stream.tell(), memoryview(data)
    try:
        while left:
            left = left[stream.write(left) :]
    except OSError:
        stream.seek(begin)
        stream.truncate()
        raise


def next_block(stream: IO[bytes]) -> bytes | None:
    """The next block, checked and for `unpacked`; None at the end of the file. Raises Damaged, and Cut."""
    begin = stream.tell()
    sizes = stream.read(_SIZES.size)
    if not sizes:
        return None
    if len(sizes) < _SIZES.size:
        raise Cut(begin)
    length, checksum = _SIZES.unpack(sizes)
    if not 0 < length <= _LARGEST:
        raise Damaged(begin)
    squeezed = stream.read(length)
    if len(squeezed) < length and _goes_on(squeezed):
        raise Cut(begin)
    if len(squeezed) < length or zlib.crc32(squeezed) != checksum:
        raise Damaged(begin)
    return squeezed


def _goes_on(squeezed: bytes) -> bool:
    """Whether only its end is missing; otherwise it is the length before it that is wrong."""
    reader = zlib.decompressobj()
    try:
        reader.decompress(squeezed)
    except zlib.error:
        return False
    return not reader.eof
