"""Keys are looked at once, however often they are named, and again if that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moorage.client.errors import ApiError, Conflict, Forbidden, NotFound, Withheld
from moorage.contrib.controllers.status_writer import merge_patch
from moorage.contrib.controllers.work_queue import LONGEST_PAUSE, SETTLING_SECONDS, WorkQueue
from tests import fake_time


class Looking:
    """Notes when it was asked about which key; fails as often as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.seen: list[str] = []
        self.times: list[float] = []
        self.failures = list(failures)

    async def look(self, key: str) -> None:
        self.seen.append(key)
        self.times.append(fake_time.now())
        await asyncio.sleep(0.01)
        if self.failures:
            raise self.failures.pop(0)


def run(
    looking: Looking, name: Callable[[WorkQueue], None] | None, *first: str, seconds: float = 600
) -> Looking:
    async def main() -> None:
        queue = WorkQueue("a thing", looking.look)
        queue.add("nobody looks yet")
        running = asyncio.create_task(queue.run(first))
        await asyncio.sleep(1)
        if name is not None:
            name(queue)
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    fake_time.run(main())
    return looking


def test_it_begins_with_what_there_is() -> None:
    assert run(Looking(), None, "a", "b", "a").seen == ["a", "b"]


def test_a_key_that_is_named_often_is_looked_at_once() -> None:
    def name(queue: WorkQueue) -> None:
        for _ in range(1000):
            queue.add("a")
        queue.add("b")

    found = run(Looking(), name)
    assert found.seen == ["a", "b"]
    assert found.times[0] == pytest.approx(1 + SETTLING_SECONDS, abs=0.001)


def test_what_is_named_while_it_is_looked_at_is_looked_at_again() -> None:
    async def main() -> list[str]:
        looking = Looking()
        queue = WorkQueue("a thing", looking.look)
        running = asyncio.create_task(queue.run(["a"]))
        await asyncio.sleep(SETTLING_SECONDS + 0.005)
        assert looking.seen == ["a"]
        queue.add("a")
        await asyncio.sleep(10)
        running.cancel()
        return looking.seen

    assert fake_time.run(main()) == ["a", "a"]


@pytest.mark.parametrize(
    ("failure", "tells"),
    [
        (Conflict(409, "Conflict", "the object has been modified"), False),
        (Withheld(0, "", "another leads"), False),
        (Forbidden(403, "Forbidden", "no"), True),
        (ApiError(0, "", "no connection"), True),
        (ValueError("a mistake"), True),
    ],
)
def test_what_fails_is_tried_again(failure: Exception, tells: bool, caplog: pytest.LogCaptureFixture) -> None:
    found = run(Looking(failure), None, "a")
    assert found.seen == ["a", "a"]
    assert found.times[1] - found.times[0] > 1
    told = ["The status of a thing cannot be written; it is tried again"] * tells
    assert [record.getMessage() for record in caplog.records] == told


def test_pauses_grow_and_what_fails_alike_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    found = run(Looking(*(Forbidden(403, "Forbidden", f"no {place}") for place in range(9))), None, "a")
    pauses = [round(after - before) for before, after in zip(found.times, found.times[1:], strict=False)]
    assert pauses == [1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert len(caplog.records) == 1


def test_what_is_gone_is_let_go() -> None:
    assert run(Looking(NotFound(404, "NotFound", "gone")), None, "a").seen == ["a"]


def test_one_that_fails_does_not_hold_up_others() -> None:
    found = run(Looking(Forbidden(403, "Forbidden", "no")), None, "a", "b")
    assert found.seen == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, {"b": 3, "c": 4}),
        ({"running": 2}, {}, {"running": None}),
        ({"used": {"cpu": "1", "gpu": "1"}}, {"used": {"cpu": "1"}}, {"used": {"gpu": None}}),
        ({"used": {"cpu": "1"}}, {"used": {"cpu": "1"}}, {}),
        ({}, {"used": {"cpu": "0"}}, {"used": {"cpu": "0"}}),
    ],
)
def test_a_patch_says_what_has_changed(
    old: dict[str, object], new: dict[str, object], patch: dict[str, object]
) -> None:
    assert merge_patch(old, new) == patch
