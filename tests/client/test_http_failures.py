"""Servers that refuse, break off, take too long or ask to wait."""

from __future__ import annotations

import asyncio
import math
import socket

import pytest
from aiohttp import web

from moorage.client.connection import ConnectionConfig
from moorage.client.errors import (
    ServiceUnavailable,
    TimedOut,
    TooManyRequests,
    Unreachable,
)
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from tests.client.conversations import NODES, POD, PODS, Recorder, ok, talk
from tests.client.loopback import Sleeps, status


def refused() -> ConnectionConfig:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return ConnectionConfig(f"http://127.0.0.1:{probe.getsockname()[1]}")


def test_refused_connections() -> None:
    sleeps = Sleeps()

    async def main() -> None:
        async with HttpClient(refused(), sleep=sleeps) as client:
            with pytest.raises(Unreachable, match=r"^GET /version: connection refused$"):
                await client.request_json("GET", "/version")
            with pytest.raises(Unreachable):
                await PodWriter(client).write_pod_status(POD, nominated_node="n")

    asyncio.run(main())
    assert len(sleeps) == 3


def test_after_silence_other_connections_are_used() -> None:
    """Behind one address there may be several servers, of which one says nothing any more."""
    peers: list[object] = []

    async def once_silent(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        if request.path == "/frozen":
            await asyncio.sleep(30)
        return ok()

    async def conversation(client: HttpClient) -> None:
        async def both() -> None:
            await client.request_json("GET", "/x")
            await client.request_json("POST", "/x", {})

        await both()
        client._session._general._opened_at = -math.inf  # type: ignore[union-attr]  # it was opened long ago
        for method, body in (("GET", None), ("POST", {})):
            with pytest.raises(TimedOut):
                await client.send(method, "/frozen", None if body is None else b"{}", seconds=0.02)
        await both()

    talk(once_silent, conversation)
    before, after = peers[:2], peers[-2:]
    assert len(set(before)) == 2 and not set(before) & set(after)


def test_slow_answers_are_given_up() -> None:
    async def never(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(30)
        return ok()

    sleeps = Sleeps()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(TimedOut, match="GET /x"):
            await client.request_json("GET", "/x")
        with pytest.raises(TimedOut):
            await PodWriter(client).write_pod_status(POD, nominated_node="n")

    talk(never, conversation, request_seconds=0.02, sleep=sleeps)
    assert len(sleeps) == 3


def test_connection_that_breaks_in_an_answer() -> None:
    async def breaking(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a"')
        assert request.transport is not None
        request.transport.abort()
        return response

    with pytest.raises(Unreachable, match=r"^GET /x: "):
        talk(breaking, lambda client: client.request_json("GET", "/x"))


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_honoured(code: int) -> None:
    sleeps = Sleeps()
    server = Recorder(status(code, "", Retry_After="3"), status(code, "", Retry_After="999"), ok(a=1))
    answer = talk(
        server, lambda client: client.request_json("POST", "/x", {"b": 2}, {"c": "d e"}), sleep=sleeps
    )
    assert answer == {"a": 1} and sleeps == [3.0, 60.0]
    assert server.lines == ["POST /x?c=d+e"] * 3 and server.bodies == [{"b": 2}] * 3


def test_retry_after_ends() -> None:
    server = Recorder(*(status(429, "TooManyRequests", Retry_After="1") for _ in range(10)))
    with pytest.raises(TooManyRequests):
        talk(server, lambda client: PodWriter(client).bind(POD, "n"), sleep=Sleeps())


def test_without_retry_after_the_error_comes_at_once() -> None:
    with pytest.raises(ServiceUnavailable):
        talk(
            Recorder(status(503, "ServiceUnavailable")), lambda client: client.request_json("POST", "/x", {})
        )


def test_all_but_watches_are_limited() -> None:
    sleeps = Sleeps()
    server = Recorder(ok(), ok(), web.Response(), web.Response(), ok())

    async def conversation(client: HttpClient) -> None:
        await PodWriter(client).bind(POD, "n")
        await PodWriter(client).bind(POD, "n")
        for _ in range(2):
            async for _change in client.watch(PODS, resource_version="1"):
                pass
        await client.request_json("GET", "/x")

    talk(server, conversation, qps=0.001, burst=1, sleep=sleeps)
    assert sleeps == pytest.approx([1000, 2000], rel=0.01)


def test_client_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with HttpClient"):
        asyncio.run(HttpClient(ConnectionConfig("http://127.0.0.1:1")).get(NODES, "n"))
