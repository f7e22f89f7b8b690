"""API servers made of a function, on loopback."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import RawTestServer

from moorage.client.connection import ConnectionConfig
from moorage.client.http import HttpClient

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of a server that answers every request with `handler`."""
    server = RawTestServer(handler, scheme="https" if tls else "http")
    await server.start_server(ssl=tls)
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        await server.close()


@asynccontextmanager
async def connected(handler: Handler, **options: Any) -> AsyncIterator[HttpClient]:
    """A client of such a server, without a rate limit."""
    async with serving(handler) as url, HttpClient(ConnectionConfig(url), **{"qps": -1, **options}) as client:
        yield client


def status(code: int, reason: str, message: str = "", **headers: str) -> web.Response:
    """A failure in the API's own form."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return web.json_response(
        body | {"message": message or reason},
        status=code,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


class Sleeps(list[float]):
    """Stands in for asyncio.sleep and notes how long was asked for."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
