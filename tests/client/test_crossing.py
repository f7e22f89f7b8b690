"""What lives in one event loop is used from another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from moorage.client import crossing as module
from moorage.client.crossing import Crossing
from moorage.client.loops import LoopThread


@pytest.fixture
def home() -> Iterator[LoopThread]:
    thread = LoopThread("home")
    thread.start()
    yield thread
    thread.stop()


@pytest.fixture
def crossing(home: LoopThread) -> Crossing:
    made = Crossing()

    async def open_there() -> None:
        made.open()

    home.run(open_there())
    return made


def test_calls_are_made_at_home(home: LoopThread, crossing: Crossing) -> None:
    async def many() -> list[tuple[int, int]]:
        def here(number: int) -> tuple[int, int]:
            return number, threading.get_ident()

        return await asyncio.gather(*(crossing.call(here, number) for number in range(500)))

    assert asyncio.run(many()) == [(n, home.ident) for n in range(500)]


def test_at_home_nothing_is_crossed(home: LoopThread, crossing: Crossing) -> None:
    async def call() -> int:
        return await crossing.call(threading.get_ident)

    assert home.run(call()) == home.ident


def test_errors_come_back(crossing: Crossing) -> None:
    def fail() -> None:
        raise KeyError("zone")

    with pytest.raises(KeyError, match="zone"):
        asyncio.run(crossing.call(fail))


def test_who_has_given_up_does_no_harm(home: LoopThread, crossing: Crossing) -> None:
    free = threading.Event()

    async def give_up() -> str:
        blocked = asyncio.ensure_future(crossing.call(free.wait))
        await asyncio.sleep(0)
        blocked.cancel()
        free.set()
        return await crossing.call(lambda: "answered")

    assert asyncio.run(give_up()) == "answered"


async def numbers(count: int, size: int = 1, told: list[str] | None = None) -> AsyncGenerator[bytes, None]:
    try:
        for number in range(count):
            yield b"%d;" % number * size
            if number % 7 == 0:
                await asyncio.sleep(0)
    finally:
        if told is not None:
            told.append("closed")


async def _all(crossing: Crossing, stream: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([piece async for piece in crossing.stream(stream)])


@pytest.mark.parametrize("full", [2**24, 64])
def test_streams_arrive_whole_and_in_order(
    full: int, crossing: Crossing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FULL", full)
    told: list[str] = []
    assert asyncio.run(_all(crossing, numbers(2000, told=told))) == b"".join(b"%d;" % n for n in range(2000))
    assert told == ["closed"]


def test_a_reader_that_leaves_ends_the_stream(home: LoopThread, crossing: Crossing) -> None:
    told: list[str] = []
    closed = threading.Event()

    async def endless() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"more"
                await asyncio.sleep(0)
        finally:
            told.append("closed")
            closed.set()

    async def read_one() -> bytes:
        stream = crossing.stream(endless())
        try:
            return await anext(stream)
        finally:
            await stream.aclose()

    assert asyncio.run(read_one()).startswith(b"more")
    assert closed.wait(20)


def test_what_a_stream_raises_is_raised_after_its_pieces(crossing: Crossing) -> None:
    async def breaks() -> AsyncGenerator[bytes, None]:
        yield b"first"
        raise OSError("cut")

    got: list[bytes] = []

    async def read() -> None:
        async for piece in crossing.stream(breaks()):
            got.append(piece)  # noqa: PERF401  # what came before the error counts

    with pytest.raises(OSError, match="cut"):
        asyncio.run(read())
    assert b"".join(got) == b"first"


def test_a_home_that_ends_ends_its_streams(crossing: Crossing, home: LoopThread) -> None:
    async def silent() -> AsyncGenerator[bytes, None]:
        yield b"hello"
        await asyncio.Event().wait()

    async def read() -> list[bytes]:
        got = []
        async for piece in crossing.stream(silent()):
            got.append(piece)
            asyncio.get_running_loop().run_in_executor(None, home.stop)
        return got

    assert asyncio.run(read()) == [b"hello"]
    home.stop = lambda: None  # type: ignore[method-assign]
