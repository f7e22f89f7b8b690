"""A gateway in front of an API server that understands requests, and spoils those that a test names.

It ends TLS with a certificate of its own and passes real requests on to the real API server.
"""

import asyncio
import contextlib
import random
import re
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import aiohttp
from aiohttp import web
from yarl import URL

from tests.client.certificates import make
from tests.faults.proxy import HOST, LoopbackServer

LARGEST_BODY = 2**26
PER_HOP = frozenset(("host", "connection", "transfer-encoding", "content-length", "keep-alive"))

Action: TypeAlias = Callable[["Gateway", web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """What is done to requests of a method whose path and query match: to a share, at most `times`."""

    action: Action
    method: str
    path: re.Pattern[str]
    times: int
    share: float
    happened: int = 0

    def hits(self, request: web.Request, chance: float) -> bool:
        if self.happened >= self.times or chance >= self.share:
            return False
        return self.method in ("", request.method) and bool(self.path.search(request.path_qs))


class Gateway(LoopbackServer):
    """Serves at `url` for the length of a `with` block; clients trust it by `ca_file`, made in `folder`."""

    def __init__(self, server: str, ca_file: Path, folder: Path) -> None:
        self._server = server
        self._faults: list[Fault] = []
        self._random = random.Random(1)
        self.hanging: list[web.Request] = []
        self._stream_delay, self._late_streams = 0.0, re.compile("")
        self.late: set[asyncio.Future[web.StreamResponse]] = set()
        self._streams: dict[web.StreamResponse, web.Request] = {}
        self.ca_file = folder / "gateway-ca.crt"
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.rotate()
        self._behind = ssl.create_default_context(cafile=ca_file)

    def rotate(self) -> None:
        """Shows another certificate from now on, and writes the authority that signed it to `ca_file`."""
        authority = make("the gateway's authority")
        pair = make(HOST, signer=authority, addresses=(HOST,))
        self.ca_file.write_bytes(authority.certificate_pem)
        pem = self.ca_file.with_name("gateway.pem")
        pem.write_bytes(pair.certificate_pem + pair.key_pem)
        self._tls.load_cert_chain(pem)

    @contextlib.contextmanager
    def fault(
        self, action: Action, *, method: str = "", path: str = "", times: int = 10**9, share: float = 1.0
    ) -> Iterator[Fault]:
        """Spoils requests for the length of a `with` block; of several faults, the first that hits.

        What still hangs at the end of any fault is reset then.
        """
        fault = Fault(action, method, re.compile(path), times, share)
        self._thread.call(lambda: self._faults.append(fault))
        try:
            yield fault
        finally:
            self._thread.call(lambda: self._end(fault))

    def _end(self, fault: Fault) -> None:
        self._faults.remove(fault)
        for request in list(self.hanging):
            reset(request)

    @contextlib.contextmanager
    def late_streams(self, seconds: float, path: str = "") -> Iterator[None]:
        """What watches tell whose path matches comes late for the length of a `with` block."""
        self._stream_delay, self._late_streams = seconds, re.compile(path)
        try:
            yield
        finally:
            self._stream_delay = 0.0

    def delay_of(self, stream: web.Request) -> float:
        return self._stream_delay if self._late_streams.search(stream.path_qs) else 0.0

    def open_streams(self, path: str) -> int:
        """How many streams there are whose path and query match."""
        return self._thread.call(lambda: len(self._matching(re.compile(path))))

    def inject(self, path: str, piece: bytes, *, then_cut: bool = False) -> int:
        """Writes into all open streams whose path and query match, between what the API server says."""
        return self._thread.run(lambda: self._inject(re.compile(path), piece, then_cut))

    async def _inject(self, path: re.Pattern[str], piece: bytes, then_cut: bool) -> int:
        chosen = self._matching(path)
        for stream in chosen:
            await stream.write(piece)
            if then_cut:
                reset(self._streams[stream])
        return len(chosen)

    def _matching(self, path: re.Pattern[str]) -> list[web.StreamResponse]:
        return [each for each, request in self._streams.items() if path.search(request.path_qs)]

    async def _open(self) -> None:
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._behind),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, 0, ssl_context=self._tls)
        await site.start()
        self._port = int(self._runner.addresses[0][1])

    async def _close(self) -> None:
        await self._runner.cleanup()
        for task in self.late:
            task.cancel()
        await asyncio.gather(*self.late, return_exceptions=True)
        await self.http.close()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        chance = self._random.random()
        for fault in self._faults:
            if fault.hits(request, chance):
                fault.happened += 1
                return await fault.action(self, request)
        return await pass_on(self, request)

    def ask(self, request: web.Request, body: bytes) -> "aiohttp.client._RequestContextManager":
        headers = {name: value for name, value in request.headers.items() if name.lower() not in PER_HOP}
        url = URL(f"{self._server}{request.path_qs}", encoded=True)
        return self.http.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        )

    @contextlib.contextmanager
    def stream(self, request: web.Request, response: web.StreamResponse) -> Iterator[None]:
        self._streams[response] = request
        try:
            yield
        finally:
            del self._streams[response]


async def pass_on(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """What a gateway is for: the request to the API server, the answer back, in pieces as they come."""
    try:
        async with gateway.ask(request, await request.read()) as answer:
            headers = {name: value for name, value in answer.headers.items() if name.lower() not in PER_HOP}
            if "watch=true" not in request.query_string:
                return web.Response(status=answer.status, headers=headers, body=await answer.read())
            response = web.StreamResponse(status=answer.status, headers=headers)
            await response.prepare(request)
            with gateway.stream(request, response):
                async for piece in answer.content.iter_any():
                    if delay := gateway.delay_of(request):
                        await asyncio.sleep(delay)
                    await response.write(piece)
            return response
    except (aiohttp.ClientError, OSError):
        return await cut(gateway, request)


async def cut(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The connection is reset, and the API server hears nothing."""
    reset(request)
    return web.Response()


async def lose_answer(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The API server does what it is asked; then the connection is reset."""
    async with gateway.ask(request, await request.read()) as answer:
        await answer.read()
    return await cut(gateway, request)


async def hang(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The API server hears nothing, and no answer comes until the client gives up."""
    gateway.hanging.append(request)
    try:
        await asyncio.Event().wait()  # whoever resets the connection cancels this
    finally:
        gateway.hanging.remove(request)
    raise AssertionError


async def hang_after_commit(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The API server does what it is asked, and no answer comes until the client gives up."""
    async with gateway.ask(request, await request.read()) as answer:
        await answer.read()
    return await hang(gateway, request)


def refuse(code: int, *, retry_after: int | None = None, message: str = "refused by the test") -> Action:
    """The API server hears nothing; the client gets a status as the API server would write it."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
        return web.json_response(status, status=code, headers=headers)

    return action


def slow(seconds: float) -> Action:
    """The request waits before it is passed on."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await pass_on(gateway, request)

    return action


def holding(arrived: threading.Event, released: threading.Event) -> Action:
    """The request says that it has come, and waits until it is let go."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        await request.read()
        arrived.set()
        await asyncio.to_thread(released.wait)
        return await pass_on(gateway, request)

    return action


def commit_late(seconds: float) -> Action:
    """The request waits before it is passed on, and is passed on even if the client has given up."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        body = await request.read()

        async def later() -> web.StreamResponse:
            await asyncio.sleep(seconds)
            async with gateway.ask(request, body) as answer:
                return web.Response(status=answer.status, body=await answer.read())

        task = asyncio.ensure_future(later())
        gateway.late.add(task)
        task.add_done_callback(gateway.late.discard)
        return await asyncio.shield(task)

    return action


def refuse_after_commit(code: int) -> Action:
    """The API server does what it is asked, and the client is told that it failed."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        async with gateway.ask(request, await request.read()) as answer:
            await answer.read()
        return await refuse(code)(gateway, request)

    return action


def any_of(*actions: Action, seed: int = 1) -> Action:
    """One of several, by chance."""
    draw = random.Random(seed)

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        return await draw.choice(actions)(gateway, request)

    return action


def reset(request: web.Request) -> None:
    """Ends a client's connection with a reset instead of a farewell."""
    transport = request.transport
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(transport, asyncio.Transport):
        transport.abort()
