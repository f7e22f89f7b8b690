"""A client that cannot write, whatever it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from moorage.api.nodes import Node
from moorage.client.connection import ConnectionConfig
from moorage.client.errors import Withheld
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.read_only import ReadOnlyClient
from moorage.client.resource_client import ResourceClient
from moorage.client.resources import Resource
from tests.client.conversations import NODES, POD
from tests.client.loopback import serving

BODY = {"metadata": {"name": "n"}}


WRITES: dict[str, Callable[[HttpClient], Any]] = {
    "create": lambda client: client.create(NODES, BODY),
    "post": lambda client: client.post(NODES, BODY),
    "update": lambda client: client.update(NODES, BODY),
    "patch": lambda client: client.patch(NODES, "n", {}),
    "delete": lambda client: client.delete(NODES, "n"),
    "send": lambda client: client.send("POST", "/a", b"{}"),
    "another word": lambda client: client.send("get", "/a"),
    "request_json": lambda client: client.request_json("PUT", "/a", {}),
    "bind": lambda client: PodWriter(client).bind(POD, "n"),
    "status": lambda client: PodWriter(client).write_pod_status(POD, nominated_node="n"),
    "evict": lambda client: PodWriter(client).delete_pod(POD),
    "of a kind": lambda client: ResourceClient(client, Node).delete("n"),
    "beneath": lambda client: client._session.send("POST", "/a", b"{}"),
    "beneath, without a body": lambda client: client._session.send("DELETE", "/a", None),
}


@pytest.mark.parametrize("how", WRITES)
def test_no_write_is_sent(how: str) -> None:
    lines: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        lines.append(f"{request.method} {request.path}")
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": []})

    async def main() -> None:
        async with serving(answer) as url, ReadOnlyClient(ConnectionConfig(url)) as client:
            with pytest.raises(Withheld):
                done: Awaitable[object] = WRITES[how](client)
                await done
            # Reading goes on.
            assert (await client.list(Resource.of(Node))).resource_version == "7"

    asyncio.run(main())
    assert lines == ["GET /api/v1/nodes"]
