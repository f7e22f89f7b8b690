"""Callers that take their time, or come in crowds; over real connections, in a time that is told."""

from __future__ import annotations

import asyncio
import gc
import logging
import ssl
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from moorage.server.access import Access
from moorage.server.app import Server
from moorage.server.connections import SECONDS, SECONDS_TO_TAKE, Connections, most_connections
from moorage.server.pages import Content
from moorage.server.tls_connection import Phase
from tests.server.test_app import HOST, TIMEOUT, contexts, everything, insecure

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Caller:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def status(self) -> int:
        """The status of the next answer, which is taken whole."""
        async with asyncio.timeout(TIMEOUT):
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode().lower().split("\r\n")
            [length] = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
            await self.reader.readexactly(length)
            return int(lines[0].split()[1])

    async def is_closed(self) -> bool:
        """Waits for the end, whatever comes before it."""
        async with asyncio.timeout(TIMEOUT):
            try:
                while await self.reader.read(2**16):
                    pass
            except (ConnectionError, ssl.SSLError):
                pass
            return True


@dataclass
class World:
    most: int = 1000
    content: Content = field(default_factory=Content)
    access: Access = field(default_factory=everything)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.connections = Connections(self.most, clock=lambda: self.now, sleep=_never)
        self._stack = AsyncExitStack()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[World]:
        self.server = Server(
            HOST, 0, contexts(), self.content, self.access, connections=self.connections, seconds_to_stop=1.0
        )
        await self.server.start()
        async with self._stack:
            self._stack.push_async_callback(self.server.stop)
            yield self

    async def call(self, *, secure: bool = True, **how: Any) -> Caller:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(HOST, self.server.port, ssl=insecure() if secure else None, **how),
            TIMEOUT,
        )

        async def close() -> None:
            if writer.transport is not None:
                writer.transport.abort()

        self._stack.push_async_callback(close)
        return Caller(reader, writer)

    async def until(self, what: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not what():
                await asyncio.sleep(0.001)

    def phases(self) -> list[Phase]:
        return [connection.phase for connection in self.connections]

    def pass_(self, seconds: float) -> None:
        self.now += seconds
        self.connections.look()


async def _never(seconds: float) -> None:
    await asyncio.Event().wait()


LOOPS = pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def run(main: Awaitable[None], loop_factory: LoopFactory = uvloop.new_event_loop) -> None:
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main)  # type: ignore[arg-type]  # it is a coroutine


@LOOPS
def test_a_handshake_must_be_finished(loop_factory: LoopFactory) -> None:
    async def main() -> None:
        async with World().serving() as world:
            silent, slow = await world.call(secure=False), await world.call(secure=False)
            slow.send(b"\x16\x03\x01")
            await world.until(lambda: len(world.connections) == 2)
            world.pass_(SECONDS[Phase.HANDSHAKE] - 0.1)
            assert len(world.connections) == 2
            world.pass_(0.1)
            assert len(world.connections) == 0
            assert await silent.is_closed()
            assert await slow.is_closed()

    run(main(), loop_factory)


@LOOPS
def test_a_head_must_be_sent_however_slowly_it_comes(loop_factory: LoopFactory) -> None:
    async def main() -> None:
        async with World().serving() as world:
            silent, half, slow = [await world.call() for _ in range(3)]
            half.send(HEALTH[:20])
            for place in range(10):
                slow.send(HEALTH[place : place + 1])
                await slow.writer.drain()
                world.pass_(0.9)
            assert len(world.connections) == 3
            world.pass_(1.0)
            for caller in (silent, half, slow):
                assert await caller.is_closed()

    run(main(), loop_factory)


@LOOPS
def test_the_next_head_has_its_own_time(loop_factory: LoopFactory) -> None:
    async def main() -> None:
        async with World().serving() as world:
            caller = await world.call()
            caller.send(HEALTH)
            assert await caller.status() == 200
            await world.until(lambda: world.phases() == [Phase.IDLE])
            for _ in range(3):
                world.pass_(9.0)
                caller.send(HEALTH[:20])
                await world.until(lambda: world.phases() == [Phase.HEAD])
                world.pass_(9.0)
                caller.send(HEALTH[20:])
                assert await caller.status() == 200
                await world.until(lambda: world.phases() == [Phase.IDLE])
            caller.send(HEALTH[:20])
            await world.until(lambda: world.phases() == [Phase.HEAD])
            world.pass_(10.0)
            assert await caller.is_closed()

    run(main(), loop_factory)


def test_who_asks_no_more_is_let_go() -> None:
    async def main() -> None:
        async with World().serving() as world:
            caller = await world.call()
            caller.send(HEALTH)
            assert await caller.status() == 200
            world.pass_(89.9)
            assert len(world.connections) == 1
            world.pass_(0.1)
            assert await caller.is_closed()

    run(main())


def test_a_body_that_nobody_reads_must_end_soon() -> None:
    async def main() -> None:
        async with World(access=Access()).serving() as world:
            caller = await world.call()
            caller.send(b"PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nx")
            assert await caller.status() == 403
            await world.until(lambda: world.phases() == [Phase.IDLE])
            caller.send(b"x" * 1000)
            await world.until(lambda: world.phases() == [Phase.HEAD])
            world.pass_(10.0)
            assert await caller.is_closed()

    run(main())


@LOOPS
@pytest.mark.parametrize("keep", ["keep-alive", "close"])
def test_an_answer_that_is_not_taken_does_not_stay_for_ever(keep: str, loop_factory: LoopFactory) -> None:
    content = Content(config=lambda: {"large": "x" * 2**24})

    async def main() -> None:
        async with World(content=content).serving() as world:
            caller = await world.call(limit=2**10)
            caller.send(f"GET /configz HTTP/1.1\r\nHost: x\r\nConnection: {keep}\r\n\r\n".encode())
            await world.until(lambda: any(each.tcp.get_write_buffer_size() for each in world.connections))
            world.pass_(0.0)
            world.pass_(SECONDS_TO_TAKE - 0.1)
            assert len(world.connections) == 1
            world.pass_(0.1)
            assert len(world.connections) == 0
            assert await caller.is_closed()

    run(main(), loop_factory)


@LOOPS
def test_in_a_crowd_there_is_always_room_for_one_more(loop_factory: LoopFactory) -> None:
    async def main() -> None:
        async with World(most=20).serving() as world:
            idle = await world.call()
            idle.send(HEALTH)
            assert await idle.status() == 200
            await world.until(lambda: world.phases() == [Phase.IDLE])
            silent = []
            for _ in range(100):
                world.now += 0.01
                silent.append(await world.call(secure=False))
            await world.until(lambda: len(world.connections) == 20)
            assert await idle.is_closed()
            for _ in range(3):
                probe = await world.call()
                probe.send(HEALTH)
                assert await probe.status() == 200
            assert await silent[0].is_closed()

    run(main(), loop_factory)


def test_requests_under_way_are_the_last_to_go() -> None:
    release, asked = asyncio.Event(), asyncio.Event()

    class Slow:
        async def review_access(self, *about: object) -> bool:
            asked.set()
            await release.wait()
            return True

    async def main() -> None:
        async with World(most=3, access=Access(reviewer=Slow())).serving() as world:
            working = await world.call()
            working.send(b"GET /configz HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(asked.wait(), TIMEOUT)
            for _ in range(10):
                world.now += 1
                await world.call()
            assert sorted(world.phases())[-1] is Phase.REQUEST
            release.set()
            assert await working.status() == 200

    run(main())


def test_health_is_told_also_when_all_others_wait_for_their_answers() -> None:
    class Never:
        async def review_access(self, *about: object) -> bool:
            await asyncio.Event().wait()
            raise AssertionError

    async def main() -> None:
        async with World(most=5, access=Access(reviewer=Never())).serving() as world:
            for number in range(5):
                waiting = await world.call()
                waiting.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                await world.until(lambda: world.phases().count(Phase.REQUEST) == number + 1)  # noqa: B023
                world.now += 1
            probe = await world.call()
            probe.send(HEALTH)
            assert await probe.status() == 200

    run(main())


def test_half_of_the_files_are_left_to_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 512), (1_000_000, 1000)):
        monkeypatch.setattr("resource.getrlimit", lambda what: (files, files))  # noqa: B023
        assert most_connections() == most


@LOOPS
@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n\r\nx",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nbroken\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n",
        b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 100_000),
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"a" * 100_000),
        b"GET /healthz HTTP/1.1\r\n"
        + b"".join(b"X-%d: %s\r\n" % (each, b"a" * 100) for each in range(10000)),
        b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        bytes(range(256)) * 10,
    ],
    ids=range(13),
)
def test_what_is_no_request_is_refused_without_a_word(
    data: bytes, loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with World().serving() as world:
            caller = await world.call()
            caller.send(data)
            assert await caller.status() == 400
            assert await caller.is_closed()
            other = await world.call()
            other.send(HEALTH)
            assert await other.status() == 200

    run(main(), loop_factory)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@LOOPS
@pytest.mark.parametrize(
    "head",
    [
        "OPTIONS * HTTP/1.1",
        "CONNECT x:1 HTTP/1.1",
        "GET http://other/healthz HTTP/1.1",
        "GET //healthz HTTP/1.1",
        "GET /%00%ff%zz HTTP/1.1",
        "GET /healthz?a=%zz&%ff HTTP/1.1",
        "HEAD /healthz HTTP/1.1",
        "BREW /healthz HTTP/1.1",
        "GET /../../etc/passwd HTTP/1.1",
    ],
)
def test_odd_requests_are_answered(
    head: str, loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with World(access=Access()).serving() as world:
            caller = await world.call()
            caller.send(f"{head}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            line = await asyncio.wait_for(caller.reader.readline(), TIMEOUT)
            assert int(line.split()[1]) in (200, 400, 403, 404, 405)

    run(main(), loop_factory)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@LOOPS
@pytest.mark.parametrize(
    "data", [HEALTH, b"\x16\x03\x01\x00\x05hello", b"\x00" * 100], ids=["http", "tls", "nul"]
)
def test_what_is_no_tls_is_let_go(
    data: bytes, loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with World().serving() as world:
            caller = await world.call(secure=False)
            caller.send(data)
            assert await caller.is_closed()
            await world.until(lambda: len(world.connections) == 0)

    run(main(), loop_factory)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@LOOPS
def test_a_caller_that_vanishes(loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture) -> None:
    content = Content(config=lambda: {"large": "x" * 2**24})

    async def main() -> None:
        async with World(content=content).serving() as world:
            for data in (b"", HEALTH[:10], HEALTH, b"GET /configz HTTP/1.1\r\nHost: x\r\n\r\n"):
                caller = await world.call()
                caller.send(data)
                await caller.writer.drain()
                await asyncio.sleep(0)
                caller.writer.transport.abort()
            await world.until(lambda: len(world.connections) == 0)

    run(main(), loop_factory)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@LOOPS
def test_what_has_ended_leaves_nothing_behind(loop_factory: LoopFactory) -> None:
    """Kubelets open a connection for each probe, and the scheduler collects garbage rarely."""

    async def main() -> None:
        async with World().serving() as world:
            remembered = []
            for data in (b"", HEALTH[:10], HEALTH):
                caller = await world.call()
                caller.send(data)
                if data == HEALTH:
                    assert await caller.status() == 200
                await world.until(lambda: len(world.connections) == 1)
                remembered += [weakref.ref(connection) for connection in world.connections]
                caller.writer.close()
            await world.until(lambda: len(world.connections) == 0)
            await world.until(lambda: not any(reference() for reference in remembered))

    gc.disable()
    try:
        run(main(), loop_factory)
    finally:
        gc.enable()
