"""Events over HTTP/2, where requests leave before anybody waits for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from moorage.client.http import HttpClient
from moorage.process.event_recorder import REQUESTS_AT_ONCE, EventBroadcaster
from moorage.testing import make_pod
from tests.client.http2_peer import Asked, Peer, http2_server


class Server:
    """Answers the events it gets as `status` says, as soon as so many are there at once."""

    def __init__(self, together: int = 1, status: Callable[[int], int] = lambda number: 201) -> None:
        self.together, self.status = together, status
        self.events: list[Asked] = []
        self.most_at_once = 0

    async def talk(self, peer: Peer) -> None:
        await peer.greet()
        peer.answer((await peer.request()).stream)  # which events are offered
        unanswered: list[Asked] = []
        while True:
            asked = await peer.request()
            self.events.append(asked)
            unanswered.append(asked)
            self.most_at_once = max(self.most_at_once, len(unanswered))
            if len(unanswered) >= self.together:
                for each in unanswered:
                    peer.answer(each.stream, self.status(self.events.index(each)))
                unanswered.clear()


def run(server: Server, script: Callable[[EventBroadcaster], Awaitable[None]]) -> Counter[str]:
    dropped: Counter[str] = Counter()

    def drop(why: str, count: int) -> None:
        dropped[why] += count

    async def main() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(20):
            config = await stack.enter_async_context(http2_server(server.talk))
            client = await stack.enter_async_context(HttpClient(config, qps=-1))
            broadcaster = EventBroadcaster(client, on_drop=drop)
            running = asyncio.create_task(broadcaster.run())
            await script(broadcaster)
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
    return dropped


def record(broadcaster: EventBroadcaster, number: int) -> None:
    recorder = broadcaster.recorder("profile")
    for each in range(number):
        recorder.event(make_pod(f"p{each}"), None, "Normal", "Scheduled", "Binding", "note")


def test_all_arrive_and_no_more_than_so_many_are_under_way() -> None:
    server = Server(together=REQUESTS_AT_ONCE)

    async def script(broadcaster: EventBroadcaster) -> None:
        record(broadcaster, 5 * REQUESTS_AT_ONCE)
        await broadcaster.stop(10)

    assert run(server, script) == {}
    assert len(server.events) == 5 * REQUESTS_AT_ONCE
    assert server.most_at_once == REQUESTS_AT_ONCE


def test_one_that_is_there_already_is_fine_and_a_refused_one_is_dropped() -> None:
    codes = (409, 403, 201)

    async def script(broadcaster: EventBroadcaster) -> None:
        record(broadcaster, 3)
        await broadcaster.stop(10)

    assert run(Server(status=codes.__getitem__), script) == {"rejected": 1}


def test_one_that_is_not_answered_in_time_is_lost_and_nothing_comes_after() -> None:
    server = Server(together=100)

    async def script(broadcaster: EventBroadcaster) -> None:
        record(broadcaster, 20)
        while len(server.events) < REQUESTS_AT_ONCE:
            await asyncio.sleep(0.001)
        await broadcaster.stop(0.01)

    assert run(server, script) == {"shutdown": 20}
    assert len(server.events) == REQUESTS_AT_ONCE
