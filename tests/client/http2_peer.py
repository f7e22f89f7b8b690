"""A server that speaks HTTP/2 frame by frame, for connections to be tried on."""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from moorage.client.connection import ConnectionConfig
from tests.client.certificates import Pair, make

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
REFUSED, CANCEL = 7, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NAMES = {1: ":authority", 2: ":method", 4: ":path", 6: ":scheme"}
_NAMES |= {19: "accept", 23: "authorization", 28: "content-length", 31: "content-type", 58: "user-agent"}

AUTHORITY = make("authority")
SERVER = make("localhost", signer=AUTHORITY, addresses=("127.0.0.1",))


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


class Asked(NamedTuple):
    stream: int
    headers: dict[str, str]
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.headers[':method']} {self.headers[':path']}"


class Peer:
    """The server's end of one connection."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        """Which connection it is, from 1."""
        self.reader, self.writer = reader, writer
        self.control: list[Frame] = []
        """What came that belongs to no request."""

    async def greet(self, settings: bytes = b"") -> None:
        assert await self.reader.readexactly(len(PREFACE)) == PREFACE
        self.send(SETTINGS, 0, 0, settings)

    def send(self, kind: int, flags: int, stream: int, payload: bytes = b"") -> None:
        self.writer.write(len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload)

    async def frame(self) -> Frame:
        head = await self.reader.readexactly(9)
        payload = await self.reader.readexactly(int.from_bytes(head[:3]))
        return Frame(head[3], head[4], int.from_bytes(head[5:]), payload)

    async def request(self) -> Asked:
        """The next request; what comes in between is kept in `control`."""
        while (frame := await self.frame()).kind != HEADERS:
            self.control.append(frame)
        headers, body, flags = fields(frame.payload), b"", frame.flags
        while not flags & END_STREAM:
            more = await self.frame()
            assert (more.kind, more.stream) == (DATA, frame.stream)
            body, flags = body + more.payload, more.flags
        return Asked(frame.stream, headers, body)

    async def until(self, kind: int) -> Frame:
        while (frame := await self.frame()).kind != kind:
            self.control.append(frame)
        return frame

    def head(self, stream: int, status: int, **fields: str) -> None:
        self.send(HEADERS, END_HEADERS, stream, block(status, **fields))

    def answer(self, stream: int, status: int = 200, body: bytes = b"{}", **fields: str) -> None:
        self.head(stream, status, **fields)
        self.send(DATA, END_STREAM, stream, body)

    async def answer_all(self) -> None:
        while True:
            self.answer((await self.request()).stream)


Talk = Callable[[Peer], Awaitable[None]]
Talks = Callable[..., Any]
"""Has a client and a server of `Talk` meet: the fixture `talk`."""


def block(status: int, **fields: str) -> bytes:
    written = b"\x08\x03" + str(status).encode()
    for name, value in fields.items():
        written += b"\x00" + _text(name.replace("_", "-")) + _text(value)
    return written


def fields(block: bytes) -> dict[str, str]:
    """What a client of ours writes: names from the common table or plain, and plain values."""
    found: dict[str, str] = {}
    at = 0

    def number(bits: int) -> int:
        nonlocal at
        most = (1 << bits) - 1
        value, shift = block[at] & most, 0
        at += 1
        while value >= most and (shift == 0 or block[at - 1] & 0x80):
            value += (block[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
        return value

    def text() -> str:
        nonlocal at
        size = number(7)
        at += size
        return block[at - size : at].decode()

    while at < len(block):
        assert block[at] & 0xF0 == 0x10
        index = number(4)
        name = _NAMES[index] if index else text()
        found[name] = text()
    return found


def _text(value: str) -> bytes:
    assert len(value) < 127
    return bytes((len(value),)) + value.encode()


@asynccontextmanager
async def http2_server(talk: Talk, protocols: tuple[str, ...] = ("h2",)) -> AsyncIterator[ConnectionConfig]:
    """The way to a server that has `talk` lead every connection."""
    count = 0
    leading: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        task = asyncio.current_task()
        assert task is not None
        leading.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            await talk(Peer(count, reader, writer))
        leading.discard(task)
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=_context(SERVER, protocols))
    try:
        port = server.sockets[0].getsockname()[1]
        yield ConnectionConfig(f"https://127.0.0.1:{port}", ca_data=AUTHORITY.certificate_pem)
    finally:
        server.close()
        for task in leading:
            task.cancel()
        if leading:
            await asyncio.wait(leading)


def _context(pair: Pair, protocols: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(list(protocols))
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    with os.fdopen(descriptor, "wb") as file:
        file.write(pair.certificate_pem + pair.key_pem)
    context.load_cert_chain(path)
    os.unlink(path)  # noqa: PTH108
    return context
