"""Connections to one server, for requests that are small and many.

Binding is the hot path, and a general HTTP client costs several times what the exchange itself does. This one
sends a request, reads the answer and can do little else: no redirects, no proxies, no compression.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple
from urllib.parse import urlsplit

from moorage.client.errors import ConfigurationError
from moorage.client.hpack import encoded, length, text_field
from moorage.client.http1 import Http1Connection
from moorage.client.http2 import LONGEST_BODY, Http2Connection, HttpAnswer, NotTaken

_TRIES = 3
_OPENING_SECONDS = 10.0
_PATH = text_field(":path")
_BODY_SIZE = text_field("content-length")


class Request(NamedTuple):
    method: str
    target: str
    """Path and query, in the form that URLs have."""
    body: bytes | None = None
    content_type: str = ""
    accept: str = ""
    """The form of the answer, if it is not the usual one."""


class _Opening(asyncio.Protocol):
    """A connection that is being made; TLS agrees on what is spoken."""

    connection: Http1Connection | Http2Connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        is_http2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        self.connection = Http2Connection() if is_http2 else Http1Connection()
        transport.set_protocol(self.connection)
        self.connection.connection_made(transport)


class Wire:
    """Requests to one server: all on one connection where it speaks HTTP/2.

    Where it does not, each has a connection of its own, at most `limit` at a time, and who waits is served in
    order. `fields` are those headers that all requests have.
    """

    def __init__(
        self,
        server: str,
        *,
        tls: ssl.SSLContext | None,
        tls_server_name: str = "",
        fields: list[tuple[str, str]],
        limit: int,
        seconds: float,
        keep_alive: float,
    ) -> None:
        parts = urlsplit(server)
        self._host_header = parts.netloc.rpartition("@")[2]
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if tls else 80)
        self._tls = tls
        self._tls_server_name = (tls_server_name or self._host) if tls else None
        self._seconds = seconds
        self._keep_alive = keep_alive
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[Http1Connection] = []
        self._all: set[Http1Connection | Http2Connection] = set()
        self._shared: Http2Connection | None = None
        self._opening: asyncio.Task[Http2Connection | None] | None = None
        self._has_no_http2 = tls is None
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self.show(fields)

    @property
    def connections(self) -> int:
        return len(self._all) + (self._opening is not None)

    def show(self, fields: list[tuple[str, str]]) -> None:
        """Has requests carry other headers from now on."""
        self._fields = fields
        self._heads: dict[tuple[str, str], str] = {}
        self._blocks: dict[tuple[str, str, str], bytes] = {}

    async def exchange(
        self,
        request: Request,
        *,
        seconds: float | None = None,
        before_sending: Callable[[], object] | None = None,
    ) -> HttpAnswer:
        """Sends a request; raises OSError or TimeoutError if no whole answer comes.

        `before_sending` is called when nothing but the sending is left, and may raise to prevent it.
        """
        seconds = seconds or self._seconds
        for tries_left in reversed(range(_TRIES)):
            connection = self._shared
            if connection is None or not self._is_fresh(connection):
                async with asyncio.timeout(seconds):
                    connection = await self._multiplexed()
            if connection is None:
                break
            asked = connection.ask(self._block(request), request.body, seconds, before_sending)
            try:
                return await asked.answer
            except NotTaken:
                if not tries_left:
                    raise
            except asyncio.CancelledError:
                connection.give_up(asked)
                raise
            finally:
                if self._closing:
                    connection.retire()
        return await self._exchange_alone(request, seconds, before_sending)

    def is_ready_for(self, request: Request) -> bool:
        """Whether a request can be sent here and now, in HTTP/2."""
        shared = self._shared
        return shared is not None and shared.usable and len(request.body or b"") <= LONGEST_BODY

    async def takes(self, request: Request, seconds: float | None = None) -> bool:
        """Whether this is the way for a request: one with a body that is not large, or any other in HTTP/2.

        Raises what `exchange` raises if there is no connection yet and none can be made.
        """
        if request.body is not None:
            return len(request.body) <= LONGEST_BODY or self._has_no_http2
        if self._has_no_http2 or self._shared is not None:
            return not self._has_no_http2
        async with asyncio.timeout(seconds or self._seconds):
            return await self._multiplexed() is not None

    async def stream(
        self, request: Request, *, opening: float, silence: float
    ) -> AsyncGenerator[HttpAnswer | bytes, None]:
        """The answer without its body, and then the body in pieces; for servers that speak HTTP/2."""
        for tries_left in reversed(range(_TRIES)):
            async with asyncio.timeout(opening):
                connection = await self._multiplexed()
            if connection is None:
                raise ConnectionResetError("the server speaks HTTP/2 no more")
            begun = False
            try:
                async with aclosing(
                    connection.stream(self._block(request), opening=opening, silence=silence)
                ) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except NotTaken:
                if begun or not tries_left:
                    raise

    def retire(self) -> None:
        """Uses no connection again: exchanges that run are finished, then all is closed."""
        self._closing = True
        self.drop_idle()
        if self._shared is not None:
            self._shared.retire()

    def drop_idle(self) -> None:
        """Closes the connections that nobody uses, for whoever asks next to make a new one."""
        while self._idle:
            self._idle.pop().abort()
        if self._shared is not None and not self._shared.is_busy:
            self._shared.retire()

    async def close(self) -> None:
        self.retire()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        for connection in self._all:
            connection.abort()
        await asyncio.gather(*(connection.lost for connection in self._all))

    # One connection for all

    def _is_fresh(self, connection: Http2Connection) -> bool:
        if not connection.usable:
            return False
        if connection.is_busy or self._loop.time() - connection.heard_at <= self._keep_alive:
            return True
        connection.retire()
        return False

    async def _multiplexed(self) -> Http2Connection | None:
        """The connection for all, made if need be; None if the server does not speak HTTP/2."""
        if self._has_no_http2:
            return None
        if self._shared is not None and self._is_fresh(self._shared):
            return self._shared
        if self._opening is None:
            self._opening = self._loop.create_task(self._open())
            self._opening.add_done_callback(self._note_opened)
        opening = self._opening
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled():
                raise ConnectionResetError("the client is closed") from None
            raise

    async def _open(self) -> Http2Connection | None:
        # Who waits for it may have less time, and leaves it to those who come later.
        async with asyncio.timeout(_OPENING_SECONDS):
            connection = await self._new()
        if isinstance(connection, Http2Connection):
            self._shared = connection
            return connection
        self._has_no_http2 = True
        self._release(connection)
        return None

    def _note_opened(self, opening: asyncio.Task[Http2Connection | None]) -> None:
        self._opening = None
        if not opening.cancelled():
            opening.exception()  # those who wait for it tell

    def _block(self, request: Request) -> bytes:
        """The head of a request in HTTP/2."""
        method, target, body, content_type, accept = request
        block = self._blocks.get((method, content_type, accept))
        if block is None:
            fields = [(":method", method), (":scheme", "https"), (":authority", self._host_header)]
            fields += self._given(content_type, accept)
            block = encoded((name.lower(), value) for name, value in fields)
            self._blocks[method, content_type, accept] = block
        path = _checked(target).encode()
        if body is None:
            return b"".join((_PATH, length(len(path)), path, block))
        size = b"%d" % len(body)
        return b"".join((_PATH, length(len(path)), path, block, _BODY_SIZE, length(len(size)), size))

    # One connection for each

    async def _exchange_alone(
        self, request: Request, seconds: float, before_sending: Callable[[], object] | None
    ) -> HttpAnswer:
        # The time to wait for a connection does not count: a long queue is no reason to give up.
        async with self._slots, asyncio.timeout(seconds):
            connection = self._reused() or await self._new()
            if isinstance(connection, Http2Connection):  # another server, behind the same address
                self._shared, self._has_no_http2 = connection, False
                return await self.exchange(request, seconds=seconds, before_sending=before_sending)
            try:
                if before_sending is not None:
                    before_sending()
                answer = await connection.ask(self._whole(request))
            except BaseException:
                connection.abort()
                raise
        self._release(connection)
        return answer

    def _whole(self, request: Request) -> bytes:
        """A request in HTTP/1.1."""
        method, target, body, content_type, accept = request
        head = self._heads.get((content_type, accept))
        if head is None:
            fields = [("Host", self._host_header), *self._given(content_type, accept)]
            head = "".join(f"{name}: {value}\r\n" for name, value in fields)
            self._heads[content_type, accept] = head
        first = f"{method} {_checked(target)} HTTP/1.1\r\n"
        body = body or b""
        return f"{first}{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body

    def _release(self, connection: Http1Connection) -> None:
        if connection.usable and not self._closing:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
        else:
            connection.abort()

    def _reused(self) -> Http1Connection | None:
        oldest = self._loop.time() - self._keep_alive
        while self._idle:
            connection = self._idle.pop()  # the one used last: the others may grow old and go
            if connection.usable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    # Both

    async def _new(self) -> Http1Connection | Http2Connection:
        _, opening = await self._loop.create_connection(
            _Opening, self._host, self._port, ssl=self._tls, server_hostname=self._tls_server_name
        )
        connection = opening.connection
        self._all.add(connection)
        connection.lost.add_done_callback(lambda _: self._forget(connection))
        return connection

    def _forget(self, connection: Http1Connection | Http2Connection) -> None:
        self._all.discard(connection)
        # The one used last is used next: those a burst has left behind would never be looked at again.
        if isinstance(connection, Http1Connection) and connection in self._idle:
            self._idle.remove(connection)

    def _given(self, content_type: str, accept: str) -> list[tuple[str, str]]:
        fields = [*self._fields, ("Content-Type", content_type)] if content_type else self._fields
        if accept:
            fields = [(name, accept if name == "Accept" else value) for name, value in fields]
        if any("\n" in text or "\r" in text for field in fields for text in field):
            raise ConfigurationError("a token or a user name to send has a line break in it; remove it")
        return fields


def _checked(target: str) -> str:
    if not target.isascii() or not target.isprintable() or " " in target:
        raise ValueError(f"not a path: {target!r}")
    return target
