"""Talking to an API server in the same process, without a socket in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

from moorage.client.errors import error_of

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    status: int
    body: bytes


class LocalServer(Protocol):
    """What a server in this process offers to clients in it."""

    async def ask(
        self, method: str, target: str, body: bytes, headers: Mapping[str, list[str]]
    ) -> LocalAnswer | AsyncGenerator[bytes, None]:
        """The answer to a request; a watch is answered with its pieces."""


class LocalSession:
    """As Session, for a LocalServer. Nothing is limited: there is no network to spare."""

    def __init__(self, server: LocalServer, user_agent: str) -> None:
        self._server = server
        self._user_agent = [user_agent]

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        accept: str = "",
        params: Mapping[str, str] | None = None,
        tries: int = 0,
        seconds: float | None = None,
    ) -> bytes:
        # Others get their turn, as they would while a socket is waited for.
        await asyncio.sleep(0)
        target = f"{path}?{urlencode(params)}" if params else path
        answer = await self._server.ask(method, target, body or b"", self._headers(content_type, accept))
        if not isinstance(answer, LocalAnswer):
            await answer.aclose()
            raise TypeError(f"{method} {path}: is answered in pieces; use stream")
        if answer.status >= 300:
            raise error_of(answer.body, code=answer.status, doing=f"{method} {path}")
        return answer.body

    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        answer = await self._server.ask("GET", f"{path}?{urlencode(params)}", b"", self._headers(JSON))
        if isinstance(answer, LocalAnswer):
            raise error_of(answer.body, code=answer.status, doing=f"GET {path}")
        try:
            yield b""
            async for chunk in answer:
                yield chunk
        finally:
            await answer.aclose()

    def _headers(self, content_type: str, accept: str = "") -> dict[str, list[str]]:
        return {"accept": [accept or JSON], "content-type": [content_type], "user-agent": self._user_agent}
