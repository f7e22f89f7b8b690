"""Watching, against small servers on loopback."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest
from aiohttp import web

from moorage.api.nodes import Node
from moorage.client.errors import (
    Forbidden,
    Gone,
    TimedOut,
)
from moorage.client.http import HttpClient
from moorage.client.watching import Change
from tests.client.conversations import NODES, Recorder, node, talk
from tests.client.loopback import status


def test_watch() -> None:
    events = [
        {"type": "ADDED", "object": node("a")},
        {"type": "MODIFIED", "object": node("a", big="x" * 600_000)},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}},
    ]
    requests: list[web.BaseRequest] = []

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        requests.append(request)
        response = web.StreamResponse()
        await response.prepare(request)
        for event in events:
            await response.write(json.dumps(event).encode() + b"\n")
        return response

    async def conversation(client: HttpClient) -> list[Change[Node]]:
        watch = client.watch(NODES, resource_version="1", field_selector="metadata.name=a", timeout_seconds=9)
        return [change async for change in watch]

    changes = talk(server, conversation)
    assert [(change.type, change.resource_version) for change in changes] == [
        ("ADDED", "1"),
        ("MODIFIED", "1"),
        ("BOOKMARK", "8"),
    ]
    assert dict(requests[0].query) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "1",
        "timeoutSeconds": "9",
        "fieldSelector": "metadata.name=a",
    }


async def silent(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(json.dumps({"type": "ADDED", "object": node("a")}).encode() + b"\n")
    await asyncio.sleep(30)
    return response


def test_dead_watch_is_noticed() -> None:
    async def conversation(client: HttpClient) -> None:
        changes = client.watch(NODES, resource_version="1")
        assert (await anext(changes)).key == "a"
        with pytest.raises(TimedOut, match="GET /api/v1/nodes"):
            await anext(changes)

    talk(silent, conversation, silence_seconds=0.03)


def test_watch_can_be_left() -> None:
    async def conversation(client: HttpClient) -> None:
        async with aclosing(client.watch(NODES, resource_version="1")) as changes:
            async for change in changes:
                assert change.key == "a"
                break

    talk(silent, conversation)


def test_watch_that_may_not_or_cannot_be() -> None:
    server = Recorder(status(410, "Expired", "too old"), status(403, "Forbidden"))

    async def conversation(client: HttpClient) -> None:
        for expected in (Gone, Forbidden):
            with pytest.raises(expected):
                async for _ in client.watch(NODES, resource_version="1"):
                    pass

    talk(server, conversation)
