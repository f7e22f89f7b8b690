from __future__ import annotations

import asyncio
import threading

import pytest

from moorage.client.loops import LoopThread


def test_work_is_done_in_the_other_thread() -> None:
    other = LoopThread("other")
    other.start()

    async def where() -> tuple[str, int]:
        return threading.current_thread().name, threading.get_ident()

    try:
        assert other.run(where()) == ("other", other.ident)
        assert other.ident != threading.get_ident()
    finally:
        other.stop()


def test_what_it_raises_is_raised_here() -> None:
    other = LoopThread("other")
    other.start()

    async def fail() -> None:
        raise KeyError("zone")

    try:
        with pytest.raises(KeyError, match="zone"):
            other.run(fail())
        with pytest.raises(TimeoutError):
            other.run(asyncio.sleep(60), seconds=0)
    finally:
        other.stop()


def test_stopping_cancels_what_runs() -> None:
    other = LoopThread("other")
    other.start()
    told: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cancelled")

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        return task

    other.run(begin())
    other.stop()
    assert told == ["cancelled"]
