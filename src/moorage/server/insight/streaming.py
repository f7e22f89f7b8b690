"""Server-sent events: what happens, as it happens."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from aiohttp import web

from moorage.insight.live.broadcast import Broadcast

SECONDS_BETWEEN = 15.0
"""After so long without an event, a comment tells everybody on the way that the stream is alive."""
_ALIVE = b": \n\n"

_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",
}


class _Connection(Protocol):
    def begin_request(self) -> None: ...


async def stream(request: web.Request, broadcast: Broadcast, since: int | None) -> web.StreamResponse:
    """Tells what happens until the caller goes or the process ends."""
    connection: _Connection | None = request.get_extra_info("connection")
    reader = broadcast.join(since)
    try:
        response = web.StreamResponse(headers=_HEADERS)
        await response.prepare(request)
        with suppress(ConnectionError):  # the caller has gone, as callers of streams do
            while (pieces := await reader.take(SECONDS_BETWEEN)) is not None:
                await response.write(pieces or _ALIVE)
                if connection is not None:
                    # It has taken this, so it has not been at it for too long.
                    connection.begin_request()
            await response.write_eof()
        return response
    finally:
        broadcast.leave(reader)
