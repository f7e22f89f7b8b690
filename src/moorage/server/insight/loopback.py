"""The server of insight on this machine alone, without TLS: for `moorage up`."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from moorage.server.access import Refused
from moorage.server.authentication import Credentials
from moorage.server.insight.api import BODY_LIMIT, InsightApi
from moorage.server.insight.page_files import PageFiles
from moorage.server.statuses import status_response

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost", "[::1]")
_SECONDS_TO_STOP = 0.5

log = logging.getLogger(__name__)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Bytes that are no request are answered and are nobody else's concern."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


log.addFilter(_is_worth_a_line)


class Access(Protocol):
    """Knows who may do what."""

    async def check(self, credentials: Credentials, verb: str, path: str) -> object:
        """Raises Refused if the caller may not do this."""


class LoopbackServer:
    """Serves insight and its page on 127.0.0.1, from `start` to `stop`, to those whom `access` lets in.

    Nothing here is encrypted: it is for a socket that no other machine can reach.
    """

    def __init__(self, api: InsightApi, page: PageFiles, access: Access) -> None:
        self._api, self._page, self._access = api, page, access
        self._runner: web.AppRunner | None = None
        self._port = ""

    async def start(self, listener: socket.socket) -> None:
        """Answers from here on who connects to this socket, which is its from now on."""
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_without_version)
        runner = web.AppRunner(app, access_log=None, logger=log, shutdown_timeout=_SECONDS_TO_STOP * 0.4)
        await runner.setup()
        self._runner = runner
        self._port = str(listener.getsockname()[1])
        await web.SockSite(runner, listener).start()

    async def stop(self) -> None:
        """Ends streams and questions under way."""
        self._api.close()
        runner, self._runner = self._runner, None
        if runner is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(runner.cleanup(), _SECONDS_TO_STOP)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        # A page of some other site whose name leads here must not be answered, whatever it asks for.
        if not self._is_ours(request.headers.get("Host", "")):
            return status_response(403, "Forbidden", f"forbidden: this server is known as {HOST} only")
        path = request.path
        if path in self._page:
            return await self._page.answer(request)
        try:
            await self._access.check(Credentials(headers=request.headers), request.method.lower(), path)
        except Refused as refused:
            return status_response(refused.code, refused.reason, refused.message)
        if self._api.owns(path):
            return await self._api.answer(request)
        return status_response(
            404, "NotFound", "there is no such path; try /dashboard/ or /insight/v1/openapi"
        )

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        return (name if colon else host).lower() in _NAMES and (not colon or port == self._port)


async def _without_version(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)
