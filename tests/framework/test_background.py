"""What plugins do beside scheduling: when it is called, what becomes of failures, and how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage import FilterPlugin, every
from moorage.client.errors import Withheld
from moorage.framework.background import LONGEST_PAUSE, QUIET_SECONDS, SECONDS_TO_STOP, Background
from moorage.framework.extension_points import Plugin
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.observer import NoObserver
from moorage.framework.runtime import slow_calls
from moorage.framework.runtime.hung_calls import DidNotReturn
from tests import fake_time
from tests.framework.scripted import World

Work = Callable[[], Awaitable[None] | None]


class Counts(NoObserver):
    def __init__(self) -> None:
        self.failures: list[tuple[str, str, str]] = []
        self.slow: list[tuple[str, str, str]] = []

    def background_failed(self, plugin: str, task: str, profile: str) -> None:
        self.failures.append((plugin, task, profile))

    def plugin_slow(self, plugin: str, point: str, profile: str) -> None:
        self.slow.append((plugin, point, profile))


class Passes(FilterPlugin):
    def filter(self, *asked: Any) -> None:
        return None


class Refreshing(Passes):
    """Calls `work` every ten seconds and notes when."""

    work: Work
    times: list[float]

    @every(10)
    def refresh(self) -> Awaitable[None] | None:
        self.times.append(fake_time.now())
        return self.work()


class Starting(Passes):
    """Calls `work` at the start and notes when."""

    work: Work
    times: list[float]

    async def start(self) -> None:
        self.times.append(fake_time.now())
        made = self.work()
        if made is not None:
            await made


def nothing() -> None:
    return None


def fail() -> None:
    raise KeyError("zone")


def times_of(
    kind: type[Plugin], work: Work, seconds: float, counts: Counts | None = None, **more: Any
) -> list[float]:
    """When a plugin's work was called in so many seconds of fake time."""
    called = type(kind.__name__, (kind,), {"work": staticmethod(work), "times": [], **more})
    world = World(called)
    world.profile.observer = counts or Counts()

    async def main() -> list[float]:
        background = Background([world.profile])
        background.start()
        await asyncio.sleep(seconds)
        await background.stop()
        times: list[float] = vars(called)["times"]
        ended = len(times)
        await asyncio.sleep(100)
        assert len(times) == ended, "nothing is called any more"
        return times

    return fake_time.run(main())


def test_at_once_and_then_after_every_pause() -> None:
    assert times_of(Refreshing, nothing, 35) == [0, 10, 20, 30]


def test_the_pause_begins_when_the_work_has_ended() -> None:
    assert times_of(Refreshing, lambda: asyncio.sleep(7), 60) == [0, 17, 34, 51]


def test_work_that_takes_longer_than_its_pause_never_overlaps_itself() -> None:
    assert times_of(Refreshing, lambda: asyncio.sleep(25), 80) == [0, 35, 70]


def test_a_start_that_returns_is_done() -> None:
    assert times_of(Starting, nothing, 1000) == [0]


def test_a_start_may_go_on_for_ever() -> None:
    counts = Counts()
    assert times_of(Starting, lambda: asyncio.sleep(10_000), 1000, counts) == [0]
    assert counts.failures == []


def test_a_start_need_not_be_async() -> None:
    class Plain(Passes):
        times: list[float] = []

        def start(self) -> None:
            self.times.append(fake_time.now())

    assert times_of(Plain, nothing, 5) == [0]


@pytest.mark.parametrize("kind", [Refreshing, Starting])
def test_failures_are_told_counted_and_tried_again_after_pauses_that_grow(
    kind: type[Plugin], caplog: pytest.LogCaptureFixture
) -> None:
    counts = Counts()
    assert times_of(kind, fail, 100, counts) == [
        0,
        1,
        3,
        7,
        15,
        31,
        31 + LONGEST_PAUSE,
        31 + 2 * LONGEST_PAUSE,
    ]
    task = "refresh" if kind is Refreshing else "start"
    assert counts.failures == [(kind.__name__, task, "default-scheduler")] * 8
    tracebacks = [record for record in caplog.records if record.exc_info]
    assert [record.getMessage() for record in tracebacks] == [
        f"Plugin {kind.__name__} raised an exception at {task}"
    ], "once"
    first = next(record for record in caplog.records if not record.exc_info and record.levelname == "ERROR")
    assert first.getMessage() == "Background work of a plugin failed; it is tried again"
    fields = vars(first)["_moorage_fields"]
    assert "KeyError: 'zone'" in fields.pop("err")
    assert fields == {"plugin": kind.__name__, "task": task, "profile": "default-scheduler", "seconds": 1.0}


def test_the_pauses_begin_anew_after_a_quiet_time() -> None:
    results = iter([fail, fail, fail, lambda: asyncio.sleep(QUIET_SECONDS + 1), fail])
    times = times_of(Refreshing, lambda: next(results, nothing)(), 200)
    quiet_end = 7 + QUIET_SECONDS + 1
    assert times[:6] == [0, 1, 3, 7, quiet_end + 10, quiet_end + 11]


def test_what_is_raised_by_exit_or_a_cancelled_wait_is_a_failure_too() -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def wait_for_the_cancelled() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    def cancel() -> None:
        raise asyncio.CancelledError

    async def hang() -> None:
        await asyncio.sleep(0)
        raise DidNotReturn

    for work in (leave, wait_for_the_cancelled, cancel, hang):
        counts = Counts()
        assert times_of(Refreshing, work, 2, counts) == [0, 1]
        assert len(counts.failures) == 2


def test_what_a_wait_raises_is_a_failure_too() -> None:
    async def wait_for_the_failed() -> None:
        future = asyncio.get_running_loop().create_future()
        future.get_loop().call_later(0.5, future.set_exception, ConnectionRefusedError())
        await future

    counts = Counts()
    assert times_of(Refreshing, wait_for_the_failed, 3, counts) == [0, 1.5]
    assert len(counts.failures) == 2


def test_a_time_out_within_the_work_is_its_own() -> None:
    async def wait_a_second() -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(1000)

    counts = Counts()
    assert times_of(Refreshing, wait_a_second, 4.5, counts) == [0, 2]
    assert len(counts.failures) == 2


def test_a_write_that_waits_for_the_lease_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    def write() -> None:
        raise Withheld(0, "Withheld", "this process is not the leader")

    counts = Counts()
    assert times_of(Refreshing, write, 25, counts) == [0, 10, 20]
    assert times_of(Starting, write, 25, counts) == [0, 1, 3, 7, 15]
    assert counts.failures == []
    assert "ERROR" not in {record.levelname for record in caplog.records}


def test_what_blocks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(slow_calls, "_warned", {})

    def block() -> None:
        clock[0] += 1

    counts = Counts()
    times_of(Refreshing, block, 5, counts)
    assert counts.slow == [("Refreshing", "refresh", "default-scheduler")]


def test_the_end_lets_work_clean_up() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.5)
            cleaned.append(fake_time.now())

    times_of(Starting, work, 5)
    assert cleaned == [5.5]


def test_work_that_will_not_end_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    turns = []

    async def stubborn() -> None:
        while True:
            try:
                turns.append(fake_time.now())
                await asyncio.sleep(1000)
            except BaseException:  # what a bare `except:` does
                continue

    async def main() -> float:
        world = World(type("Stubborn", (Starting,), {"work": staticmethod(stubborn), "times": []}))
        background = Background([world.profile])
        background.start()
        await asyncio.sleep(1)
        await background.stop()
        ended = fake_time.now()
        await asyncio.sleep(5000)
        return ended

    assert fake_time.run(main()) == 1 + SECONDS_TO_STOP
    assert turns == [0, 1], "it is told once, and is not gone on with"
    assert "Background work of a plugin does not end when it is cancelled" in caplog.messages


def test_every_instance_has_its_own() -> None:
    class Counting(Passes):
        def __init__(self, *made_of: Any) -> None:
            super().__init__(*made_of)
            self.calls = 0

        @every(1)
        async def count(self) -> None:
            self.calls += 1

    async def main() -> list[int]:
        profiles = [World(Counting).profile for _ in range(2)]
        background = Background(profiles)
        background.start()
        background.start()  # what runs is not started twice
        await asyncio.sleep(2.5)
        await background.stop()
        return [vars(profile.plugins["Counting"])["calls"] for profile in profiles]

    assert fake_time.run(main()) == [3, 3]


def test_what_was_stopped_does_not_start() -> None:
    called = type("Refreshing", (Refreshing,), {"work": staticmethod(nothing), "times": []})

    async def main() -> None:
        background = Background([World(called).profile])
        await background.stop()
        background.start()
        await asyncio.sleep(1)

    fake_time.run(main())
    assert vars(called)["times"] == []


def test_the_period_may_come_from_the_arguments() -> None:
    class Configured(Passes):
        period = 4.0
        times: list[float] = []

        @every(lambda plugin: plugin.period)
        def refresh(self) -> None:
            self.times.append(fake_time.now())

    assert times_of(Configured, nothing, 9) == [0, 4, 8]
    with pytest.raises(PluginLoadError) as caught:
        Background([World(type("Configured", (Configured,), {"period": 0})).profile])
    why = "@every on refresh: 0 is no number of seconds above 0 (test_background.py:"
    assert str(caught.value).startswith(f'initializing plugin "Configured": {why}')


# Checked when it is loaded


def refusal(tmp_path: Path, body: str) -> str:
    file = tmp_path / "live.py"
    head = "from moorage import FilterPlugin, every\n\n\nclass Live(FilterPlugin):\n"
    file.write_text(f"{head}    def filter(self, cycle, pod, node):\n        return None\n\n{body}")
    with pytest.raises(PluginLoadError) as caught:
        Registry().load(str(file))
    text = str(caught.value)
    assert text.startswith(f"{file}: class Live ")
    return text.removeprefix(f"{file}: class Live ")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "    @every(0)\n    def refresh(self):\n        pass\n",
            "has @every on refresh: 0 is no number of seconds above 0; write @every(10) (live.py:8)",
        ),
        (
            "    @every(-1.5)\n    async def refresh(self):\n        pass\n",
            "has @every on refresh: -1.5 is no number of seconds above 0; write @every(10) (live.py:8)",
        ),
        (
            "    @every('10s')\n    def refresh(self):\n        pass\n",
            "has @every on refresh: '10s' is no number of seconds above 0; write @every(10) (live.py:8)",
        ),
        (
            "    @every(True)\n    def refresh(self):\n        pass\n",
            "has @every on refresh: True is no number of seconds above 0; write @every(10) (live.py:8)",
        ),
        (
            "    @every(float('inf'))\n    def refresh(self):\n        pass\n",
            "has @every on refresh: inf is no number of seconds above 0; write @every(10) (live.py:8)",
        ),
        (
            "    @every\n    def refresh(self):\n        pass\n",
            "has @every on refresh without seconds; write @every(10) (live.py:8)",
        ),
        (
            "    @every(10)\n    def refresh(self, nodes):\n        pass\n",
            "has the method refresh, which is called without arguments and needs nodes; "
            "drop it or give it a default (live.py:8)",
        ),
        (
            "    @every(10)\n    def refresh():\n        pass\n",
            "has the method refresh, which is called on the plugin and has no self; "
            "write def refresh(self) (live.py:8)",
        ),
        (
            "    @every(10)\n    async def refresh(self):\n        yield\n",
            "has the method refresh, which is called and not looped over; write it without yield (live.py:8)",
        ),
        (
            "    async def start(self, loop):\n        pass\n",
            "has start(loop), which is called with (); write def start(self) (live.py:8)",
        ),
    ],
)
def test_what_cannot_be_called_is_refused(body: str, line: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, body) == line


def test_all_mistakes_are_told(tmp_path: Path) -> None:
    body = "    @every(0)\n    def one(self):\n        pass\n\n    @every\n    def two(self):\n        pass\n"
    first, second = refusal(tmp_path, body).splitlines()
    assert first == "has @every on one: 0 is no number of seconds above 0; write @every(10) (live.py:8)"
    assert second.endswith("has @every on two without seconds; write @every(10) (live.py:12)")


def test_what_can_be_called_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "live.py"
    file.write_text(
        "from functools import wraps\n"
        "from moorage import FilterPlugin, every\n\n\n"
        "def logged(method):\n"
        "    @wraps(method)\n"
        "    def called(*args):\n"
        "        return method(*args)\n"
        "    return called\n\n\n"
        "class Live(FilterPlugin):\n"
        "    filter = lambda self, cycle, pod, node: None\n\n"
        "    @every(0.5)\n"
        "    def plain(self, depth=3, *more, **rest): pass\n\n"
        "    @logged\n"
        "    @every(1)\n"
        "    async def inside(self): pass\n\n"
        "    @every(1)\n"
        "    @logged\n"
        "    async def outside(self): pass\n\n"
        "    @every(2)\n"
        "    @staticmethod\n"
        "    def alone(): pass\n\n"
        "    @every(lambda self: self.args.seconds)\n"
        "    def configured(self): pass\n\n"
        "    async def start(self, ready=None): pass\n"
    )
    assert Registry().load(str(file)) == ["Live"]
