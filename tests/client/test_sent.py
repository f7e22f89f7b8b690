"""Requests that leave before anybody waits for them, and what comes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from moorage.client.errors import Conflict, Unreachable, Withheld
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.sent import Sent
from moorage.process.event_series import EVENTS
from moorage.testing import make_pod
from tests.client.http2_peer import RESET, Peer, Talk, http2_server

POD = make_pod("p")
_REFUSED_STREAM = (7).to_bytes(4)


class Counts:
    """A ClientObserver."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def asked(self, host: str, method: str, code: str, **more: Any) -> None:
        self.codes.append(f"{method} {code}")

    def program_ran(self, code: int, status: str) -> None: ...

    def certificate_came(self, expires: float, age_of_last: float | None) -> None: ...


def answering(*answers: Callable[[Peer, int], None]) -> Talk:
    """Answers a GET first, which makes the connection, then as it is told."""
    left = list(answers)

    async def talk(peer: Peer) -> None:
        await peer.greet()
        while True:
            asked = await peer.request()
            if asked.line == "GET /":
                peer.answer(asked.stream)
            else:
                left.pop(0)(peer, asked.stream)

    return talk


def status(code: int, reason: str = "", **fields: str) -> Callable[[Peer, int], None]:
    body = b'{"kind":"Status","reason":"%s","message":"no"}' % reason.encode()
    return lambda peer, stream: peer.answer(stream, code, body, **fields)


def run(talk: Talk, check: Callable[[HttpClient], Awaitable[None]], **options: Any) -> list[str]:
    counts = Counts()

    async def main() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(20):
            config = await stack.enter_async_context(http2_server(talk))
            client = await stack.enter_async_context(HttpClient(config, observer=counts, **options))
            await client.request_json("GET", "/")
            await check(client)

    asyncio.run(main())
    return counts.codes[1:]


async def done(sent: Sent[Any]) -> None:
    await asyncio.wait((sent.answer,))


def test_what_is_answered_well_needs_nobody_who_waits() -> None:
    async def check(client: HttpClient) -> None:
        bound = PodWriter(client).bind(POD, "n")
        assert isinstance(bound, Sent)
        await done(bound)
        assert bound.went_well()

    assert run(answering(status(201)), check) == ["POST 201"]


def test_it_can_be_awaited_like_any_other() -> None:
    async def check(client: HttpClient) -> None:
        await PodWriter(client).bind(POD, "n")
        await client.post(EVENTS, {"metadata": {"namespace": "default"}})

    assert run(answering(status(201), status(201)), check) == ["POST 201", "POST 201"]


def test_a_refusal_is_raised_when_it_is_awaited_and_counted_once() -> None:
    async def check(client: HttpClient) -> None:
        bound = PodWriter(client).bind(POD, "n")
        assert isinstance(bound, Sent)
        await done(bound)
        assert not bound.went_well()
        with pytest.raises(Conflict):
            await bound

    assert run(answering(status(409, "Conflict")), check) == ["POST 409"]


def test_a_server_that_asks_for_patience_gets_it() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def check(client: HttpClient) -> None:
        posted = client.post(EVENTS, {"metadata": {"namespace": "default"}})
        assert isinstance(posted, Sent)
        await done(posted)
        assert not posted.went_well()
        await posted

    talk = answering(status(429, "TooManyRequests", retry_after="3"), status(201))
    assert run(talk, check, sleep=sleep) == ["POST 429", "POST 201"]
    assert slept == [3.0]


def test_what_the_server_has_not_looked_at_is_sent_again() -> None:
    async def check(client: HttpClient) -> None:
        await PodWriter(client).bind(POD, "n")

    talk = answering(lambda peer, stream: peer.send(RESET, 0, stream, _REFUSED_STREAM), status(201))
    assert run(talk, check) == ["POST 201"]


def test_a_broken_connection_is_an_error() -> None:
    async def check(client: HttpClient) -> None:
        posted = client.post(EVENTS, {"metadata": {"namespace": "default"}})
        assert isinstance(posted, Sent)
        await done(posted)
        assert not posted.went_well()
        with pytest.raises(Unreachable):
            await posted

    assert run(answering(lambda peer, stream: peer.writer.transport.abort()), check) == ["POST <error>"]


def test_what_may_not_be_written_does_not_leave() -> None:
    async def check(client: HttpClient) -> None:
        bound = PodWriter(client).bind(POD, "n")
        assert isinstance(bound, Sent)
        await done(bound)
        assert not bound.went_well()
        with pytest.raises(Withheld):
            await bound

    assert run(answering(), check, may_write=lambda: False) == []


def test_where_a_turn_has_to_be_waited_for_nothing_is_sent_at_once() -> None:
    async def check(client: HttpClient) -> None:
        first, second = (PodWriter(client).bind(POD, "n") for _ in range(2))
        assert isinstance(first, Sent)
        assert not isinstance(second, Sent)
        await first
        await second

    assert run(answering(status(201), status(201)), check, qps=50, burst=2) == ["POST 201"] * 2


def test_the_server_is_told_of_one_that_is_given_up() -> None:
    given_up: list[int] = []

    async def talk(peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream)
        asked = await peer.request()
        given_up.append((await peer.until(RESET)).stream - asked.stream)
        await peer.answer_all()

    async def check(client: HttpClient) -> None:
        bound = PodWriter(client).bind(POD, "n")
        assert isinstance(bound, Sent)
        await asyncio.sleep(0)  # it leaves
        bound.close()
        assert not bound.went_well()
        await client.request_json("GET", "/")

    run(talk, check)
    assert given_up == [0]
