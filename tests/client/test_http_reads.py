"""Getting and listing, against small servers on loopback."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from aiohttp import web

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.client.errors import (
    ApiError,
    Gone,
    NotFound,
)
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.client.conversations import NODES, Recorder, node, ok, talk
from tests.client.loopback import status


def page(*items: dict[str, Any], version: str = "5", more: str = "", **headers: Any) -> web.Response:
    return web.json_response(
        {"metadata": {"resourceVersion": version, "continue": more}, "items": list(items)}
    )


def test_get() -> None:
    server = Recorder(ok(**node("n", extra=1)), status(404, "NotFound", 'nodes "x" not found'))

    async def conversation(client: HttpClient) -> None:
        found = await client.get(NODES, "n")
        assert found.name == "n" and found.raw["extra"] == 1
        with pytest.raises(NotFound, match=r'^nodes "x" not found$'):
            await client.get(NODES, "x")

    talk(server, conversation, user_agent="moorage/scheduler")
    headers = server.requests[0].headers
    assert (headers["User-Agent"], headers["Accept"]) == ("moorage/scheduler", "application/json")
    assert "Accept-Encoding" not in headers and "Authorization" not in headers
    assert server.lines == ["GET /api/v1/nodes/n", "GET /api/v1/nodes/x"]


def test_login_page_is_not_mistaken_for_an_object() -> None:
    server = Recorder(
        web.Response(text="<html>"),
        web.Response(text="<html>"),
        web.Response(status=302, headers={"Location": "/x"}),
    )

    async def conversation(client: HttpClient) -> None:
        with pytest.raises(ApiError, match="GET /api/v1/nodes/n: Node: "):
            await client.get(NODES, "n")
        with pytest.raises(ApiError, match=r"/api/v1/nodes: the answer cannot be read: .*<html>"):
            await client.list(NODES)
        with pytest.raises(ApiError, match="the server answered 302 Found"):
            await client.list(NODES)

    talk(server, conversation)


def test_list_in_pages() -> None:
    server = Recorder(page(node("a"), more="t1"), page(node("b"), more="t2"), page(node("c"), version="6"))
    listing = talk(server, lambda client: client.list(NODES, label_selector="x=y", limit=1))
    assert [item.name for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "6"
    path = "GET /api/v1/nodes?labelSelector=x%3Dy&limit=1"
    assert server.lines == [path, f"{path}&continue=t1", f"{path}&continue=t2"]


def test_known_objects_take_the_place_of_those_that_come() -> None:
    held = from_document(Node, {"metadata": {"name": "b"}})
    server = Recorder(page(node("a"), more="t1"), page(node("b")))
    listing = talk(
        server,
        lambda client: client.list(NODES, limit=1, known=lambda new: held if new.name == "b" else new),
    )
    assert [item.name for item in listing.items] == ["a", "b"]
    assert listing.items[1] is held


def test_expired_page_restarts_the_list_in_one() -> None:
    server = Recorder(
        page(node("a"), more="t1"), status(410, "Expired"), page(node("b"), node("c"), version="9")
    )
    listing = talk(server, lambda client: client.list(NODES))
    assert [item.name for item in listing.items] == ["b", "c"]
    assert listing.resource_version == "9"
    assert server.lines[-1] == "GET /api/v1/nodes"


def test_list_that_stays_gone_is_an_error() -> None:
    with pytest.raises(Gone):
        talk(Recorder(status(410, "Expired"), status(410, "Expired")), lambda client: client.list(NODES))


def test_bad_item_is_left_out_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    server = Recorder(page(node("good"), node("bad", spec={"taints": 1}), node("fine", spec=None)))
    with caplog.at_level(logging.WARNING):
        listing = talk(server, lambda client: client.list(NODES))
    assert [item.name for item in listing.items] == ["good", "fine"]
    assert "Node bad" in caplog.text


def test_empty_list_may_be_null() -> None:
    server = Recorder(ok(metadata={"resourceVersion": "3"}, items=None))
    listing = talk(server, lambda client: client.list(Resource("g", "v1", "things", "Thing", True, Object)))
    assert (listing.items, listing.resource_version) == ([], "3")


def test_items_do_not_keep_the_page_in_memory() -> None:
    server = Recorder(page(node("a"), node("b")))
    listing = talk(server, lambda client: client.list(NODES))
    assert json.loads(listing.items[0].__dict__["_source"]) == node("a")
