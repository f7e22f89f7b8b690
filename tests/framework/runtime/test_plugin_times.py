"""In attempts that are timed, every call of a plugin is observed with how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.observer import NoObserver
from moorage.framework.status import Nomination, Status, Wait
from tests.framework.runtime.test_slow_calls import AT_ONCE, BINDING, POD
from tests.framework.scripted import World, plugin

IN_A_CYCLE = [point for point in AT_ONCE if point not in ("PreEnqueue", "QueueSort")]
NO_STATUS = ("Unreserve", "PostBind")
SEEN_AS_A_WHOLE = ("Filter", "Score")
"""Asked about many nodes at once, whose answers differ."""


class Times(NoObserver):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def plugin_executed(self, plugin: str, point: str, code_label: str, seconds: float) -> None:
        assert seconds >= 0
        self.seen.append((plugin, point, code_label))


def observed(point: str, answer: Any, *, is_timed: bool = True) -> list[tuple[str, str, str]]:
    base, step = AT_ONCE[point] if point in AT_ONCE else BINDING[point]
    world, times = World(plugin(base, "A", answer), nodes=1), Times()
    world.profile.observer = times
    cycle = CycleState()
    cycle.is_timed = is_timed

    async def main() -> None:
        done = (
            step(world, cycle) if point in AT_ONCE else step(world.profile, cycle, POD, "n0")  # type: ignore[call-arg, arg-type]
        )
        if isinstance(done, Awaitable):
            await done

    asyncio.run(main())
    return times.seen


@pytest.mark.parametrize("point", [*IN_A_CYCLE, *BINDING])
def test_a_call_is_observed(point: str) -> None:
    [seen] = observed(point, Status.error("broken") if point not in NO_STATUS else None)
    if point in NO_STATUS:
        assert seen == ("A", point, "Success")
    elif point not in SEEN_AS_A_WHOLE:
        assert seen == ("A", point, "Error")


@pytest.mark.parametrize("point", [*IN_A_CYCLE, *BINDING])
def test_a_call_that_raises_is_observed(point: str) -> None:
    [seen] = observed(point, ValueError("broken"))
    assert seen[:2] == ("A", point)
    if point not in SEEN_AS_A_WHOLE:
        assert seen[2] == "Error"


@pytest.mark.parametrize("point", [*IN_A_CYCLE, *BINDING])
def test_other_attempts_are_not_observed(point: str) -> None:
    assert observed(point, None, is_timed=False) == []


def test_what_is_awaited_belongs_to_the_call() -> None:
    async def later(*_: Any) -> Status:
        await asyncio.sleep(0)
        return Status.unschedulable("no")

    assert observed("PreBind", later) == [("A", "PreBind", "Unschedulable")]


def test_answers_that_are_no_status() -> None:
    assert observed("Permit", Wait(1)) == [("A", "Permit", "Wait")]
    assert observed("PostFilter", Nomination("n0")) == [("A", "PostFilter", "Success")]
    helpless = Nomination("", Status.unschedulable("no"))
    assert observed("PostFilter", helpless) == [("A", "PostFilter", "Unschedulable")]
