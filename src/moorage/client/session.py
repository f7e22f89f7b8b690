"""One HTTP session with an API server: authentication, limits, errors."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit

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

if TYPE_CHECKING:
    from moorage.client.general import GeneralClient

JSON = "application/json"
CONNECTIONS = 500
WATCH_OPENING_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 60.0  # less than the 90 s after which an API server closes an idle connection
RETRY_AFTER_TRIES = 10
RETRY_AFTER_LIMIT = 60.0

NO_ANSWER = "<error>"  # in place of a code


class Session:
    """Sends requests and returns the bodies of good answers; all others are raised as ApiError.

    An answer that says when to try again (429 or 5xx with Retry-After) is followed; credentials that the
    server rejects are renewed once. `may_write` is asked right before the bytes of a write leave.

    Behind one address there may be several servers, and one of them may freeze without closing anything.
    So when a request gets no answer in time, or a watch falls silent, the next ones use new connections.
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
        self._always = _always(config, user_agent)
        self._fields = self._always
        self._tls: ssl.SSLContext | None = None
        self._identity: Identity | None = None
        self._options: dict[str, Any] = request_options(config)
        if not config.server.startswith("https:"):  # there is no CONNECT that could carry them
            self._always += self._options.get("proxy_headers", {}).items()
        self._silence_seconds = silence_seconds
        self._request_seconds = request_seconds
        self._may_write = may_write
        self._is_open = False
        self._wires: list[Wire] = []  # the last one is in use, the others finish what they have begun
        self._general: GeneralClient | None = None  # for what a wire does not take, made when it is needed
        self._base_path = urlsplit(config.server).path
        self._host = urlsplit(config.server).netloc.rpartition("@")[2]

    async def open(self) -> None:
        self._is_open = True
        try:
            self._use(await self._credentials.identity())
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        self._is_open = False
        general, self._general = self._general, None
        if general is not None:
            await general.close()
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
        accept: str = "",
        params: Mapping[str, str] | None = None,
        tries: int = RETRY_AFTER_TRIES,
        seconds: float | None = None,
    ) -> bytes:
        """The body of a good answer; `seconds` is how long one try may take, without its wait for a turn."""
        target = f"{self._base_path}{path}?{urlencode(params)}" if params else self._base_path + path
        request = Request(method, target, body, "" if body is None else content_type, accept)
        check = None if method == "GET" or self._may_write is None else self._check_may_write
        renewed, times = False, 0
        while True:
            times += 1
            began = time.perf_counter()
            if waited := self._limiter.take():
                await self._limiter.wait(waited)
                waited = time.perf_counter() - began
            identity = self._credentials.at_hand()
            if identity is None or identity is not self._identity or not self._is_open:
                identity = await self._current()
            try:
                way = self._ready_way(request) or await self._way(request, seconds)
                answer = await way.exchange(request, seconds=seconds, before_sending=check)
            except OSError as error:
                self._tell(method, NO_ANSWER, times, began, waited, body)
                if not renewed and _is_not_believed(error) and self._credentials.rejected(identity):
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
        request = Request("GET", f"{self._base_path}{path}?{urlencode(params)}")
        opening = min(WATCH_OPENING_SECONDS, self._silence_seconds)
        renewed = False
        for tries in reversed(range(RETRY_AFTER_TRIES)):
            identity = await self._current()
            answer: HttpAnswer | None = None
            try:
                way = await self._way(request, opening)
                async with aclosing(
                    way.stream(request, opening=opening, silence=self._silence_seconds)
                ) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, HttpAnswer):
                            answer = piece
                            self._tell("GET", str(answer.status), RETRY_AFTER_TRIES - tries)
                            if answer.status < 300:
                                yield b""
                        elif answer is not None and answer.status < 300:
                            yield piece
                        elif answer is not None:
                            answer = answer._replace(body=answer.body + piece)
            except OSError as error:
                if answer is None:
                    self._tell("GET", NO_ANSWER, RETRY_AFTER_TRIES - tries)
                if not renewed and _is_not_believed(error) and self._credentials.rejected(identity):
                    renewed = True
                    continue
                if isinstance(error, TimeoutError):
                    await self._distrust_connections()
                raise _failure("GET", path, error) from None
            if answer is None or answer.status < 300:
                return
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
        if not self._is_open:
            raise RuntimeError("the client is not open; use it as `async with HttpClient(...) as client`")
        if identity is not self._identity:
            self._use(identity)
        return identity

    def _ready_way(self, request: Request) -> Wire | None:
        wire = self._wires[-1] if self._wires else None
        return wire if wire is not None and wire.is_ready_for(request) else None

    async def _way(self, request: Request, seconds: float | None) -> Wire | GeneralClient:
        if self._wires and await self._wires[-1].takes(request, seconds):
            return self._wires[-1]
        if self._general is None:
            # What comes with it takes longer to load than all the rest, and few need it.
            from moorage.client.general import GeneralClient

            parts = urlsplit(self._config.server)
            self._general = GeneralClient(
                f"{parts.scheme}://{parts.netloc}",
                options=self._options,
                tls=self._tls,
                fields=self._fields,
                seconds=self._request_seconds,
                silence_seconds=self._silence_seconds,
                keep_alive=KEEP_ALIVE_SECONDS,
            )
        return self._general

    def _check_may_write(self) -> None:
        assert self._may_write is not None
        if not self._may_write():
            raise Withheld(0, "", "not sent: this process does not hold the lease")

    async def _distrust_connections(self) -> None:
        """Has the next requests use new connections: others may lead where no answer came from."""
        for wire in self._wires:
            wire.drop_idle()
        if self._general is not None:
            await self._general.distrust_connections()

    def _use(self, identity: Identity) -> None:
        old, self._identity = self._identity, identity
        self._fields = list(self._always)
        if identity.authorization:
            self._fields.append(("Authorization", identity.authorization))
        if old is None or (old.certificate, old.authorities) != (identity.certificate, identity.authorities):
            self._connect_as(identity)
        elif self._wires:
            self._wires[-1].show(self._fields)
        if self._general is not None:
            self._general.show(self._fields)
            self._general.connect_with(self._tls)

    def _connect_as(self, identity: Identity) -> None:
        """Another certificate or authority needs another TLS context, and with it come other connections."""
        config = self._config
        has_tls = config.server.startswith("https:")
        self._tls = tls_context(config, identity.certificate, identity.authorities) if has_tls else None
        if "proxy" in self._options:
            return
        own = tls_context(config, identity.certificate, identity.authorities) if has_tls else None
        if own is not None:
            own.set_alpn_protocols(["h2", "http/1.1"])
        for wire in self._wires:
            wire.retire()
        self._wires = [wire for wire in self._wires if wire.connections]
        self._wires.append(
            Wire(
                config.server,
                tls=own,
                tls_server_name=config.tls_server_name,
                fields=self._fields,
                limit=CONNECTIONS,
                seconds=self._request_seconds,
                keep_alive=KEEP_ALIVE_SECONDS,
            )
        )


def _always(config: ConnectionConfig, user_agent: str) -> list[tuple[str, str]]:
    """The headers of every request, whoever makes it."""
    fields = [("Accept", JSON), ("User-Agent", user_agent)]
    if (user := config.impersonate) is not None:
        fields.append(("Impersonate-User", user.user))
        if user.uid:
            fields.append(("Impersonate-Uid", user.uid))
        fields += (("Impersonate-Group", group) for group in user.groups)
        fields += (
            (f"Impersonate-Extra-{key}", value) for key, values in user.extra.items() for value in values
        )
    return fields


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


def _is_not_believed(error: OSError) -> bool:
    """The server's certificate is of another authority than those known here; there may be new ones."""
    return isinstance(error, ssl.SSLCertVerificationError)


def _failure(method: str, path: str, error: OSError) -> ApiError:
    doing = f"{method} {path}"
    if isinstance(error, TimeoutError):
        return TimedOut(0, "", f"{doing}: {str(error) or 'no answer in time'}")
    text = error.strerror or str(error) or type(error).__name__
    if isinstance(error, ConnectionRefusedError):
        text = "connection refused"
    return Unreachable(0, "", f"{doing}: {text}")
