"""Clients of servers that speak HTTP/2: good ones, and those that break off, fall silent or go away."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
import uvloop

from moorage.api.pods import Pod
from moorage.client.connection import ConnectionConfig
from moorage.client.credentials import FixedCredentials, Identity
from moorage.client.errors import TimedOut, TooManyRequests, Unreachable, Withheld
from moorage.client.http import HttpClient
from moorage.client.http2 import Http2Connection
from moorage.client.pod_writer import PodWriter
from moorage.client.resources import Resource
from tests.client.conversations import POD
from tests.client.http2_peer import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    REFUSED,
    RESET,
    SETTINGS,
    WINDOW,
    Peer,
    Talks,
    block,
)
from tests.client.loopback import Sleeps

PODS = Resource.of(Pod)
BUSY_IN_GO = bytes.fromhex("200e0335303300861db2192b1a4f03782d790f26820801")
"""Status 503, an audit-id and "Retry-After: 100", as Go's encoder writes them: in Huffman's code."""


def test_requests_share_one_connection(talk: Talks) -> None:
    asked: list[str] = []
    seen: list[dict[str, str]] = []

    async def server(peer: Peer) -> None:
        assert peer.number == 1
        await peer.greet()
        while True:
            request = await peer.request()
            asked.append(f"{request.line} {request.body.decode()}")
            seen.append(request.headers)
            peer.answer(request.stream, 201, b'{"a": 1}')

    async def conversation(client: HttpClient) -> None:
        answers = await asyncio.gather(*(client.request_json("POST", f"/x/{n}", [n]) for n in range(50)))
        assert answers == [{"a": 1}] * 50
        assert await client.request_json("GET", "/y", params={"a": "b c"}) == {"a": 1}
        await client.send("DELETE", "/z")

    talk(server, conversation, user_agent="tester")
    assert asked == [*(f"POST /x/{n} [{n}]" for n in range(50)), "GET /y?a=b+c ", "DELETE /z "]
    first = seen[0]
    assert (first[":scheme"], first["user-agent"], first["content-type"], first["content-length"]) == (
        "https",
        "tester",
        "application/json",
        "3",
    )
    assert first[":authority"].startswith("127.0.0.1:")
    assert "content-type" not in seen[-1] and "content-length" not in seen[-1]


def test_answers_cut_anywhere(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        sent = bytearray()

        class Slow:
            def write(self, data: bytes) -> None:
                sent.extend(data)

        writer, peer.writer = peer.writer, Slow()  # type: ignore[assignment]
        request = await peer.request()
        peer.head(request.stream, 103)  # a word in between
        whole = block(404, audit_id="x" * 100)
        peer.send(HEADERS, 0, request.stream, whole[:3])
        peer.send(CONTINUATION, 0, request.stream, whole[3:20])
        peer.send(CONTINUATION, END_HEADERS, request.stream, whole[20:])
        padded = bytes((3,)) + b'{"message": "no such' + b"\0\0\0"
        peer.send(DATA, 8, request.stream, padded)
        peer.send(DATA, 0, request.stream, b"")
        peer.send(200, 255, request.stream, b"of a kind that nobody knows")
        peer.send(DATA, END_STREAM, request.stream, b' thing"}')
        for byte in bytes(sent):
            writer.write(bytes((byte,)))
            await writer.drain()
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Exception, match="no such thing"):
            await client.request_json("GET", "/x")

    talk(server, conversation)


def test_large_answers_are_let_through(talk: Talks) -> None:
    size = 20 * 2**20

    async def server(peer: Peer) -> None:
        await peer.greet()
        request = await peer.request()
        initial = next(
            value
            for name, value in struct.iter_unpack(">HI", peer.control[0].payload)
            if peer.control[0].kind == SETTINGS and name == 4
        )
        window = initial
        peer.head(request.stream, 200)
        left = size
        while left:
            while window < 2**14:
                update = await peer.until(WINDOW)
                if update.stream == request.stream:
                    window += int.from_bytes(update.payload)
            peer.send(DATA, 0, request.stream, b" " * 2**14)
            window, left = window - 2**14, left - 2**14
            await peer.writer.drain()
        peer.send(DATA, END_STREAM, request.stream, b"[]")
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        assert len(await client.send("GET", "/x")) == size + 2

    talk(server, conversation)


def test_no_more_at_once_than_the_server_takes(talk: Talks) -> None:
    underway: list[int] = []

    async def server(peer: Peer) -> None:
        await peer.greet(struct.pack(">HI", 3, 4))
        await peer.until(SETTINGS)
        while True:
            requests = [await peer.request() for _ in range(4)]
            underway.append(len(requests))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(peer.reader.readexactly(1), 0.02)
            for request in requests:
                peer.answer(request.stream)

    async def conversation(client: HttpClient) -> None:
        for count in (4, 12):  # the first may leave before the server has said how many it takes
            await asyncio.gather(*(client.request_json("POST", "/x", {}) for _ in range(count)))

    talk(server, conversation)
    assert underway == [4, 4, 4, 4]


def test_pings_are_answered(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        request = await peer.request()
        peer.send(PING, 0, 0, b"12345678")
        pong = await peer.until(PING)
        assert (pong.flags, pong.payload) == (1, b"12345678")
        peer.answer(request.stream)
        await peer.request()

    talk(server, lambda client: client.request_json("GET", "/x"))


def test_what_the_server_has_not_taken_is_sent_again(talk: Talks) -> None:
    asked: list[tuple[int, str]] = []

    async def server(peer: Peer) -> None:
        await peer.greet()
        requests = [await peer.request() for _ in range(3 if peer.number == 1 else 1)]
        asked.extend((peer.number, request.line) for request in requests)
        if peer.number == 1:
            first, second, _ = requests
            peer.send(GOAWAY, 0, 0, second.stream.to_bytes(4) + bytes(4))
            peer.answer(second.stream)
            peer.answer(first.stream)
            await peer.frame()  # nothing more comes, the client closes
        if peer.number == 2:
            peer.send(RESET, 0, requests[0].stream, REFUSED.to_bytes(4))
            again = await peer.request()
            asked.append((2, again.line))
            peer.answer(again.stream)
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        await asyncio.gather(*(client.request_json("POST", f"/{n}", {}) for n in range(3)))

    talk(server, conversation)
    assert asked == [(1, "POST /0"), (1, "POST /1"), (1, "POST /2"), (2, "POST /2"), (2, "POST /2")]


def test_a_server_that_takes_nothing_is_not_asked_for_ever(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        while True:
            peer.send(RESET, 0, (await peer.request()).stream, REFUSED.to_bytes(4))

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Unreachable, match="refused the request"):
            await client.request_json("POST", "/x", {})

    talk(server, conversation)


def test_a_bind_without_an_answer_is_looked_up(talk: Talks) -> None:
    """A connection that breaks tells nothing of what became of the bind."""
    asked: list[str] = []

    async def server(peer: Peer) -> None:
        await peer.greet()
        while True:
            request = await peer.request()
            asked.append(request.line)
            if len(asked) == 1:
                peer.head(request.stream, 201)
                peer.send(DATA, 0, request.stream, b'{"kind"')
                await peer.writer.drain()
                return
            found = b'{"metadata": {"namespace": "a", "name": "b", "uid": "u"}, "spec": {"nodeName": "n"}}'
            peer.answer(request.stream, 200, found)

    talk(server, lambda client: PodWriter(client).bind(POD, "n"))
    assert asked == ["POST /api/v1/namespaces/a/pods/b/binding", "GET /api/v1/namespaces/a/pods/b"]


def test_one_that_breaks_off_leaves_the_others_alone(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        first, second = await peer.request(), await peer.request()
        peer.send(RESET, 0, first.stream, (2).to_bytes(4))
        peer.answer(second.stream)
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        first, second = await asyncio.gather(
            *(client.request_json("POST", "/x", {}) for _ in range(2)), return_exceptions=True
        )
        assert isinstance(first, Unreachable) and "broke off the answer (HTTP/2 error 2)" in str(first)
        assert second == {}

    talk(server, conversation)


def test_a_frozen_server_is_left(talk: Talks) -> None:
    connections: list[int] = []

    async def server(peer: Peer) -> None:
        connections.append(peer.number)
        await peer.greet()
        if peer.number == 1:
            peer.answer((await peer.request()).stream)
            await peer.reader.read()
        else:
            await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        await client.request_json("GET", "/first")
        with pytest.raises(TimedOut, match="POST /x: no answer in time"):
            await client.send("POST", "/x", b"{}", seconds=0.05)
        assert await client.request_json("POST", "/x", {}) == {}
        assert client._session._wires[-1].connections == 1  # type: ignore[union-attr]

    talk(server, conversation)
    assert connections == [1, 2]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_process_that_was_held_up_reads_before_it_gives_up(run: Callable[..., None]) -> None:
    class Silent(asyncio.Transport):
        def write(self, data: object) -> None:
            pass

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            pass

        def is_closing(self) -> bool:
            return False

    async def main() -> None:
        connection = Http2Connection()
        connection.connection_made(Silent())
        asked = connection.ask(b"", None, 0.01, None)
        await asyncio.sleep(0)  # it leaves

        def come() -> None:
            answer = b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"
            connection.get_buffer(-1)[: len(answer)] = answer
            connection.buffer_updated(len(answer))

        time.sleep(0.15)
        asyncio.get_running_loop().call_soon(come)
        assert (await asked.answer).status == 200

    run(main())


def test_one_slow_answer_ends_no_other(talk: Talks) -> None:
    given_up: list[int] = []

    async def server(peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream)
        slow, other = await peer.request(), await peer.request()
        assert (await peer.until(RESET)).payload == CANCEL.to_bytes(4)
        given_up.append(slow.stream)
        peer.answer(slow.stream)  # too late, and passed over
        peer.answer(other.stream, body=b"[1]")
        await peer.reader.read()

    async def conversation(client: HttpClient) -> None:
        await client.request_json("GET", "/first")
        slow = asyncio.create_task(client.send("POST", "/slow", b"{}", seconds=0.05))
        other = asyncio.create_task(client.request_json("POST", "/other", {}))
        with pytest.raises(TimedOut):
            await slow
        assert await other == [1]

    async def chatty(peer: Peer) -> None:
        async def ping() -> None:
            while True:  # the connection is alive
                peer.send(PING, 0, 0, bytes(8))
                await asyncio.sleep(0.005)

        pinging = asyncio.create_task(ping())
        try:
            await server(peer)
        finally:
            pinging.cancel()

    talk(chatty, conversation)
    assert given_up == [3]


def test_cancelled_requests_are_called_off(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        first = await peer.request()
        reset = await peer.until(RESET)
        assert (reset.stream, reset.payload) == (first.stream, CANCEL.to_bytes(4))
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        waiting = asyncio.create_task(client.request_json("POST", "/x", {}))
        session = client._session
        while not session._wires[-1]._shared or not session._wires[-1]._shared._streams:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert await client.request_json("POST", "/y", {}) == {}

    talk(server, conversation)


def test_what_may_not_be_written_is_asked_when_it_could_leave(talk: Talks) -> None:
    """A write waits until the server takes one more, and the lease is lost meanwhile."""
    held, asked = True, []

    async def server(peer: Peer) -> None:
        nonlocal held
        await peer.greet(struct.pack(">HI", 3, 1))
        await peer.until(SETTINGS)
        while True:
            request = await peer.request()
            asked.append(request.line)
            if request.line == "POST /a":
                await asyncio.sleep(0.02)
                held = False
            peer.answer(request.stream)

    async def conversation(client: HttpClient) -> None:
        await client.request_json("GET", "/first")  # how many the server takes is known after that
        first, second = (asyncio.create_task(client.request_json("POST", path, {})) for path in ("/a", "/b"))
        await first
        with pytest.raises(Withheld):
            await second
        await client.request_json("GET", "/c")

    talk(server, conversation, may_write=lambda: held)
    assert asked == ["GET /first", "POST /a", "GET /c"]


def test_the_server_asks_to_wait(talk: Talks) -> None:
    sleeps = Sleeps()

    async def server(peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream, 429, retry_after="3")
        stream = (await peer.request()).stream
        peer.send(HEADERS, END_HEADERS, stream, BUSY_IN_GO)
        peer.send(DATA, END_STREAM, stream)
        await peer.answer_all()

    talk(server, lambda client: client.request_json("POST", "/x", {}), sleep=sleeps)
    assert sleeps == [3.0, 60.0]  # no server is waited for longer


def test_without_a_wait_the_error_comes_at_once(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream, 429)
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(TooManyRequests):
            await client.request_json("POST", "/x", {})

    talk(server, conversation)


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x00\x04\x01\x04\x00\x00\x00\x01\x03\x03abc",
        b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\xfe",
        b"\x00\x00\x02\x00\x01\x00\x00\x00\x01{}",
        b"\x00\x00\x01\x01\x04\x00\x00\x00\x09\x88",
        b"\x00\x00\x00\x05\x04\x00\x00\x00\x01",
        b"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x88\x00\x00\x00\x00\x01\x00\x00\x00\x01",
    ],
    ids=["http/1", "cut short", "a table", "no head", "unasked", "a push", "no end of the head"],
)
def test_what_is_not_http2(talk: Talks, said: bytes) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        await peer.request()
        if peer.number == 1:
            peer.writer.write(said)
            await peer.reader.read()
        peer.answer(1)
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Unreachable, match="is not HTTP/2"):
            await client.request_json("POST", "/x", {})
        assert await client.request_json("POST", "/x", {}) == {}

    talk(server, conversation)


def test_large_bodies_go_another_way(talk: Talks) -> None:
    """The server of this test offers HTTP/2 alone, and so has nothing to say to it."""
    lines: list[bytes] = []

    async def server(peer: Peer) -> None:
        lines.append(await peer.reader.readline())

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Unreachable):
            await client.request_json("POST", "/x", "x" * 20_000)

    talk(server, conversation)
    assert lines == [b"POST /x HTTP/1.1\r\n"]


def test_another_token_is_shown_at_once(talk: Talks) -> None:
    shown: list[str] = []

    async def server(peer: Peer) -> None:
        await peer.greet()
        while True:
            request = await peer.request()
            shown.append(request.headers.get("authorization", ""))
            peer.answer(request.stream)

    async def conversation(client: HttpClient) -> None:
        await client.request_json("POST", "/x", {})
        client._session._credentials = FixedCredentials(Identity("Bearer two"))  # type: ignore[union-attr]
        await client.request_json("POST", "/x", {})

    talk(server, conversation)
    assert shown == ["", "Bearer two"]


def test_an_idle_connection_is_not_trusted_for_ever(talk: Talks) -> None:
    numbers: list[int] = []

    async def server(peer: Peer) -> None:
        numbers.append(peer.number)
        await peer.greet()
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        await client.request_json("POST", "/x", {})
        client._session._wires[-1]._keep_alive = -1.0  # type: ignore[union-attr]
        await client.request_json("POST", "/x", {})

    talk(server, conversation)
    assert numbers == [1, 2]


def test_others_on_a_frozen_connection_are_told_at_once(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        if peer.number == 1:
            peer.answer((await peer.request()).stream)
            await peer.reader.read()
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        await client.request_json("GET", "/first")
        long = asyncio.create_task(client.request_json("POST", "/long", {}))
        with pytest.raises(TimedOut):
            await client.send("POST", "/short", b"{}", seconds=0.05)
        with pytest.raises(Unreachable, match="says nothing any more"):
            await long
        assert await client.request_json("POST", "/x", {}) == {}

    talk(server, conversation)


def test_a_retired_wire_closes_the_connection_it_was_just_making(talk: Talks) -> None:
    gone = asyncio.Event()

    async def server(peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await peer.request()
        gone.set()

    async def conversation(client: HttpClient) -> None:
        wire = client._session._wires[-1]  # type: ignore[union-attr]
        asking = asyncio.create_task(client.request_json("POST", "/x", {}))
        await asyncio.sleep(0)
        assert wire.connections == 1
        wire.retire()
        assert await asking == {}
        await gone.wait()

    talk(server, conversation)


def test_a_client_that_is_closed_meanwhile(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def conversation(client: HttpClient) -> None:
        opening = asyncio.create_task(client.request_json("POST", "/x", {}))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(Unreachable, match="the client is closed"):
            await opening

    talk(server, conversation)


def test_a_handshake_that_is_never_answered() -> None:
    """Who waits for the connection gives up in time, while it is still being made."""

    async def main() -> None:
        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.transport.abort()

        async with await asyncio.start_server(deaf, "127.0.0.1", 0) as server:
            config = ConnectionConfig(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            async with HttpClient(config, qps=-1) as client:
                for method, body in (("POST", b"{}"), ("GET", None)):
                    with pytest.raises(TimedOut):
                        await client.send(method, "/x", body, seconds=0.02)

    asyncio.run(main())
