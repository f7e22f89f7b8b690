"""The HTTPS server of the scheduler process."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import suppress

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from moorage.server.access import Access, Refused
from moorage.server.authentication import Credentials
from moorage.server.connections import SECONDS, Connections
from moorage.server.pages import Content, Pages
from moorage.server.statuses import status_response
from moorage.server.tls import TlsContexts
from moorage.server.tls_connection import Phase, TlsConnection

SECONDS_TO_STOP = 5.0
_ANYWHERE = ("0.0.0.0", "::")
_NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_BACKLOG = 1024

log = logging.getLogger(__name__)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Bytes that are no request are answered and are nobody else's concern."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


log.addFilter(_is_worth_a_line)


class Server:
    """Serves `content` over TLS to those whom `access` lets in."""

    def __init__(
        self,
        host: str,
        port: int,
        tls: TlsContexts,
        content: Content,
        access: Access,
        *,
        connections: Connections | None = None,
        share_port: bool = False,
        seconds_to_stop: float = SECONDS_TO_STOP,
    ) -> None:
        """With `share_port`, other processes may listen on the same port."""
        self._host, self._port, self._share_port = host, port, share_port
        self._tls = tls
        self._pages = Pages(content)
        self._insight, self._page_files = content.insight, content.page_files
        self._access = access
        self._connections = Connections() if connections is None else connections
        self._seconds_to_stop = seconds_to_stop
        self._listening: asyncio.Server | None = None
        self._runner: web.AppRunner | None = None
        self._following: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on, which the system chose if 0 was asked for."""
        if self._listening is not None and self._listening.sockets:
            return int(self._listening.sockets[0].getsockname()[1])
        return self._port

    async def start(self) -> None:
        """Listens from here on; raises OSError if that is not possible."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_complete_headers)
        listener = listen(self._host, self._port, share_port=self._share_port)
        # aiohttp waits this long for requests under way, and once more after it has cancelled them.
        runner = self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=log,
            keepalive_timeout=SECONDS[Phase.IDLE],
            shutdown_timeout=self._seconds_to_stop * 0.4,
        )
        await runner.setup()
        make_inside = runner.server
        assert make_inside is not None
        self._listening = await asyncio.get_running_loop().create_server(
            lambda: TlsConnection(self._tls.connection, make_inside, self._connections),
            sock=listener,
            backlog=_BACKLOG,
        )
        self._following = asyncio.create_task(self._connections.follow())

    async def stop(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()
        if self._insight is not None:
            self._insight.close()
        runner, self._runner = self._runner, None
        if runner is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(runner.cleanup(), self._seconds_to_stop)
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
        self._connections.end_all()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        connection: TlsConnection | None = request.get_extra_info("connection")
        if connection is None:
            raise ConnectionResetError("the caller has gone")
        connection.begin_request()
        try:
            return await self._page(request, Credentials(connection.certificates, request.headers))
        finally:
            connection.end_request()

    async def _page(self, request: web.Request, credentials: Credentials) -> web.StreamResponse:
        # The path that is authorised is the very one by which the page is found.
        path = request.path
        if self._page_files is not None and path in self._page_files:
            return await self._page_files.answer(request)
        try:
            await self._access.check(credentials, request.method.lower(), path)
        except Refused as refused:
            return status_response(refused.code, refused.reason, refused.message)
        if self._insight is not None and self._insight.owns(path):
            return await self._insight.answer(request)
        page = self._pages.find(path)
        return web.Response(status=404, text="404 page not found\n") if page is None else await page(request)


def listen(host: str, port: int, *, share_port: bool = False) -> socket.socket:
    """A socket that listens; `0.0.0.0` and `::` mean everywhere, by IPv4 and by IPv6."""
    if host in _ANYWHERE and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(
                ("::", port),
                family=socket.AF_INET6,
                dualstack_ipv6=True,
                backlog=_BACKLOG,
                reuse_port=share_port,
            )
        except OSError as error:
            if error.errno not in _NO_IPV6 or host == "::":
                raise
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG, reuse_port=share_port)


async def _complete_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.setdefault("Cache-Control", "no-cache, private")
    # Whoever may not see our version need not know it from here.
    response.headers.popall("Server", None)
