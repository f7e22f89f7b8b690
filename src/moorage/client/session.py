"""One HTTP session with an API server: authentication, limits, errors."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from moorage.client.connection import ConnectionConfig
from moorage.client.credentials import Identity, basic
from moorage.client.errors import (
    ApiError,
    ConfigurationError,
    TimedOut,
    Unreachable,
    Withheld,
    error_of,
)
from moorage.client.http2 import HttpAnswer
from moorage.client.observer import ClientObserver
from moorage.client.proxies import proxy_from_environment
from moorage.client.rate_limit import RateLimiter
from moorage.client.tls import tls_context
from moorage.client.wire import Request, Wire

JSON = "application/json"
CONNECTIONS = 500
CONNECT_SECONDS = 10.0
WATCH_OPENING_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 60.0  # less than the 90 s after which an API server closes an idle connection
BUFFER = 2**18
RETRY_AFTER_TRIES = 10
RETRY_AFTER_LIMIT = 60.0

NO_ANSWER = "<error>"  # in place of a code

_NETWORK_ERRORS = (aiohttp.ClientError, OSError)
_NOT_BELIEVED = (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError)
"""The server's certificate is of another authority than those known here; there may be new ones."""


class Session:
    """Sends requests and returns the bodies of good answers; all others are raised as ApiError.

    An answer that says when to try again (429 or 5xx with Retry-After) is followed; credentials that the
    server rejects are renewed once. `may_write` is asked right before the bytes of a write leave.

    Behind one address there may be several servers, and one of them may freeze without closing anything.
    So no connection of a watch is used again, and when a request gets no answer in time, the next ones use
    new connections.
    """

    def __init__(
        self,
        config: ConnectionConfig,
        limiter: RateLimiter,
        *,
        user_agent: str,
        request_seconds: float,
        silence_seconds: float,
        may_write: Callable[[], bool] | None = None,
        observer: ClientObserver | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._config = config
        self._limiter = limiter
        self._observer = observer
        self._credentials = config.credentials(observer)
        self._sleep = sleep
        self._headers = _headers(config, user_agent)
        self._identity: Identity | None = None
        self._options: dict[str, Any] = request_options(config)
        if not config.server.startswith("https:"):  # there is no CONNECT that could carry them
            self._headers.update(self._options.get("proxy_headers", {}))
        self._silence_seconds = silence_seconds
        self._request_seconds = request_seconds
        self._may_write = may_write
        self._http: aiohttp.ClientSession | None = None
        self._retired: aiohttp.ClientSession | None = None  # it finishes what it has begun
        self._opened_at = 0.0
        self._wires: list[Wire] = []  # the last one is in use, the others finish what they have begun
        self._base_path = urlsplit(config.server).path
        self._host = urlsplit(config.server).netloc.rpartition("@")[2]

    async def open(self) -> None:
        self._http = self._new_session()
        try:
            self._use(await self._credentials.identity())
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        sessions = (self._http, self._retired)
        self._http = self._retired = None
        for each in sessions:
            if each is not None:
                await each.close()
        wires, self._wires = self._wires, []
        for wire in wires:
            await wire.close()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        params: Mapping[str, str] | None = None,
        tries: int = RETRY_AFTER_TRIES,
        seconds: float | None = None,
    ) -> bytes:
        """The body of a good answer; `seconds` is how long one try may take, without its wait for a turn."""
        target = f"{path}?{urlencode(params)}" if params else path
        renewed, times = False, 0
        while True:
            times += 1
            began = time.perf_counter()
            await self._limiter.acquire()
            waited = time.perf_counter() - began
            identity = await self._current()
            try:
                answer = await self._exchange(method, target, body, content_type, seconds)
            except _NETWORK_ERRORS as error:
                self._tell(method, NO_ANSWER, times, began, waited, body)
                if not renewed and isinstance(error, _NOT_BELIEVED) and self._credentials.rejected(identity):
                    renewed = True
                    continue
                if isinstance(error, TimeoutError):
                    await self._distrust_connections()
                raise _failure(method, path, error) from None
            self._tell(method, str(answer.status), times, began, waited, body, answer.body)
            if answer.status < 300:
                return answer.body
            if answer.status == 401 and not renewed and self._credentials.rejected(identity):
                renewed = True
                continue
            tries -= 1
            await self._wait_or_raise(answer, tries, f"{method} {path}")

    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """The answer to a GET in pieces as they come. Ends without an error when the server ends it.

        The first piece is empty: it says that the server has begun to answer.
        """
        target = f"{path}?{urlencode(params)}"
        renewed = False
        for tries in reversed(range(RETRY_AFTER_TRIES)):
            identity = await self._current()
            code = NO_ANSWER
            try:
                async with asyncio.timeout(min(WATCH_OPENING_SECONDS, self._silence_seconds)):
                    response = await self._ask("GET", target)
                connection = response.connection
                transport = None if connection is None else connection.transport
                code = str(response.status)
                self._tell("GET", code, RETRY_AFTER_TRIES - tries)
                try:
                    if response.status < 300:
                        yield b""
                        while chunk := await response.content.readany():
                            yield chunk
                        return
                    answer = HttpAnswer(response.status, _retry_after(response), await response.read())
                finally:
                    if transport is not None:
                        # Nobody uses it again. A farewell over TLS could outlive the client, and the loop.
                        transport.abort()
                    response.close()
            except _NETWORK_ERRORS as error:
                if code is NO_ANSWER:
                    self._tell("GET", code, RETRY_AFTER_TRIES - tries)
                if not renewed and isinstance(error, _NOT_BELIEVED) and self._credentials.rejected(identity):
                    renewed = True
                    continue
                if isinstance(error, TimeoutError):
                    await self._distrust_connections()
                raise _failure("GET", path, error) from None
            if answer.status == 401 and not renewed and self._credentials.rejected(identity):
                renewed = True
                continue
            await self._wait_or_raise(answer, tries, f"GET {path}")

    def _tell(
        self,
        method: str,
        code: str,
        times: int,
        began: float | None = None,
        waited: float | None = None,
        sent: bytes | None = None,
        received: bytes | None = None,
    ) -> None:
        """Tells who counts how a try ended, which was number `times`."""
        if self._observer is None:
            return
        self._observer.asked(
            self._host,
            method,
            code,
            is_retry=times > 1,
            waited=waited,
            seconds=None if began is None else time.perf_counter() - began,
            sent=len(sent or b""),
            received=None if received is None else len(received),
        )

    async def _wait_or_raise(self, answer: HttpAnswer, tries: int, doing: str) -> None:
        """Waits as the server asks if it asks for that and there are tries left."""
        busy = answer.status == 429 or answer.status >= 500
        if not busy or answer.retry_after is None or not tries:
            raise error_of(answer.body, code=answer.status, retry_after=answer.retry_after, doing=doing)
        await self._sleep(min(answer.retry_after, RETRY_AFTER_LIMIT))

    async def _current(self) -> Identity:
        identity = await self._credentials.identity()
        if self._http is None:
            raise RuntimeError("the client is not open; use it as `async with HttpClient(...) as client`")
        if identity is not self._identity:
            self._use(identity)
        return identity

    async def _exchange(
        self, method: str, target: str, body: bytes | None, content_type: str, seconds: float | None
    ) -> HttpAnswer:
        check = None if method == "GET" or self._may_write is None else self._check_may_write
        if self._wires:
            wire = self._wires[-1]
            request = Request(method, self._base_path + target, body, "" if body is None else content_type)
            if await wire.takes(request):
                return await wire.exchange(request, seconds=seconds, before_sending=check)
        if body is None and check is not None:
            check()  # without a body, the head is all there is
        response = await self._ask(
            method,
            target,
            None if body is None else _Body(body, check),
            content_type,
            total=seconds or self._request_seconds,
        )
        return HttpAnswer(response.status, _retry_after(response), await response.read())

    def _check_may_write(self) -> None:
        assert self._may_write is not None
        if not self._may_write():
            raise Withheld(0, "", "not sent: this process does not hold the lease")

    async def _distrust_connections(self) -> None:
        """Has the next requests use new connections: others may lead where no answer came from."""
        for wire in self._wires:
            wire.drop_idle()
        now = asyncio.get_running_loop().time()
        if self._http is None or now - self._opened_at < self._request_seconds:
            return
        old = self._retired
        self._retired, self._http = self._http, self._new_session()
        if old is not None:  # what it had begun has been over for long
            await old.close()

    def _new_session(self) -> aiohttp.ClientSession:
        self._opened_at = asyncio.get_running_loop().time()
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=BUFFER,
        )

    async def _ask(
        self,
        method: str,
        target: str,
        body: _Body | None = None,
        content_type: str = JSON,
        total: float | None = None,
    ) -> aiohttp.ClientResponse:
        assert self._http is not None
        headers = self._headers
        if body is not None:
            headers = headers.copy()
            headers["Content-Type"] = content_type
            headers["Content-Length"] = str(len(body.content))
        return await self._http.request(
            method,
            URL(f"{self._config.server}{target}", encoded=True),
            data=None if body is None else body.when_sent(),
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=total, sock_connect=CONNECT_SECONDS, sock_read=self._silence_seconds
            ),
            **self._options,
        )

    def _use(self, identity: Identity) -> None:
        old, self._identity = self._identity, identity
        if identity.authorization:
            self._headers["Authorization"] = identity.authorization
        else:
            self._headers.pop("Authorization", None)
        if old is None or (old.certificate, old.authorities) != (identity.certificate, identity.authorities):
            self._connect_as(identity)
        elif self._wires:
            self._wires[-1].show(list(self._headers.items()))

    def _connect_as(self, identity: Identity) -> None:
        """Another certificate or authority needs another TLS context, and with it come other connections."""
        config = self._config
        own = None
        if config.server.startswith("https:"):
            self._options["ssl"] = tls_context(config, identity.certificate, identity.authorities)
            own = tls_context(config, identity.certificate, identity.authorities)
            own.set_alpn_protocols(["h2", "http/1.1"])
        if "proxy" in self._options:
            return
        for wire in self._wires:
            wire.retire()
        self._wires = [wire for wire in self._wires if wire.connections]
        self._wires.append(
            Wire(
                config.server,
                tls=own,
                tls_server_name=config.tls_server_name,
                fields=list(self._headers.items()),
                limit=CONNECTIONS,
                seconds=self._request_seconds,
                keep_alive=KEEP_ALIVE_SECONDS,
            )
        )


class _Body(NamedTuple):
    """What a request carries; `check` is called when everything else has been sent, and may raise."""

    content: bytes
    check: Callable[[], object] | None

    async def when_sent(self) -> AsyncGenerator[bytes, None]:
        if self.check is not None:
            self.check()
        yield self.content


def _headers(config: ConnectionConfig, user_agent: str) -> CIMultiDict[str]:
    headers = CIMultiDict({"Accept": JSON, "User-Agent": user_agent})
    if (user := config.impersonate) is not None:
        headers["Impersonate-User"] = user.user
        if user.uid:
            headers["Impersonate-Uid"] = user.uid
        for group in user.groups:
            headers.add("Impersonate-Group", group)
        for key, values in user.extra.items():
            for value in values:
                headers.add(f"Impersonate-Extra-{key}", value)
    return headers


def request_options(config: ConnectionConfig) -> dict[str, Any]:
    """What aiohttp is told with each request beside the request itself."""
    options: dict[str, Any] = {}
    if config.tls_server_name:
        options["server_hostname"] = config.tls_server_name
    if proxy := config.proxy_url or proxy_from_environment(config.server, os.environ):
        parts = urlsplit(proxy)
        if parts.scheme not in ("http", "https"):
            raise ConfigurationError(f"proxy {parts.scheme}://...: only http and https proxies are supported")
        options["proxy"] = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if parts.username:
            login = basic(unquote(parts.username), unquote(parts.password or ""))
            options["proxy_headers"] = {"Proxy-Authorization": login}
    return options


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None


def _failure(method: str, path: str, error: Exception) -> ApiError:
    doing = f"{method} {path}"
    if isinstance(error.__cause__, Withheld):  # aiohttp tells of it in its own words
        return error.__cause__
    if isinstance(error, TimeoutError):
        return TimedOut(0, "", f"{doing}: {str(error) or 'no answer in time'}")
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if isinstance(cause, ConnectionRefusedError):
        text = "connection refused"
    return Unreachable(0, "", f"{doing}: {text}")
