"""Conversations with a server that answers from a list and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from tests.client.loopback import Handler, connected

NODES, PODS = Resource.of(Node), Resource.of(Pod)
POD = from_document(Pod, {"metadata": {"namespace": "a", "name": "b", "uid": "u"}})


class Recorder:
    """Answers from a list and keeps what it was asked."""

    def __init__(self, *answers: web.StreamResponse | Callable[[], web.StreamResponse]) -> None:
        self.answers = list(answers)
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[Any] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        body = await request.read()
        self.bodies.append(json.loads(body) if body else None)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, web.StreamResponse) else answer()

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.path_qs}" for request in self.requests]


def talk(
    server: Handler, conversation: Callable[[HttpClient], Coroutine[Any, Any, Any]], **options: Any
) -> Any:
    async def main() -> Any:
        async with connected(server, **options) as client:
            return await conversation(client)

    return asyncio.run(main())


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "1"}, **more}


def ok(**document: Any) -> web.Response:
    return web.json_response(document)
