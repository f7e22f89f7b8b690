"""A pool of plain HTTP/1.1 connections for small requests.

Binding is the hot path, and a general HTTP client costs several times what the exchange itself does. This one
sends a request, reads the answer whole and can do nothing else: no redirects, no proxies, no compression.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from typing import NamedTuple, cast
from urllib.parse import urlsplit

_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*(\d+)", re.IGNORECASE)
_LONGEST_HEAD = 2**16


class HttpAnswer(NamedTuple):
    status: int
    retry_after: float | None
    body: bytes


class ProtocolError(OSError):
    """The server's answer is not HTTP/1.1."""


class _Connection(asyncio.Protocol):
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


class Wire:
    """Connections to one server, reused; at most `limit` at a time, and who waits is served in order."""

    def __init__(
        self,
        server: str,
        *,
        tls: ssl.SSLContext | None,
        tls_server_name: str = "",
        limit: int,
        seconds: float,
        keep_alive: float,
    ) -> None:
        parts = urlsplit(server)
        self.host_header = parts.netloc.rpartition("@")[2]
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if tls else 80)
        self._tls = tls
        self._tls_server_name = (tls_server_name or self._host) if tls else None
        self._seconds = seconds
        self._keep_alive = keep_alive
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._closing = False
        self._loop = asyncio.get_running_loop()

    @property
    def connections(self) -> int:
        return len(self._all)

    async def exchange(
        self,
        request: bytes,
        *,
        seconds: float | None = None,
        before_sending: Callable[[], object] | None = None,
    ) -> HttpAnswer:
        """Sends a whole request; raises OSError or TimeoutError if no whole answer comes.

        `before_sending` is called when nothing but the sending is left, and may raise to prevent it.
        """
        # The time to wait for a connection does not count: a long queue is no reason to give up.
        async with self._slots, asyncio.timeout(seconds or self._seconds):
            connection = self._reused() or await self._new()
            try:
                if before_sending is not None:
                    before_sending()
                answer = await connection.ask(request)
            except BaseException:
                connection.abort()
                raise
        if connection.usable and not self._closing:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    def retire(self) -> None:
        """Uses no connection again: exchanges that run are finished, then all is closed."""
        self._closing = True
        self.drop_idle()

    def drop_idle(self) -> None:
        """Closes the connections that nobody uses, for whoever asks next to make a new one."""
        while self._idle:
            self._idle.pop().abort()

    async def close(self) -> None:
        self.retire()
        for connection in self._all:
            connection.abort()
        await asyncio.gather(*(connection.lost for connection in self._all))

    def _reused(self) -> _Connection | None:
        oldest = self._loop.time() - self._keep_alive
        while self._idle:
            connection = self._idle.pop()  # the one used last: the others may grow old and go
            if connection.usable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    async def _new(self) -> _Connection:
        _, connection = await self._loop.create_connection(
            _Connection, self._host, self._port, ssl=self._tls, server_hostname=self._tls_server_name
        )
        self._all.add(connection)
        connection.lost.add_done_callback(lambda _: self._forget(connection))
        return connection

    def _forget(self, connection: _Connection) -> None:
        self._all.discard(connection)
        # The one used last is used next: those a burst has left behind would never be looked at again.
        if connection in self._idle:
            self._idle.remove(connection)
