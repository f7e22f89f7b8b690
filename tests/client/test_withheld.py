"""Writes of a process that does not hold the lease: whether they may leave is asked when they do."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from moorage.client.connection import ConnectionConfig
from moorage.client.errors import TimedOut, Withheld
from moorage.client.http import HttpClient
from moorage.client.pod_writer import BIND_TRIES, PodWriter
from tests.client.conversations import NODES, POD, Recorder, ok, talk
from tests.client.loopback import serving


class Lease:
    def __init__(self) -> None:
        self.held = True

    def __call__(self) -> bool:
        return self.held


def test_a_write_that_waits_for_its_turn_is_not_sent_after_the_loss() -> None:
    server, lease = Recorder(ok()), Lease()

    async def lose_meanwhile(seconds: float) -> None:
        lease.held = False

    async def conversation(client: HttpClient) -> None:
        await client.request_json("POST", "/a", {})
        with pytest.raises(Withheld, match="does not hold the lease"):
            await client.request_json("POST", "/b", {})

    talk(server, conversation, may_write=lease, qps=1, burst=1, sleep=lose_meanwhile)
    assert server.lines == ["POST /a"]


def test_a_write_that_waits_for_a_connection_is_not_sent_after_the_loss() -> None:
    lease = Lease()
    received: list[bytes] = []

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read())
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(connection, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with HttpClient(ConnectionConfig(url), qps=-1, may_write=lease) as client:
                bind = asyncio.create_task(PodWriter(client).bind(POD, "n"))
                await asyncio.sleep(0)  # it now waits for the connection to be made
                lease.held = False
                with pytest.raises(Withheld):
                    await bind

    asyncio.run(main())
    assert b"".join(received) == b""


def test_reads_go_on() -> None:
    server = Recorder(ok(items=[], metadata={"resourceVersion": "7"}))
    listing = talk(server, lambda client: client.list(NODES), may_write=lambda: False)
    assert listing.resource_version == "7"


def test_nothing_is_written_through_a_proxy_either() -> None:
    bodies: list[bytes] = []

    async def proxy(request: web.BaseRequest) -> web.StreamResponse:
        bodies.append(await request.read())
        return ok()

    lease = Lease()

    async def main() -> None:
        async with serving(proxy) as url:
            config = ConnectionConfig("http://api.example", proxy_url=url)
            async with HttpClient(config, qps=-1, may_write=lease) as client:
                await client.request_json("POST", "/a", {"n": 1})
                lease.held = False
                with pytest.raises(Withheld):
                    await client.request_json("POST", "/b", {"n": 2})

    asyncio.run(main())
    assert bodies == [b'{"n":1}']


def test_a_bind_is_given_up_before_the_lease_can_be_anothers() -> None:
    asked: list[str] = []

    async def slow_to_bind(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(f"{request.method} {request.path}")
        if request.method == "POST":
            await asyncio.sleep(30)
        return ok(metadata={"namespace": "a", "name": "b", "uid": "u"}, spec={})

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(TimedOut):
            await PodWriter(client, bind_seconds=0.05).bind(POD, "n")

    talk(slow_to_bind, conversation)
    assert (
        asked == ["POST /api/v1/namespaces/a/pods/b/binding", "GET /api/v1/namespaces/a/pods/b"] * BIND_TRIES
    )


def test_a_write_without_a_body_is_not_sent_either() -> None:
    server = Recorder()

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(Withheld):
            await client.send("DELETE", "/a")

    talk(server, conversation, may_write=lambda: False)
    assert server.lines == []
