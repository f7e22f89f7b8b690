"""The way to one extender: its URL, certificates and connections."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from io import BytesIO
from pathlib import Path
from socket import gaierror
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from moorage.client.connection import ConnectionConfig
from moorage.client.credentials import ClientCertificate
from moorage.client.errors import ConfigurationError
from moorage.client.session import JSON, request_options
from moorage.client.tls import tls_context
from moorage.config import ConfigError, ConfigProblem
from moorage.config.types import Extender, ExtenderTLSConfig
from moorage.framework.extenders.envelopes import ExtenderError

LARGEST_ANSWER = 2**28
"""In bytes: some thousand nodes with everything there is to say about them are a fraction of it."""
IDLE_SECONDS = 60.0
_LATE = "context deadline exceeded (Client.Timeout"
_HEADERS = {"Content-Type": JSON, "User-Agent": "moorage/scheduler"}


class Transport:
    """Posts to the verbs of an extender; connections are kept and belong to the event loop they were made in.

    Raises ConfigError if the URL or a certificate cannot be used; `place` is the extender's in the file.
    """

    def __init__(self, extender: Extender, place: str) -> None:
        self.url = extender.url_prefix.rstrip("/")
        self._seconds = extender.http_timeout.seconds
        _check_url(extender.url_prefix, f"{place}.urlPrefix")
        given, where = extender.tls_config or ExtenderTLSConfig(), f"{place}.tlsConfig"
        try:
            name = ConnectionConfig(self.url, tls_server_name=given.server_name)
            self._options: dict[str, Any] = request_options(name)
            if self.url.startswith("https:"):
                self._options["ssl"] = _tls(given, where, trusting=extender.enable_https)
        except ConfigurationError as error:
            raise ConfigError([ConfigProblem(where, str(error))]) from None
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def post(self, verb: str, body: bytes, *, may_repeat: bool) -> bytes:
        """The answer's body. `may_repeat` says that it does no harm if the extender gets this twice."""
        url = f"{self.url}/{verb}"
        now = asyncio.get_running_loop().time()
        # As in Go, less than nothing is for ever.
        deadline = now + self._seconds if self._seconds > 0 else None
        while True:
            try:
                return await self._exchange(verb, url, body, deadline)
            except (aiohttp.ClientError, OSError) as error:
                if may_repeat and _is_cut_off(error):
                    # Most likely the extender was started anew, and this was a connection to the old one.
                    may_repeat = False
                    continue
                raise ExtenderError(f'Post "{url}": {_told(error)}') from None

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _exchange(self, verb: str, url: str, body: bytes, deadline: float | None) -> bytes:
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._session().post(url, data=BytesIO(body), **self._options)
        except TimeoutError:
            raise ExtenderError(f'Post "{url}": {_LATE} exceeded while awaiting headers)') from None
        async with response:
            if response.status != 200:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
            try:
                async with asyncio.timeout_at(deadline):
                    return await _whole(response)
            except TimeoutError:
                raise ExtenderError(f"{_LATE} or context cancellation while reading body)") from None

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
                skip_auto_headers=("Accept-Encoding",),
                timeout=aiohttp.ClientTimeout(),
            )
        return session


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await response.content.readany():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            response.close()
            raise ExtenderError(f"the answer of {response.url} is larger than {LARGEST_ANSWER >> 20} MiB")
    return b"".join(parts)


def _is_cut_off(error: Exception) -> bool:
    """Whether the other side closed the connection before it answered."""
    return isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError) or (
        getattr(error, "errno", None) in (errno.ECONNRESET, errno.EPIPE)
    )


def _told(error: Exception) -> str:
    """Why there was no answer, in the words of kube-scheduler where they are short."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        return f"tls: failed to verify certificate: {getattr(cause, 'verify_message', '') or cause}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(cause, gaierror):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(cause, ssl.SSLError):
        plain = cause.reason == "WRONG_VERSION_NUMBER"
        return "http: server gave HTTP response to HTTPS client" if plain else str(cause)
    number = getattr(cause, "errno", None)
    why = os.strerror(number).lower() if number else str(cause) or type(cause).__name__
    if not isinstance(error, aiohttp.ClientConnectorError):
        return why
    host = f"[{error.host}]" if ":" in error.host else error.host
    return f"dial tcp {host}:{error.port}: connect: {why}"


def _check_url(given: str, where: str) -> None:
    try:
        parts = urlsplit(given)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and given.isascii() and given.isprintable() and " " not in given
    except ValueError:
        usable = False
    if not usable:
        message = f'"{given}" is not the URL of an extender; write http://HOST:PORT/PATH or https://...'
        raise ConfigError([ConfigProblem(where, message)])


def _tls(given: ExtenderTLSConfig, where: str, *, trusting: bool) -> ssl.SSLContext:
    """`trusting` is enableHTTPS: without an authority it means that the certificate goes unchecked."""
    has_authority = bool(given.ca_data or given.ca_file)
    if has_authority and given.insecure:
        message = "specifying a root certificates file with the insecure flag is not allowed; remove one"
        raise ConfigError([ConfigProblem(f"{where}.insecure", message)])
    authority = given.ca_data or _read(given.ca_file, f"{where}.caFile")
    certificate = given.cert_data or _read(given.cert_file, f"{where}.certFile")
    key = given.key_data or _read(given.key_file, f"{where}.keyFile")
    if bool(certificate) != bool(key):
        missing = "keyFile" if certificate else "certFile"
        message = "is missing; a client certificate and its key belong together"
        raise ConfigError([ConfigProblem(f"{where}.{missing}", message)])
    config = ConnectionConfig(
        "", ca_data=authority, insecure=given.insecure or (trusting and not has_authority)
    )
    if has_authority:
        _check_authority(config, given, where)
    return tls_context(config, ClientCertificate(certificate, key) if certificate else None)


def _check_authority(config: ConnectionConfig, given: ExtenderTLSConfig, where: str) -> None:
    try:
        tls_context(config, None)
    except ConfigurationError as error:
        why = str(error).partition(": ")[2]
        field, message = ("caData", why) if given.ca_data else ("caFile", f"{given.ca_file}: {why}")
        raise ConfigError([ConfigProblem(f"{where}.{field}", message)]) from None


def _read(file: str, where: str) -> bytes:
    if not file:
        return b""
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        message = f"{file}: cannot be read: {error.strerror}; check the path"
        raise ConfigError([ConfigProblem(where, message)]) from None
    if not content.strip():
        raise ConfigError([ConfigProblem(where, f"{file}: is empty; it must hold PEM")])
    return content
