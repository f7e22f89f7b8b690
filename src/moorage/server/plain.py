"""Health and metrics over plain HTTP, for processes that may not ask the cluster who their callers are."""

from __future__ import annotations

from aiohttp import web

from moorage.server.app import SECONDS_TO_STOP, listen
from moorage.server.pages import Content, Pages

_SHOWN = ("metrics", "healthz", "livez", "readyz")
_METHODS = ("GET", "HEAD")


class PlainServer:
    """Serves what everybody may see of `content`: nothing in there names an object of the cluster."""

    def __init__(self, host: str, port: int, content: Content) -> None:
        self._host, self._port = host, port
        self._pages = Pages(content)
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port it listens on, which the system chose if 0 was asked for."""
        return self._port

    async def start(self) -> None:
        """Listens from here on; raises OSError if that is not possible."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        listener = listen(self._host, self._port)
        self._port = int(listener.getsockname()[1])
        runner = self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SECONDS_TO_STOP * 0.4)
        await runner.setup()
        await web.SockSite(runner, listener).start()

    async def stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        first, _, rest = request.path.removeprefix("/").partition("/")
        page = self._pages.find(request.path) if first in _SHOWN else None
        if page is None or (first == "metrics" and rest):
            return web.Response(status=404, text="404 page not found\n")
        if request.method not in _METHODS:
            return web.Response(status=405, text="405 only GET\n")
        return await page(request)
