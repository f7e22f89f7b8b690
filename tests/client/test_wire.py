"""The connection pool, against servers that answer byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from aiohttp import web

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.client.http2 import HttpAnswer, ProtocolError
from moorage.client.pod_writer import PodWriter
from moorage.client.wire import Request, Wire
from tests.client.loopback import connected

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]
Run = Callable[[Coroutine[Any, Any, None]], None]

REQUEST = Request("POST", "/", b"", "application/json")
PLAIN = b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"
)


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    runner: Run = request.param
    return runner


class Server:
    """Answers each request with the next of the replies, and counts its connections."""

    def __init__(self, *replies: bytes | Reply) -> None:
        self.replies = list(replies)
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                reply = self.replies.pop(0)
                if isinstance(reply, bytes):
                    writer.write(reply)
                else:
                    await reply(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def wire(self, **options: Any) -> AsyncIterator[Wire]:
        given = {"limit": 10, "seconds": 10.0, "keep_alive": 60.0} | options
        async with await asyncio.start_server(self, "127.0.0.1", 0) as server:
            address = server.sockets[0].getsockname()
            wire = Wire(f"http://{address[0]}:{address[1]}", tls=None, fields=[], **given)
            try:
                yield wire
            finally:
                await wire.close()


def in_pieces(answer: bytes, size: int) -> Reply:
    async def reply(writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(answer), size):
            writer.write(answer[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)

    return reply


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.write(PLAIN[:-2])
    writer.close()


async def say_nothing(writer: asyncio.StreamWriter) -> None:
    await writer.drain()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_answers_in_pieces(run: Run, size: int) -> None:
    async def main() -> None:
        between = b"HTTP/1.1 102 Processing\r\n\r\n"
        empty = b"HTTP/1.1 204 No Content\r\n\r\n"
        server = Server(*(in_pieces(each, size) for each in (PLAIN, CHUNKED, between + PLAIN, empty)))
        async with server.wire() as wire:
            assert await wire.exchange(REQUEST) == HttpAnswer(201, None, b"hello")
            assert await wire.exchange(REQUEST) == HttpAnswer(429, 7.0, b"hello")
            assert await wire.exchange(REQUEST) == HttpAnswer(201, None, b"hello")
            assert await wire.exchange(REQUEST) == HttpAnswer(204, None, b"")
        assert server.connections == 1

    run(main())


def test_large_body_with_trailers(run: Run) -> None:
    async def main() -> None:
        body = bytes(range(256)) * 4000
        chunks = b"".join(b"%x\r\n%b\r\n" % (1000, body[at : at + 1000]) for at in range(0, len(body), 1000))
        server = Server(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nA: b\r\n\r\n", PLAIN
        )
        async with server.wire() as wire:
            assert (await wire.exchange(REQUEST)).body == body
            assert (await wire.exchange(REQUEST)).body == b"hello"

    run(main())


def test_connections_are_limited_and_reused(run: Run) -> None:
    async def main() -> None:
        server = Server(*[PLAIN] * 20)
        async with server.wire(limit=3) as wire:
            await asyncio.gather(*(wire.exchange(REQUEST) for _ in range(20)))
        assert server.connections == 3

    run(main())


@pytest.mark.parametrize(
    ("answer", "keep_alive"),
    [
        (PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), 60.0),
        (PLAIN + b"and more", 60.0),
        (PLAIN, 0.0),
    ],
)
def test_connections_that_are_not_reused(run: Run, answer: bytes, keep_alive: float) -> None:
    async def main() -> None:
        server = Server(answer, answer)
        async with server.wire(keep_alive=keep_alive) as wire:
            for _ in range(2):
                assert (await wire.exchange(REQUEST)).body == b"hello"
        assert server.connections == 2

    run(main())


def test_connections_that_the_server_closes_are_forgotten(run: Run) -> None:
    async def main() -> None:
        tired = asyncio.Event()

        async def answer_and_close(writer: asyncio.StreamWriter) -> None:
            writer.write(PLAIN)
            await tired.wait()
            writer.close()

        server = Server(*[answer_and_close] * 5, PLAIN)
        async with server.wire() as wire:
            await asyncio.gather(*(wire.exchange(REQUEST) for _ in range(5)))
            assert (wire.connections, len(wire._idle)) == (5, 5)
            tired.set()
            async with asyncio.timeout(30):
                while wire.connections:
                    await asyncio.sleep(0.001)
            assert not wire._idle
            assert (await wire.exchange(REQUEST)).body == b"hello"

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_not_http(run: Run, answer: bytes) -> None:
    async def main() -> None:
        server = Server(answer, PLAIN)
        async with server.wire() as wire:
            with pytest.raises(ProtocolError):
                await wire.exchange(REQUEST)
            assert (await wire.exchange(REQUEST)).body == b"hello"

    run(main())


def test_broken_and_silent_servers(run: Run) -> None:
    async def main() -> None:
        server = Server(hang_up, say_nothing, PLAIN)
        async with server.wire(seconds=0.05) as wire:
            with pytest.raises(ConnectionResetError):
                await wire.exchange(REQUEST)
            with pytest.raises(TimeoutError):
                await wire.exchange(REQUEST)
            assert (await wire.exchange(REQUEST)).status == 201
        assert server.connections == 3

    run(main())


def test_what_is_prevented_at_the_last_moment_is_not_sent(run: Run) -> None:
    async def main() -> None:
        def prevent() -> None:
            raise PermissionError("not now")

        server = Server(PLAIN)
        async with server.wire() as wire:
            with pytest.raises(PermissionError):
                await wire.exchange(REQUEST, before_sending=prevent)
            assert (await wire.exchange(REQUEST)).body == b"hello"
        assert server.replies == []

    run(main())


def test_idle_connections_can_be_dropped(run: Run) -> None:
    async def main() -> None:
        server = Server(PLAIN, PLAIN)
        async with server.wire() as wire:
            await wire.exchange(REQUEST)
            wire.drop_idle()
            await wire.exchange(REQUEST, seconds=5)
        assert server.connections == 2

    run(main())


def test_cancelled_exchange_does_not_spoil_the_next(run: Run) -> None:
    async def main() -> None:
        server = Server(say_nothing, PLAIN)
        async with server.wire(limit=1) as wire:
            waiting = asyncio.create_task(wire.exchange(REQUEST))
            while not server.connections or len(server.replies) > 1:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (await wire.exchange(REQUEST)).body == b"hello"

    run(main())


def test_retired_pool_finishes_what_it_has_begun(run: Run) -> None:
    async def main() -> None:
        server = Server(PLAIN)
        async with server.wire() as wire:
            waiting = asyncio.create_task(wire.exchange(REQUEST))
            await asyncio.sleep(0)
            wire.retire()
            assert (await waiting).body == b"hello"

    run(main())


def test_client_on_both_loops(run: Run) -> None:
    asked: list[str] = []

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(f"{request.method} {request.path}")
        return web.json_response({})

    async def main() -> None:
        async with connected(server) as client:
            pod = from_document(Pod, {"metadata": {"namespace": "a", "name": "b", "uid": "u"}})
            await asyncio.gather(*(PodWriter(client).bind(pod, "n") for _ in range(50)))
            await PodWriter(client).delete_pod(pod)
            with pytest.raises(ValueError, match="not a path"):
                await client.request_json("POST", "/a b\r\nX: y", {})
            assert isinstance(client, HttpClient)

    run(main())
    assert asked == ["POST /api/v1/namespaces/a/pods/b/binding"] * 50 + ["DELETE /api/v1/namespaces/a/pods/b"]
