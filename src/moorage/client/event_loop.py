"""The event loop of a process that talks to an API server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvloop


class EventLoop(uvloop.Loop):
    """uvloop, but for sockets that are reset while they are handed over to it.

    uvloop closes such a socket by its number and leaves the Python object as it is. Whatever gets the same
    number next, a bind's connection for example, would be closed together with that object.
    """

    async def create_connection(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *args: Any,
        sock: socket.socket | None = None,
        **options: Any,
    ) -> Any:
        try:
            return await super().create_connection(protocol_factory, *args, sock=sock, **options)
        except BaseException:
            if sock is not None:
                sock.detach()
            raise
