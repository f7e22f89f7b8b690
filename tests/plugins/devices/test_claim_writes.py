"""Writing claims to an API server."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from moorage.plugins.devices.claim_writes import ClaimsOfServer
from tests.plugins.devices.clusters import claim

PARAMETERS = {"opaque": {"driver": "gpu.example.com", "parameters": {"mode": "shared"}}}


class Server:
    """Answers in JSON only."""

    def __init__(self, refusal: ApiError) -> None:
        self.refusal = refusal
        self.written: list[Any] = []

    async def send(self, method: str, path: str, *, accept: str) -> bytes:
        raise self.refusal

    async def update(self, resource: Any, document: Any) -> Any:
        self.written.append(document)
        return document


def with_parameters() -> dict[str, Any]:
    document = claim("c").raw
    return {**document, "spec": {"devices": {**document["spec"]["devices"], "config": [PARAMETERS]}}}


def test_a_server_without_protobuf_has_no_bytes_that_it_does_not_show() -> None:
    server = Server(ApiError(406, "NotAcceptable", "only JSON"))
    asyncio.run(ClaimsOfServer(cast("HttpClient", server)).update(with_parameters()))
    assert server.written == [with_parameters()]


def test_nothing_is_written_if_parameters_cannot_be_read() -> None:
    server = Server(ApiError(500, "", "trouble"))
    with pytest.raises(ApiError, match="trouble"):
        asyncio.run(ClaimsOfServer(cast("HttpClient", server)).update(with_parameters()))
    assert server.written == []
