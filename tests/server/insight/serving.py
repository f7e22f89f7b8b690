"""The API over real connections, with a scheduler in memory behind it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

import aiohttp
from multidict import CIMultiDictProxy

from moorage.insight.live.questions import Questions
from moorage.server.access import Access
from moorage.server.insight.api import InsightApi
from moorage.server.insight.loopback import HOST, LoopbackServer
from moorage.server.insight.page_files import PageFiles
from tests.insight.live.worlds import World

T = TypeVar("T")


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: CIMultiDictProxy[str]

    @property
    def document(self) -> Any:
        return json.loads(self.body.decode("utf-8", "strict"))


Ask = Callable[..., Awaitable[Reply]]


@asynccontextmanager
async def serving(
    questions: Callable[[], Questions | None], access: Access | None = None, page: PageFiles | None = None
) -> AsyncIterator[Ask]:
    """A way to ask; by default everything is allowed. Paths without a slash are those of the API."""
    api = InsightApi(questions)
    server = LoopbackServer(api, page or PageFiles(), access or Access(always_allow_paths=["*"]))
    listener = socket.create_server((HOST, 0))
    await server.start(listener)
    port = listener.getsockname()[1]
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:

            async def ask(path: str, method: str = "GET", **how: Any) -> Reply:
                whole = path if path.startswith("/") else f"/insight/v1/{path}"
                url = f"http://{HOST}:{port}{whole}"
                async with session.request(method, url, allow_redirects=False, **how) as response:
                    return Reply(response.status, await response.read(), response.headers)

            yield ask
    finally:
        await server.stop()


def asked(world: World, work: Callable[[Ask], Coroutine[Any, Any, T]], **how: Any) -> T:
    """What `work` returns that asks about this world."""

    async def main() -> T:
        async with asyncio.timeout(60), serving(lambda: world.questions, **how) as ask:
            return await work(ask)

    return asyncio.run(main())


def answers(world: World, *paths: str, **how: Any) -> list[Reply]:
    async def work(ask: Ask) -> list[Reply]:
        return [await ask(path) for path in paths]

    return asked(world, work, **how)
