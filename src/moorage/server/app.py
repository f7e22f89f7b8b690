"""The HTTPS server of the scheduler process."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

from aiohttp import web

from moorage.server.access import Access, Refused
from moorage.server.pages import Content, Pages, json_response

SECONDS_TO_STOP = 5.0


class Server:
    """Serves `content` to those whom `access` lets in; plain HTTP if there is no TLS context."""

    def __init__(
        self,
        host: str,
        port: int,
        ssl_context: ssl.SSLContext | None,
        content: Content,
        access: Access,
        *,
        seconds_to_stop: float = SECONDS_TO_STOP,
    ) -> None:
        self._host, self._port, self._ssl = host, port, ssl_context
        self._pages = Pages(content)
        self._access = access
        self._seconds_to_stop = seconds_to_stop
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port it listens on, which the system chose if 0 was asked for."""
        if self._runner is not None and self._runner.addresses:
            return int(self._runner.addresses[0][1])
        return self._port

    async def start(self) -> None:
        """Listens from here on; raises OSError if that is not possible."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        # aiohttp waits this long for requests under way, and once more after it has cancelled them.
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=self._seconds_to_stop * 0.4)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port, ssl_context=self._ssl).start()
        except BaseException:
            await runner.cleanup()
            raise
        self._runner = runner

    async def stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(runner.cleanup(), self._seconds_to_stop)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        # The path that is authorised is the very one by which the page is found.
        path = request.path
        try:
            await self._access.check(
                request.get_extra_info("peercert"),
                request.headers.get("Authorization", ""),
                request.method.lower(),
                path,
            )
        except Refused as refused:
            return _refusal(refused)
        page = self._pages.find(path)
        return web.Response(status=404, text="404 page not found\n") if page is None else await page(request)


def _refusal(refused: Refused) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refused.message,
        "reason": refused.reason,
        "code": refused.code,
    }
    return json_response(status, status=refused.code, indent=2)
