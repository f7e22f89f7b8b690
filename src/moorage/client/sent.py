"""A request that is on its way before anybody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.client.credentials import Identity
from moorage.client.http2 import Exchange, Http2Connection, HttpAnswer

T = TypeVar("T")


class FirstTry(NamedTuple):
    """A request that was sent, and what to know of it where it has to be sent again."""

    exchange: Exchange
    connection: Http2Connection
    identity: Identity
    began: float
    tell: Callable[[HttpAnswer], None]

    @property
    def answer(self) -> asyncio.Future[HttpAnswer]:
        return self.exchange.answer

    def give_up(self) -> None:
        self.connection.give_up(self.exchange)


class Sent(Awaitable[T], Generic[T]):
    """Await it, as anything else that is sent; or look at `answer`, which costs less where all goes well.

    When `answer` is done, ask `went_well`. If it did not, await this to learn what comes of it: more tries,
    or an error. Who wants neither has to `close` it.
    """

    __slots__ = ("_first", "_rest", "answer")

    def __init__(self, first: FirstTry, rest: Callable[[FirstTry], Coroutine[Any, Any, T]]) -> None:
        self._first = first
        self._rest = rest
        self.answer = first.answer

    def went_well(self) -> bool:
        """Whether the server did what was asked; to be asked once, and told to those who count."""
        answer = self.answer
        if answer.cancelled() or answer.exception() is not None:
            return False
        found = answer.result()
        if found.status >= 300:
            return False
        self._first.tell(found)
        return True

    def __await__(self) -> Generator[Any, Any, T]:
        return self._rest(self._first).__await__()

    def close(self) -> None:
        """Nobody waits for it any more."""
        self._first.give_up()
