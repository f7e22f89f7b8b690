"""The API server on a socket."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from moorage.cluster.access.requests import JSON, Answer, Request, Stream
from moorage.cluster.base.errors import bad_request, too_large
from moorage.cluster.serving.server import refused

log = logging.getLogger(__name__)

BODY_LIMIT = 3 * 1024 * 1024
_STOP_SECONDS = 2.0
_FULL = 2**16  # bytes that wait for a client who does not take them


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Bytes that are no request are answered and are nobody else's concern."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


log.addFilter(_is_worth_a_line)


class HttpServer:
    """Listens on one address between `start` and `stop`."""

    def __init__(self, respond: Callable[[Request], Awaitable[Answer | Stream]]) -> None:
        self._respond = respond
        self._runner: web.ServerRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        """Raises OSError if the address cannot be used. Port 0 picks a free one, which `port` then says."""
        server = web.Server(self._answer, access_log=None, logger=log, auto_decompress=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=_STOP_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=tls, backlog=1024)
        try:
            await site.start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await _body(request)
        if isinstance(body, Answer):
            return _response(body)
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        answer = await self._respond(Request(request.method, request.raw_path, headers, body))
        if isinstance(answer, Answer):
            return _response(answer)
        return await _stream(request, answer)


async def _body(request: web.BaseRequest) -> bytes | Answer:
    """The whole body, or the refusal of one that is too large or breaks off."""
    if not request.can_read_body:
        return b""
    if (request.content_length or 0) > BODY_LIMIT:
        return refused(too_large(BODY_LIMIT))
    try:
        await request.content.readexactly(BODY_LIMIT + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    except (web.PayloadAccessError, web.RequestPayloadError, ConnectionError):
        return refused(bad_request("the body cannot be read"))
    return refused(too_large(BODY_LIMIT))


def _response(answer: Answer) -> web.Response:
    body = answer.body + b"\n" if answer.content_type == JSON else answer.body
    return web.Response(body=body, status=answer.status, headers=_headers(answer))


def _headers(answer: Answer | Stream) -> CIMultiDict[str]:
    common = {"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
    return CIMultiDict([*common.items(), *answer.headers])


async def _stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    response = web.StreamResponse(status=stream.status, headers=_headers(stream))
    try:
        await response.prepare(request)
        chunked = response.headers.get("Transfer-Encoding") == "chunked"
        if stream.connect is not None and chunked and request.transport is not None:
            stream.connect(partial(_push, request.transport))
        async for chunk in stream.chunks:
            await response.write(chunk)
        await response.write_eof()
    except (ConnectionError, asyncio.CancelledError):
        # The client has gone, which is how most watches end.
        if (transport := request.transport) is not None:
            transport.abort()
    finally:
        await stream.close()
    return response


def _push(transport: asyncio.Transport, data: bytes) -> bool:
    """Writes a piece of a stream, unless the client has too much to take already."""
    if transport.is_closing():
        return True  # there is nobody to take it
    if transport.get_write_buffer_size() > _FULL:
        return False
    try:
        transport.write(b"%x\r\n%b\r\n" % (len(data), data))
    except Exception:
        # The others are to be told all the same, and this client is to notice that it lacks something.
        log.warning("A watch could not be told of a change and is ended", exc_info=True)
        transport.abort()
    return True
