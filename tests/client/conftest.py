import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from moorage.client.http import HttpClient
from tests.client.http2_peer import Talk, http2_server

Conversation = Callable[[HttpClient], Coroutine[Any, Any, Any]]


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def talk(request: pytest.FixtureRequest) -> Callable[..., Any]:
    def talk(server: Talk, conversation: Conversation, **options: Any) -> Any:
        async def main() -> Any:
            async with (
                asyncio.timeout(30),
                http2_server(server) as config,
                HttpClient(config, **{"qps": -1, **options}) as client,
            ):
                return await conversation(client)

        return request.param(main())

    return talk
