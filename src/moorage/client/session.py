"""One HTTP session with an API server: authentication, limits, errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from moorage.client.connection import ConnectionConfig
from moorage.client.credentials import Identity, basic
from moorage.client.errors import ApiError, ConfigurationError, TimedOut, Unreachable, error_of
from moorage.client.proxies import proxy_from_environment
from moorage.client.rate_limit import RateLimiter
from moorage.client.tls import tls_context

JSON = "application/json"
CONNECTIONS = 500
CONNECT_SECONDS = 30.0
KEEP_ALIVE_SECONDS = 60.0  # less than the 90 s after which an API server closes an idle connection
BUFFER = 2**18
RETRY_AFTER_TRIES = 10
RETRY_AFTER_LIMIT = 60.0

_NETWORK_ERRORS = (aiohttp.ClientError, OSError)


class Session:
    """Sends requests and returns the bodies of good answers; all others are raised as ApiError.

    An answer that says when to try again (429 or 5xx with Retry-After) is followed; credentials that the
    server rejects are renewed once.
    """

    def __init__(
        self,
        config: ConnectionConfig,
        limiter: RateLimiter,
        *,
        user_agent: str,
        request_seconds: float,
        silence_seconds: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._config = config
        self._limiter = limiter
        self._credentials = config.credentials()
        self._sleep = sleep
        self._headers = _headers(config, user_agent)
        self._identity: Identity | None = None
        self._options: dict[str, Any] = _options(config)
        if not config.server.startswith("https:"):  # there is no CONNECT that could carry them
            self._headers.update(self._options.get("proxy_headers", {}))
        self._short = aiohttp.ClientTimeout(total=request_seconds, sock_connect=CONNECT_SECONDS)
        self._long = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=silence_seconds)
        self._http: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        self._use(await self._credentials.identity())
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=BUFFER,
        )

    async def close(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.close()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        params: Mapping[str, str] | None = None,
        tries: int = RETRY_AFTER_TRIES,
    ) -> bytes:
        response = await self._answer(
            method, path, body, content_type=content_type, params=params, tries=tries, limiter=self._limiter
        )
        try:
            return await response.read()
        except _NETWORK_ERRORS as error:
            raise _failure(method, path, error) from None

    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """The answer to a GET in pieces as they come. Ends without an error when the server ends it."""
        response = await self._answer("GET", path, params=params, timeout=self._long)
        try:
            while chunk := await response.content.readany():
                yield chunk
        except _NETWORK_ERRORS as error:
            raise _failure("GET", path, error) from None
        finally:
            response.close()

    async def _answer(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        params: Mapping[str, str] | None = None,
        tries: int = RETRY_AFTER_TRIES,
        limiter: RateLimiter | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> aiohttp.ClientResponse:
        """The head of the first answer that is not an error."""
        query = f"?{urlencode(params)}" if params else ""
        url = URL(f"{self._config.server}{path}{query}", encoded=True)
        renewed = False
        while True:
            if limiter is not None:
                await limiter.acquire()
            identity = await self._credentials.identity()
            if identity is not self._identity:
                self._use(identity)
            if self._http is None:
                raise RuntimeError("the client is not open; use it as `async with HttpClient(...) as client`")
            headers = self._headers
            if body is not None:
                headers = headers.copy()
                headers["Content-Type"] = content_type
            try:
                response = await self._http.request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    timeout=timeout or self._short,
                    **self._options,
                )
                if response.status < 300:
                    return response
                content = await response.read()
            except _NETWORK_ERRORS as error:
                raise _failure(method, path, error) from None
            if response.status == 401 and not renewed and self._credentials.rejected(identity):
                renewed = True
                continue
            wait = _seconds(response.headers.get("Retry-After"))
            problem = error_of(content, code=response.status, retry_after=wait, doing=f"{method} {path}")
            tries -= 1
            if wait is None or not tries or not (response.status == 429 or response.status >= 500):
                raise problem
            await self._sleep(min(wait, RETRY_AFTER_LIMIT))

    def _use(self, identity: Identity) -> None:
        old, self._identity = self._identity, identity
        if identity.authorization:
            self._headers["Authorization"] = identity.authorization
        else:
            self._headers.pop("Authorization", None)
        # Another certificate needs another context, and with it come other connections.
        if self._config.server.startswith("https:") and (
            old is None or old.certificate != identity.certificate
        ):
            self._options["ssl"] = tls_context(self._config, identity.certificate)


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


def _options(config: ConnectionConfig) -> dict[str, Any]:
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


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after is not None and retry_after.isdigit() else None


def _failure(method: str, path: str, error: Exception) -> ApiError:
    if isinstance(error, TimeoutError):
        return TimedOut(0, "", f"{method} {path}: {str(error) or 'no answer in time'}")
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if isinstance(cause, ConnectionRefusedError):
        text = "connection refused"
    server = f" to {error.host}:{error.port}" if isinstance(error, aiohttp.ClientConnectorError) else ""
    return Unreachable(0, "", f"{method} {path}: {f'no connection{server}: ' if server else ''}{text}")
