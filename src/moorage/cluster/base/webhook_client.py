"""Calls of webhooks over HTTPS, and what is said of those that fail."""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import logging
import ssl
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec
import yaml

from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document

log = logging.getLogger(__name__)

MOST_BYTES = 16 * 2**20
"""Of an answer. Nobody is to fill the memory of the cluster."""
_MOST_SHOWN = 2048
_MOST_YAML = 2**16
_TYPE_FIELDS = (("APIVersion", "apiVersion"), ("Kind", "kind"))
_HTTPS = 443
_REDIRECTS = 10
_SERVER_ERROR = 500
_SUCCESS = range(200, 207)
_BY_STATUS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    415: "the server was unable to respond with a content type that the client supports",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the "
    "request",
}
_ERRORS = {
    errno.ECONNREFUSED: "connect: connection refused",
    errno.EHOSTUNREACH: "connect: no route to host",
    errno.ENETUNREACH: "connect: network is unreachable",
    errno.ETIMEDOUT: "connect: connection timed out",
}

Locate = Callable[[str, str, int], tuple[str, int]]
"""Where a port of a Service really listens, by namespace and name; raises Unreachable."""


class Unreachable(OSError):
    """There is nobody who listens."""


class CallFailed(Exception):
    """A webhook gave no answer that is one; the text says why."""


class BadBundle(CallFailed):
    """The certificates of a configuration cannot be used, so nobody is called."""


class Target(NamedTuple):
    """What is called: the address as it is shown, and what it takes to get there."""

    url: str
    ca_bundle: str
    service: tuple[str, str, int] | None = None


def target_of(client: Document) -> Target:
    """That of a `clientConfig`."""
    bundle = client.get("caBundle") or ""
    service = client.get("service")
    if service is None:
        return Target(client.get("url") or "", bundle)
    namespace, name, port = service["namespace"], service["name"], service.get("port", _HTTPS)
    path = "/" + (service.get("path") or "").lstrip("/")
    return Target(f"https://{name}.{namespace}.svc:{port}{path}", bundle, (namespace, name, port))


class WebhookClient:
    """Calls webhooks, any number at a time. `locate` finds the pods behind Services."""

    def __init__(self, locate: Locate) -> None:
        self._locate = locate
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, target: Target, document: Document, seconds: float) -> Document:
        """What the webhook answers. Raises CallFailed, at the latest when the time is over."""
        shown = _with_timeout(target.url, seconds)
        try:
            async with asyncio.timeout(seconds):
                return await self._post(target, shown, msgspec.json.encode(document))
        except CallFailed:
            raise
        except (TimeoutError, OSError, ValueError, aiohttp.ClientError) as error:
            raise CallFailed(f'Post "{shown}": {_told(error, target)}') from None
        except Exception as error:  # whatever it is, it is no reason not to go on as the policy says
            log.exception("Calling the webhook at %s: unexpected error", shown)
            raise CallFailed(f'Post "{shown}": {error}') from error

    async def _post(self, target: Target, url: str, body: bytes) -> Document:
        session = self._opened()
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        options: dict[str, Any] = {}
        if target.service is not None:
            host, port = self._locate(*target.service)
            place = urlsplit(url)
            headers["Host"] = place.netloc
            options["server_hostname"] = place.hostname
            url = f"https://{host}:{port}{place.path}?{place.query}"
        context = _context(target.ca_bundle)
        async with session.post(
            url, data=body, headers=headers, ssl=context, max_redirects=_REDIRECTS, **options
        ) as response:
            content = await _read(response)
            if response.status not in _SUCCESS:
                raise CallFailed(_refusal(response, content))
            return _document(response, content)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(
                cookie_jar=jar,
                timeout=aiohttp.ClientTimeout(total=None),
                connector=aiohttp.TCPConnector(limit=0),
                headers={"User-Agent": "kube-apiserver-admission"},
            )
        return self._session


def _with_timeout(url: str, seconds: float) -> str:
    place = urlsplit(url)
    return place._replace(path=place.path or "/", query=f"timeout={seconds:g}s").geturl()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > MOST_BYTES:
            raise CallFailed(f"the response is too large: more than {MOST_BYTES} bytes")
    return bytes(content)


def _refusal(response: aiohttp.ClientResponse, content: bytes) -> str:
    """What is said of an answer with another code than one of success."""
    try:
        status = msgspec.json.decode(content)
        if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
            return str(status["message"])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    media_type = response.headers.get("Content-Type", "")
    text = "unknown"
    if not media_type or media_type.startswith("text/"):
        text = content[:_MOST_SHOWN].decode(errors="replace").strip()
    code = response.status
    if code == HTTPStatus.FORBIDDEN:
        return text
    if code in _BY_STATUS:
        return _BY_STATUS[code]
    if code >= _SERVER_ERROR:
        return f"an error on the server ({quoted(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


def _document(response: aiohttp.ClientResponse, content: bytes) -> Document:
    if not content:
        media_type = response.headers.get("Content-Type", "")
        raise CallFailed(
            f"0-length response with status code: {response.status} and content type: {media_type}"
        )
    try:
        found = _decoded(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CallFailed(
            f"couldn't get version/kind; json parse error: {_json_problem(content, error)}"
        ) from None
    if not isinstance(found, dict):
        raise CallFailed(f"couldn't get version/kind; json parse error: {_not_an_object(found)}")
    return found


def _decoded(content: bytes) -> Any:
    """From JSON, or from YAML, which takes long: large answers are to be JSON."""
    if content.lstrip().startswith(b"{") or len(content) > _MOST_YAML:
        return msgspec.json.decode(content)
    return yaml.load(content, yaml.CSafeLoader)


def _json_problem(content: bytes, error: Exception) -> str:
    """The first character that is wrong, as far as it is the first at all."""
    start = content.lstrip()[:1].decode(errors="replace")
    if start and start not in '{["-0123456789tfn':
        return f"invalid character '{start}' looking for beginning of value"
    return "unexpected end of JSON input" if "truncated" in str(error) else str(error)


def _not_an_object(value: Any) -> str:
    kind = {str: "string", bool: "bool", list: "array"}.get(type(value), "number")
    fields = "; ".join(f'{go} string "json:\\"{name},omitempty\\""' for go, name in _TYPE_FIELDS)
    return f"json: cannot unmarshal {kind} into Go value of type struct {{ {fields} }}"


@lru_cache(maxsize=128)
def _context(ca_bundle: str) -> ssl.SSLContext:
    """Trusts the authorities in a bundle, or those of this machine if there is none."""
    if not ca_bundle:
        return ssl.create_default_context()
    try:
        text = base64.b64decode(ca_bundle, validate=True).decode("ascii")
        context = ssl.create_default_context(cadata=text)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError):
        raise BadBundle("unable to load root certificates: unable to parse bytes as PEM block") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a certificate may be its own authority
    return context


def _told(error: Exception, target: Target) -> str:
    """What went wrong, in the words that Go has for it."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {_distrust(error.certificate_error, target)}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        if "WRONG_VERSION_NUMBER" in str(error):
            return "http: server gave HTTP response to HTTPS client"
        return f"remote error: tls: {error.os_error.strerror or error}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        place = f"{error.host}:{error.port}"
        return f"dial tcp {place}: {_ERRORS.get(error.os_error.errno or 0, error.os_error.strerror)}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "unexpected EOF"
    if isinstance(error, aiohttp.TooManyRedirects):
        return f"stopped after {_REDIRECTS} redirects"
    return str(error) or type(error).__name__


def _distrust(error: Exception, target: Target) -> str:
    host = urlsplit(target.url).hostname or ""
    code = getattr(error, "verify_code", 0)
    if code in _CERTIFICATES:
        return f"x509: {_CERTIFICATES[code]}"
    if code == _WRONG_ADDRESS:
        return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
    if code == _WRONG_NAME:
        return f"x509: certificate is not valid for {host}"
    return f"x509: {getattr(error, 'verify_message', error)}"


_WRONG_NAME, _WRONG_ADDRESS = 62, 64
_CERTIFICATES = {
    **dict.fromkeys((2, 18, 19, 20, 21), "certificate signed by unknown authority"),
    **dict.fromkeys((9, 10), "certificate has expired or is not yet valid"),
}
