"""Watches over HTTP/2: beside requests, broken off, silent, left, and faster than they are read."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.client.errors import Gone, TimedOut, Unreachable
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.client.http2_peer import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    REFUSED,
    RESET,
    WINDOW,
    Peer,
    Talks,
)

PODS = Resource.of(Pod)


def changes_of(client: HttpClient, seen: list[str]) -> Coroutine[Any, Any, None]:
    async def watch() -> None:
        async for change in client.watch(PODS, resource_version="1", heard=lambda: seen.append("heard")):
            seen.append(f"{change.type} {change.key}")  # noqa: PERF401 - as they come

    return watch()


def line(kind: str, name: str) -> bytes:
    return b'{"type":"%b","object":{"metadata":{"namespace":"a","name":"%b","resourceVersion":"2"}}}\n' % (
        kind.encode(),
        name.encode(),
    )


def test_watches_share_the_connection_with_requests(talk: Talks) -> None:
    seen: list[str] = []

    async def server(peer: Peer) -> None:
        assert peer.number == 1
        await peer.greet()
        watch = await peer.request()
        assert watch.line.startswith("GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=1")
        peer.head(watch.stream, 200)
        both = line("ADDED", "b") + line("MODIFIED", "c")
        peer.send(DATA, 0, watch.stream, both[:100])
        peer.answer((await peer.request()).stream)
        peer.send(DATA, 0, watch.stream, both[100:])
        peer.send(DATA, 0, watch.stream, line("DELETED", "d"))
        peer.send(HEADERS, END_STREAM | END_HEADERS, watch.stream, b"\x00\x01a\x01b")  # a trailer
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        watching = asyncio.create_task(changes_of(client, seen))
        while not seen:
            await asyncio.sleep(0)
        await client.request_json("POST", "/x", {})
        await watching

    talk(server, conversation)
    assert [each for each in seen if each != "heard"] == ["ADDED a/b", "MODIFIED a/c", "DELETED a/d"]


def test_a_watch_that_breaks_off_or_is_refused(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        first = await peer.request()
        peer.head(first.stream, 200)
        peer.send(DATA, 0, first.stream, line("ADDED", "b"))
        peer.send(RESET, 0, first.stream, (2).to_bytes(4))
        second = await peer.request()
        peer.answer(second.stream, 410, b'{"kind": "Status", "code": 410, "reason": "Expired"}')
        third = await peer.request()
        peer.send(RESET, 0, third.stream, REFUSED.to_bytes(4))  # not taken: it is sent again
        fourth = await peer.request()
        peer.head(fourth.stream, 200)
        peer.send(DATA, END_STREAM, fourth.stream, line("ADDED", "c"))
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        seen: list[str] = []
        with pytest.raises(Unreachable, match="broke off the answer"):
            await changes_of(client, seen)
        assert seen[-1] == "ADDED a/b"
        with pytest.raises(Gone):
            await changes_of(client, seen)
        await changes_of(client, seen)
        assert seen[-1] == "ADDED a/c"

    talk(server, conversation)


@pytest.mark.parametrize("begins", [True, False])
def test_a_silent_watch_is_given_up_and_the_connection_with_it(talk: Talks, begins: bool) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        watch = await peer.request()
        if peer.number == 1:
            if begins:
                peer.head(watch.stream, 200)
            await peer.reader.read()
        peer.head(watch.stream, 200)
        peer.send(DATA, END_STREAM, watch.stream, line("ADDED", "b"))
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        seen: list[str] = []
        with pytest.raises(TimedOut):
            await changes_of(client, seen)
        while "ADDED a/b" not in seen:  # on a busy machine a new connection takes as long
            with suppress(TimedOut):
                await changes_of(client, seen)

    talk(server, conversation, silence_seconds=0.05)


def test_a_watch_is_silent_only_after_its_last_word(talk: Talks) -> None:
    async def server(peer: Peer) -> None:
        await peer.greet()
        watch = await peer.request()
        peer.head(watch.stream, 200)
        for name in "bcdefgh":  # each in time, though all together take longer
            await asyncio.sleep(0.04)
            peer.send(DATA, 0, watch.stream, line("ADDED", name))
        peer.send(DATA, END_STREAM, watch.stream)
        await peer.request()

    seen: list[str] = []
    talk(server, lambda client: changes_of(client, seen), silence_seconds=0.25)
    assert seen[-1] == "ADDED a/h"


def test_who_leaves_a_watch_ends_it(talk: Talks) -> None:
    ended = asyncio.Event()

    async def server(peer: Peer) -> None:
        await peer.greet()
        watch = await peer.request()
        peer.head(watch.stream, 200)
        peer.send(DATA, 0, watch.stream, line("ADDED", "b"))
        assert (await peer.until(RESET)).stream == watch.stream
        ended.set()
        await peer.answer_all()

    async def conversation(client: HttpClient) -> None:
        async with aclosing(client.watch(PODS, resource_version="1")) as changes:
            async for _ in changes:
                break
        await ended.wait()
        assert await client.request_json("GET", "/x") == {}

    talk(server, conversation)


def test_a_reader_that_does_not_read_is_sent_no_more(talk: Talks) -> None:
    """A watch may fill its window; requests go on beside it."""
    allowed: list[int] = []

    async def server(peer: Peer) -> None:
        await peer.greet()
        watch = await peer.request()
        settings = dict(struct.iter_unpack(">HI", peer.control[0].payload))
        peer.head(watch.stream, 200)
        for _ in range(settings[4] // 2**14):
            peer.send(DATA, 0, watch.stream, b"\n" * 2**14)
        await peer.writer.drain()
        request = await peer.request()
        allowed.append(sum(frame.kind == WINDOW and frame.stream != 0 for frame in peer.control))
        peer.answer(request.stream)
        await peer.until(WINDOW)
        peer.send(DATA, END_STREAM, watch.stream, line("ADDED", "b"))
        await peer.request()

    async def conversation(client: HttpClient) -> None:
        async with aclosing(client._session.stream("/x", {})) as pieces:
            assert await anext(pieces) == b""
            await client.request_json("POST", "/x", {})
            rest = [piece async for piece in pieces]
        assert rest[-1].endswith(line("ADDED", "b"))

    talk(server, conversation)
    assert allowed == [0]
