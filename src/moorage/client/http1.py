"""One HTTP/1.1 connection for small requests, for servers that do not speak HTTP/2."""

from __future__ import annotations

import asyncio
import re
from typing import cast

from moorage.client.http2 import HttpAnswer, ProtocolError

_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*(\d+)", re.IGNORECASE)
_LONGEST_HEAD = 2**16


class Http1Connection(asyncio.Protocol):
    """One connection; it carries one exchange at a time."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._buffer = bytearray()
        self._body_at = 0  # where the body begins in the buffer; 0 while the head is not complete
        self._length: int | None = None  # of the body; None when it comes in chunks
        self._head = b""
        self.idle_since = 0.0
        self.usable = True
        self.lost: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's, but have its methods.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        self._fail(
            error if isinstance(error, OSError) else ConnectionResetError("the server closed the connection")
        )
        if not self.lost.done():
            self.lost.set_result(None)

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def ask(self, request: bytes) -> asyncio.Future[HttpAnswer]:
        assert self._transport is not None
        self._answer = self._loop.create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody has asked: whatever this is, it must not answer the next request
            self.abort()
            return
        self._buffer += data
        try:
            answer = self._parsed()
        except (ValueError, IndexError):
            self._fail(ProtocolError("the server's answer is not HTTP/1.1"))
            self.abort()
            return
        if answer is not None:
            waiting, self._answer = self._answer, None
            if not waiting.done():
                waiting.set_result(answer)

    def _fail(self, error: Exception) -> None:
        waiting, self._answer = self._answer, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)

    def _parsed(self) -> HttpAnswer | None:
        """The answer in the buffer, once it is whole."""
        buffer = self._buffer
        while not self._body_at:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(buffer) > _LONGEST_HEAD:
                    raise ValueError
                return None
            self._read_head(bytes(buffer[: end + 2]), end + 4)
        if self._length is None:
            found = _dechunked(buffer, self._body_at)
            if found is None:
                return None
            body, end = found
        else:
            end = self._body_at + self._length
            if len(buffer) < end:
                return None
            body = bytes(buffer[self._body_at : end])
        head = self._head
        if len(buffer) > end or _CLOSE.search(head):
            self.usable = False
        buffer.clear()
        self._body_at = 0
        wait = _RETRY_AFTER.search(head)
        return HttpAnswer(int(head[9:12]), float(wait[1]) if wait else None, body)

    def _read_head(self, head: bytes, body_at: int) -> None:
        if not head.startswith(b"HTTP/1."):
            raise ValueError
        status = int(head[9:12])
        if 100 <= status < 200:  # a word in between; the answer follows
            del self._buffer[:body_at]
            return
        length = _CONTENT_LENGTH.search(head)
        self._head, self._body_at = head, body_at
        if _CHUNKED.search(head):
            self._length = None
        elif length:
            self._length = int(length[1])
        elif status in (204, 304):
            self._length = 0
        else:
            raise ValueError


def _dechunked(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    """The body whose chunks begin at `at`, and where it ends; None while it is not whole."""
    parts: list[bytearray] = []
    while (line_end := buffer.find(b"\r\n", at)) >= 0:
        size = int(buffer[at:line_end].split(b";")[0], 16)
        at = line_end + 2
        if size < 0:
            raise ValueError
        if not size:
            # Trailers, if any, end with an empty line as the head does.
            end = buffer.find(b"\r\n\r\n", line_end)
            return None if end < 0 else (b"".join(parts), end + 4)
        if len(buffer) < at + size + 2:
            return None
        parts.append(buffer[at : at + size])
        at += size + 2
    return None
