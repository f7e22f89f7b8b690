"""Profiles and stacks."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from moorage.server.pages import Content
from moorage.server.profiling import Profile, Sampler, stacks
from tests.server.test_app import Reply, answers, serving

DEBUGGING = Content(set_verbosity=lambda level: None)


@contextmanager
def waiting_thread() -> Iterator[None]:
    """A thread that stays in `waits_here` meanwhile."""
    leave, there = threading.Event(), threading.Event()

    def waits_here() -> None:
        there.set()
        leave.wait()

    thread = threading.Thread(target=waits_here, name="a; thread")
    thread.start()
    there.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_a_profile_counts_stacks() -> None:
    profile = Profile()
    with waiting_thread():
        for _ in range(3):
            profile.sample()
    [line] = [line for line in profile.collapsed().splitlines() if "waits_here" in line]
    assert re.fullmatch(r"a, thread;.*waits_here \(.*test_debugging\.py:\d+\);.*wait \(.*\) 3", line)


def test_a_thread_can_be_left_out() -> None:
    profile = Profile()
    profile.sample(leave_out=[threading.get_ident()])
    assert "test_a_thread_can_be_left_out" not in profile.collapsed()


def test_a_profile_for_speedscope() -> None:
    profile = Profile()
    with waiting_thread():
        for _ in range(4):
            profile.sample()
    profile.seconds = 2.0
    shown = profile.speedscope()
    [thread] = [each for each in shown["profiles"] if each["name"] == "a; thread"]
    assert (thread["weights"], thread["endValue"], thread["unit"]) == ([2.0], 2.0, "seconds")
    names = [shown["shared"]["frames"][place]["name"] for place in thread["samples"][0]]
    assert names[-3:] == ["waiting_thread.<locals>.waits_here", "Event.wait", "Condition.wait"]


def test_one_profile_at_a_time() -> None:
    async def main() -> None:
        sampler = Sampler(0.001)
        first, second = await asyncio.gather(sampler.profile(0.05), sampler.profile(0.05))
        assert second is None
        assert first is not None
        assert "test_one_profile_at_a_time" in first.collapsed()
        cancelled = asyncio.create_task(sampler.profile(100))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert await sampler.profile(0.001) is not None

    asyncio.run(main())


def test_stacks_of_threads_and_tasks() -> None:
    async def inner() -> None:
        await asyncio.Event().wait()

    async def outer() -> None:
        await inner()

    async def main() -> str:
        task = asyncio.create_task(outer(), name="a task")
        await asyncio.sleep(0)
        text = stacks()
        task.cancel()
        return text

    with waiting_thread():
        text = asyncio.run(main())
    assert re.search(r"^thread a; thread\n(  .*\n)*  File .* in waits_here\n", text, re.MULTILINE)
    of_task = text[text.index("task a task: ") :].split("\n\n")[0]
    assert re.findall(r"in (\w+)\n", of_task) == ["outer", "inner", "wait"]


def test_pages() -> None:
    async def main() -> list[Reply]:
        async with serving(DEBUGGING) as ask:
            paths = (
                "/debug/pprof",
                "/debug/stacks",
                "/debug/profile?seconds=0.05",
                "/debug/profile?seconds=0.05&format=speedscope",
            )
            return [await ask(path) for path in paths]

    index, shown, collapsed, speedscope = asyncio.run(main())
    assert (index.status, index.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "/debug/profile" in index.text
    assert "thread MainThread" in shown.text
    assert collapsed.text.startswith("MainThread;")
    assert json.loads(speedscope.text)["profiles"][0]["name"] == "MainThread"


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("seconds=301", "seconds must be a number above 0 and at most 300\n"),
        ("seconds=-1", "seconds must be a number above 0 and at most 300\n"),
        ("seconds=nan", "seconds must be a number above 0 and at most 300\n"),
        ("seconds=soon", "seconds must be a number above 0 and at most 300\n"),
        ("format=pprof", "format must be collapsed or speedscope\n"),
    ],
)
def test_what_cannot_be_profiled(query: str, problem: str) -> None:
    [reply] = answers(f"/debug/profile?{query}", content=DEBUGGING)
    assert reply[:2] == (400, problem)


def test_there_is_nothing_unless_profiling_is_enabled() -> None:
    replies = answers("/debug/pprof/", "/debug/profile", "/debug/stacks")
    assert [reply.status for reply in replies] == [404] * 3
