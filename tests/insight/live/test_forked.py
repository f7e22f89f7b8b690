"""Questions in a copy of the process: what they may not do, and what happens if they do not end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from moorage.insight.live import forked
from moorage.insight.live.forked import Forks
from moorage.insight.live.problems import Problem
from tests.insight.live.worlds import run


def ask(question: Callable[[], bytes], seconds: float = 20.0) -> bytes:
    return run(lambda: Forks().ask(question, seconds))


def problem(question: Callable[[], bytes], seconds: float = 20.0) -> Problem:
    with pytest.raises(Problem) as raised:
        ask(question, seconds)
    return raised.value


def sleep_long() -> bytes:
    time.sleep(60)
    return b""


def sleep_short() -> bytes:
    time.sleep(0.2)
    return b"done"


def test_the_answer_comes_back_whole() -> None:
    large = os.urandom(3_000_000)
    assert ask(lambda: large) == large


def test_what_is_changed_there_is_not_changed_here() -> None:
    state = {"pods": 1}

    def change() -> bytes:
        state["pods"] = 2
        return str(state).encode()

    assert ask(change) == b"{'pods': 2}"
    assert state == {"pods": 1}


def test_one_that_hangs_is_ended_in_time_and_reaped() -> None:
    told: list[int] = []

    def hang() -> bytes:
        while True:
            time.sleep(0.01)

    async def main() -> None:
        before = children()
        with pytest.raises(Problem) as raised:
            task = asyncio.create_task(Forks().ask(hang, 0.2))
            await asyncio.sleep(0.1)
            told.extend(children() - before)
            await task
        assert (raised.value.code, raised.value.message) == (
            504,
            "no answer within 0.2 seconds; ask about less",
        )
        await gone(told)

    run(main)
    assert len(told) == 1


def test_one_whose_caller_has_gone_is_ended() -> None:
    async def main() -> None:
        before = children()
        task = asyncio.create_task(Forks().ask(sleep_long))
        while not children() - before:
            await asyncio.sleep(0.01)
        started = children() - before
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await gone(started)

    run(main)


def test_what_fails_there_is_a_problem_here() -> None:
    def fail() -> bytes:
        raise RuntimeError("no")

    found = problem(fail)
    assert (found.code, found.message) == (500, "the copy of the process ended without an answer")


def test_an_answer_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "MOST_BYTES", 10_000_000)
    assert problem(lambda: bytes(20_000_000)).message == "the answer is too large"


def test_at_most_two_at_once_and_a_few_that_wait() -> None:
    async def main() -> list[object]:
        forks = Forks(at_once=2, waiting=2)
        before = children()
        tasks = [asyncio.create_task(forks.ask(sleep_short)) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert len(children() - before) == 2
        return await asyncio.gather(*tasks, return_exceptions=True)

    *answers, refused = run(main)
    assert answers == [b"done"] * 4
    assert isinstance(refused, Problem) and refused.code == 429


def test_a_copy_is_made_of_a_state_that_is_whole() -> None:
    """While a cycle waits for an extender it is not, and it must be so still when a turn has come."""
    state = ["in between"]

    async def main() -> list[bytes]:
        whole = asyncio.Event()
        forks = Forks(whole.wait, at_once=1)  # type: ignore[arg-type]
        tasks = [asyncio.create_task(forks.ask(lambda: state[0].encode())) for _ in range(2)]
        await asyncio.sleep(0.05)
        state[0] = "whole"
        whole.set()
        return await asyncio.gather(*tasks)

    assert run(main) == [b"whole", b"whole"]


def test_a_system_without_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    found = problem(lambda: b"")
    assert (found.code, found.reason) == (501, "NotImplemented")


def test_connections_are_closed_there() -> None:
    """Whoever is at the other end is to hear of it when the process closes them."""
    here, there = socket.socketpair()

    async def main() -> None:
        task = asyncio.create_task(Forks().ask(sleep_long))
        before = children()
        while not children() - before:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        here.close()
        there.setblocking(False)
        assert await asyncio.get_running_loop().sock_recv(there, 1) == b""
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main)
    there.close()


def test_signals_logs_and_output_do_not_reach_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[int] = []
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    old = signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))
    woken_before = signal.set_wakeup_fd(writing.fileno())
    try:

        def be_loud() -> bytes:
            print("printed")  # noqa: T201
            logging.getLogger("moorage").error("logged")
            os.write(2, b"written")
            os.kill(os.getpid(), signal.SIGUSR2)
            time.sleep(5)
            return b"survived"

        assert problem(be_loud).message == "the copy of the process ended without an answer"
    finally:
        signal.set_wakeup_fd(woken_before)
        signal.signal(signal.SIGUSR2, old)
    reading.setblocking(False)
    with pytest.raises(BlockingIOError):
        reading.recv(1)
    reading.close()
    writing.close()
    assert not heard
    assert capfd.readouterr() == ("", "")


def test_the_loop_goes_on_and_other_threads_hold_what_they_like() -> None:
    held = logging.getLogger().handlers and logging.getLogger().handlers[0].lock
    turns = 0

    async def main() -> bytes:
        nonlocal turns
        task = asyncio.create_task(Forks().ask(answer))
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        return task.result()

    def answer() -> bytes:
        logging.getLogger().error("not written")
        time.sleep(0.2)
        return b"answered"

    let_go = threading.Event()
    taken = threading.Event()

    def hold() -> None:
        if held:
            with held:
                taken.set()
                let_go.wait(30)

    thread = threading.Thread(target=hold, daemon=True)
    if held:
        thread.start()
        taken.wait(10)
    try:
        assert run(main) == b"answered"
    finally:
        let_go.set()
    assert turns > 10


def children() -> set[int]:
    """The processes that this one has started and that have not ended."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(process.name))
    return found


async def gone(pids: Iterable[int]) -> None:
    """Waits until none of them is left, not even to be reaped."""
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        await asyncio.sleep(0.01)
