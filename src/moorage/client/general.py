"""Requests by a general HTTP client: through proxies, and what is large or lasts where there is no HTTP/2."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from moorage.client.errors import Withheld
from moorage.client.http2 import HttpAnswer
from moorage.client.wire import Request

CONNECTIONS = 500
CONNECT_SECONDS = 10.0
BUFFER = 2**18


class GeneralClient:
    """As Wire, at several times the cost.

    `server` is a URL without a path, `options` are what aiohttp is told with each request.
    """

    def __init__(
        self,
        server: str,
        *,
        options: dict[str, Any],
        tls: ssl.SSLContext | None,
        fields: list[tuple[str, str]],
        seconds: float,
        silence_seconds: float,
        keep_alive: float,
    ) -> None:
        self._server = server
        self._options = options
        self._seconds = seconds
        self._silence_seconds = silence_seconds
        self._keep_alive = keep_alive
        self._retired: aiohttp.ClientSession | None = None  # it finishes what it has begun
        self.connect_with(tls)
        self.show(fields)
        self._http = self._new_session()

    def show(self, fields: list[tuple[str, str]]) -> None:
        """Has requests carry other headers from now on."""
        self._headers = CIMultiDict(fields)

    def connect_with(self, tls: ssl.SSLContext | None) -> None:
        """Has new connections made in this way."""
        if tls is not None:
            self._options = {**self._options, "ssl": tls}

    async def exchange(
        self,
        request: Request,
        *,
        seconds: float | None = None,
        before_sending: Callable[[], object] | None = None,
    ) -> HttpAnswer:
        with _plain_errors():
            if request.body is None and before_sending is not None:
                before_sending()  # without a body, the head is all there is
            response = await self._ask(request, seconds or self._seconds, before_sending)
            return HttpAnswer(response.status, _retry_after(response), await response.read())

    async def stream(
        self, request: Request, *, opening: float, silence: float
    ) -> AsyncGenerator[HttpAnswer | bytes, None]:
        """As of Wire. No connection of a stream is used again."""
        with _plain_errors():
            async with asyncio.timeout(opening):
                response = await self._ask(request, None, None)
            connection = response.connection
            transport = None if connection is None else connection.transport
            try:
                yield HttpAnswer(response.status, _retry_after(response), b"")
                while chunk := await response.content.readany():
                    yield chunk
            finally:
                if transport is not None:
                    # A farewell over TLS could outlive the client, and the loop.
                    transport.abort()
                response.close()

    async def distrust_connections(self) -> None:
        """Has the next requests use new connections: others may lead where no answer came from."""
        if asyncio.get_running_loop().time() - self._opened_at < self._seconds:
            return
        old = self._retired
        self._retired, self._http = self._http, self._new_session()
        if old is not None:  # what it had begun has been over for long
            await old.close()

    async def close(self) -> None:
        for each in (self._http, self._retired):
            if each is not None:
                await each.close()

    def _new_session(self) -> aiohttp.ClientSession:
        self._opened_at = asyncio.get_running_loop().time()
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=self._keep_alive),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=BUFFER,
        )

    async def _ask(
        self, request: Request, total: float | None, check: Callable[[], object] | None
    ) -> aiohttp.ClientResponse:
        headers, body = self._headers, None
        if request.accept:
            headers = headers.copy()
            headers["Accept"] = request.accept
        if request.body is not None:
            body = _Body(request.body, check)
            headers = headers.copy()
            headers["Content-Type"] = request.content_type
            headers["Content-Length"] = str(len(request.body))
        return await self._http.request(
            request.method,
            URL(f"{self._server}{request.target}", encoded=True),
            data=None if body is None else body.when_sent(),
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=total, sock_connect=CONNECT_SECONDS, sock_read=self._silence_seconds
            ),
            **self._options,
        )


class _Body(NamedTuple):
    """What a request carries; `check` is called when everything else has been sent, and may raise."""

    content: bytes
    check: Callable[[], object] | None

    async def when_sent(self) -> AsyncGenerator[bytes, None]:
        if self.check is not None:
            self.check()
        yield self.content


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Has aiohttp's errors told as those of the system that they stand for."""
    try:
        yield
    except aiohttp.ClientError as error:
        cause = error.__cause__
        if isinstance(cause, Withheld):
            raise cause from None
        if isinstance(error, TimeoutError):
            raise TimeoutError(str(error)) from None
        cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
        if isinstance(cause, OSError):
            raise cause from None
        raise ConnectionError(str(error) or type(error).__name__) from None
