"""Connections that are reset at once, as a load balancer does that has no server behind it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct

import pytest

pytest.importorskip("uvloop")
from moorage.client.event_loop import EventLoop


async def handed_over_after_a_reset(tls: ssl.SSLContext) -> socket.socket:
    """A socket that its peer has reset, after the loop was asked to make a connection of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
    loop = asyncio.get_running_loop()
    with pytest.raises(ConnectionResetError):
        await loop.create_connection(asyncio.Protocol, sock=ours, ssl=tls, server_hostname="nobody")
    return ours


def test_a_socket_that_is_reset_while_it_is_handed_over_closes_nothing_of_others() -> None:
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        handed_over = runner.run(handed_over_after_a_reset(ssl.create_default_context()))
    # It is closed; were the number still there, it would be somebody else's by now.
    assert handed_over.detach() == -1
