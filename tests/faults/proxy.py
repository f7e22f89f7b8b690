"""A load balancer on loopback in front of API servers, whose lines a test freezes, cuts and slows down.

Bytes pass as they are, so TLS is between a client and the API server: a client needs nothing but the other
address. `tests/faults/gateway.py` is for faults inside of requests and answers.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

HOST = "127.0.0.1"
PIECE = 2**16
CONTROL_SECONDS = 30.0

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own, for servers that must not wait for the test beside them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def wrapped() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result(CONTROL_SECONDS)

    def call(self, work: Callable[[], T]) -> T:
        async def wrapped() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result(CONTROL_SECONDS)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONTROL_SECONDS)
        self._loop.close()


class LoopbackServer(ABC):
    """Serves at `url` for the length of a `with` block, in a thread of its own."""

    _port: int

    def __enter__(self) -> Self:
        self._thread = LoopThread()
        self._thread.run(self._open)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._close)
        self._thread.close()

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self._port}"

    @abstractmethod
    async def _open(self) -> None:
        """Listens, and sets the port."""

    @abstractmethod
    async def _close(self) -> None: ...


@dataclass
class Backend:
    """One API server as the balancer sees it."""

    host: str
    port: int
    flowing: asyncio.Event
    refusing: bool = False
    delay: float = 0.0
    connected: int = 0
    pairs: "set[Pair]" = field(default_factory=set)

    def cut(self) -> None:
        for pair in list(self.pairs):
            pair.reset()


class Pair:
    """A client's connection and the one behind it."""

    def __init__(self, backend: Backend, *writers: asyncio.StreamWriter) -> None:
        self.backend = backend
        self.writers = list(writers)

    def reset(self) -> None:
        for writer in self.writers:
            reset(writer)


class Balancer(LoopbackServer):
    """Takes connections for the length of a `with` block and shares them out among backends in turn.

    Backends are given by URL and named by their number. A connection stays with its backend, whatever becomes
    of it; new ones go to those that are neither frozen nor refused. If all are frozen, a new connection is
    taken and nothing is heard of it, as if the network were cut; if the rest refuse, it is reset.
    """

    def __init__(self, *servers: str) -> None:
        self._servers = servers
        self._turn = count()
        self._tasks: set[asyncio.Task[None]] = set()

    def freeze(self, *numbers: int) -> None:
        """No byte passes any more, in no direction; connections stay open. Without numbers: all backends."""
        self._each(numbers, lambda backend: backend.flowing.clear())

    def thaw(self, *numbers: int) -> None:
        """What was held back goes on its way."""
        self._each(numbers, lambda backend: backend.flowing.set())

    def cut(self, *numbers: int) -> None:
        """Resets all connections there are; new ones are taken."""
        self._each(numbers, Backend.cut)

    def refuse(self, *numbers: int) -> None:
        """Takes no new connections; those there are stay."""
        self._each(numbers, lambda backend: setattr(backend, "refusing", True))

    def accept(self, *numbers: int) -> None:
        """Takes new connections again."""
        self._each(numbers, lambda backend: setattr(backend, "refusing", False))

    def delay(self, seconds: float, *numbers: int) -> None:
        """Holds back each piece for a while, in both directions."""
        self._each(numbers, lambda backend: setattr(backend, "delay", seconds))

    def connected(self, number: int) -> int:
        """How many connections have gone to a backend so far."""
        return self._thread.call(lambda: self._backends[number].connected)

    def open_connections(self, number: int) -> int:
        """How many there are now."""
        return self._thread.call(lambda: len(self._backends[number].pairs))

    def _each(self, numbers: tuple[int, ...], change: Callable[[Backend], None]) -> None:
        def work() -> None:
            for backend in [self._backends[number] for number in numbers] or self._backends:
                change(backend)

        self._thread.call(work)

    async def _open(self) -> None:
        self._backends = []
        for server in self._servers:
            parts = urlsplit(server)
            assert parts.hostname is not None and parts.port is not None
            backend = Backend(parts.hostname, parts.port, asyncio.Event())
            backend.flowing.set()
            self._backends.append(backend)
        self._server = await asyncio.start_server(self._accepted, HOST, 0)
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        backend = self._choose()
        if backend is None:
            reset(writer)
            return
        backend.connected += 1
        pair = Pair(backend, writer)
        backend.pairs.add(pair)
        try:
            await backend.flowing.wait()
            behind, forward = await asyncio.open_connection(backend.host, backend.port)
            pair.writers.append(forward)
            pumps = [
                asyncio.ensure_future(pump(backend, reader, forward)),
                asyncio.ensure_future(pump(backend, behind, writer)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in pumps:
                    each.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
            for end in pair.writers:
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()
        except OSError:
            pass  # nobody listens there: the client sees its connection reset
        finally:
            backend.pairs.discard(pair)
            pair.reset()

    def _choose(self) -> Backend | None:
        taking = [each for each in self._backends if not each.refusing]
        flowing = [each for each in taking if each.flowing.is_set()]
        candidates = flowing or taking
        return candidates[next(self._turn) % len(candidates)] if candidates else None


async def pump(backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries bytes one way until the sender ends; the end waits in a frozen line as the bytes do."""
    with contextlib.suppress(OSError):
        while True:
            await backend.flowing.wait()
            piece = await reader.read(PIECE)
            if backend.delay:
                await asyncio.sleep(backend.delay)
            await backend.flowing.wait()
            if not piece:
                return
            writer.write(piece)
            await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection with a reset instead of a farewell."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
