from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.reserving import Permitted, permit, reserve, unreserve, wait_on_permit
from moorage.framework.status import Code, Status, Wait
from moorage.testing import make_pod
from tests import fake_time
from tests.framework.scripted import POD, Permits, Reserves, World, plugin

NO = Status.unschedulable("no")


def error_of(point: str, text: str) -> Status:
    return Status.error(f'running {point} plugin "B": {text}').by("B")


def rows(point: str) -> list[Any]:
    """What a plugin B may answer at Reserve and Permit alike, and what follows."""
    method = point.lower()
    allowed = "None, a Wait or a Status" if point == "Permit" else "None or a Status"
    return [
        (None, None),
        (Status.success(), None),
        (NO, NO.by("B")),
        (Status.unresolvable("never"), Status.unresolvable("never").by("B")),
        (Status.pending("later"), Status.pending("later").by("B")),
        (Status.error("broken"), error_of(point, "broken")),
        (Status.skip("skipped"), error_of(point, "skipped")),
        (Status(Code.WAIT, "wait"), error_of(point, "wait")),
        (ValueError("broken"), error_of(point, "ValueError: broken")),
        (True, error_of(point, f"{method} returned bool True, use {allowed}")),
    ]


@pytest.mark.parametrize(("answer", "status"), rows("Reserve"))
def test_reserve_stops_at_the_first_that_fails(answer: Any, status: Status | None) -> None:
    calls: list[str] = []
    plugins = [plugin(Reserves, name, calls=calls) for name in "ABC"]
    plugins[1].script.answer = answer
    assert reserve(World(*plugins).profile, CycleState(), POD, "n0") == status
    assert calls == ["A reserve", "B reserve"] + (["C reserve"] if status is None else [])


def test_unreserve_runs_for_every_plugin_last_first_and_cannot_fail(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def broken(self: Plugin, cycle: CycleState, pod: Any, node_name: str) -> None:
        calls.append(f"{self.name} unreserve")
        raise ValueError("broken")

    plugins = [plugin(Reserves, name, calls=calls) for name in "ABC"]
    plugins[1] = plugin(Reserves, "B", unreserve=broken)
    unreserve(World(*plugins).profile, CycleState(), make_pod("p"), "n0")
    assert calls == ["C unreserve", "B unreserve", "A unreserve"]
    line = broken.__code__.co_firstlineno + 2
    assert caplog.messages[-1] == (
        f"plugin B failed to unreserve pod default/p: ValueError: broken (test_reserving.py:{line})"
    )


async def permitted(*answers: Any) -> tuple[Permitted, World, list[str]]:
    calls: list[str] = []
    plugins = [
        plugin(Permits, name, answer, calls=calls) for name, answer in zip("ABC", answers, strict=False)
    ]
    world = World(*plugins)
    return permit(world.profile, CycleState(), make_pod("p"), "n0"), world, calls


@pytest.mark.parametrize("before", [None, Wait(5)])
@pytest.mark.parametrize(("answer", "status"), rows("Permit"))
def test_permit_goes_on_after_success_and_wait(before: Any, answer: Any, status: Status | None) -> None:
    async def main() -> None:
        result, world, calls = await permitted(before, answer, None)
        assert result.status == status
        waits = before is not None and status is None
        assert (result.waiting is not None) is waits
        assert len(world.services.waiting_pods) == int(waits)
        assert calls == ["A permit", "B permit"] + (["C permit"] if status is None else [])

    fake_time.run(main())


@pytest.mark.parametrize("timeout", [float("nan"), "10s", None])
def test_a_wait_needs_a_number_of_seconds(timeout: Any) -> None:
    async def main() -> None:
        result, world, _ = await permitted(None, Wait(timeout))
        text = f"permit returned Wait({timeout!r}), use a number of seconds"
        assert result == (error_of("Permit", text), None)
        assert len(world.services.waiting_pods) == 0

    fake_time.run(main())


@pytest.mark.parametrize(
    ("waits", "seconds", "text", "by"),
    [
        ([Wait(10)], 10, "rejected due to timeout after waiting 10s at plugin A", "A"),
        ([Wait(90)], 90, "rejected due to timeout after waiting 1m30s at plugin A", "A"),
        ([Wait(300)], 300, "rejected due to timeout after waiting 5m0s at plugin A", "A"),
        ([Wait(1.5)], 1.5, "rejected due to timeout after waiting 1.5s at plugin A", "A"),
        ([Wait(0)], 0, "rejected due to timeout after waiting 0s at plugin A", "A"),
        ([Wait(30), None, Wait(20)], 20, "rejected due to timeout after waiting 20s at plugin C", "C"),
        ([Wait(3600)], 900, "rejected due to timeout after waiting 15m0s at plugin A", "A"),
        ([Wait(float("inf"))], 900, "rejected due to timeout after waiting 15m0s at plugin A", "A"),
    ],
)
def test_a_wait_ends_with_the_first_timeout_of_at_most_fifteen_minutes(
    waits: list[Any], seconds: float, text: str, by: str
) -> None:
    async def main() -> None:
        result, world, _ = await permitted(*waits)
        assert result.waiting is not None
        assert await wait_on_permit(world.profile, result.waiting) == Status.unschedulable(text).by(by)
        assert fake_time.now() == pytest.approx(seconds)
        assert len(world.services.waiting_pods) == 0

    fake_time.run(main())


def test_a_wait_ends_when_every_plugin_allowed_the_pod() -> None:
    async def main() -> None:
        result, world, _ = await permitted(Wait(10), Wait(20))
        waiting = result.waiting
        assert waiting is not None
        loop = asyncio.get_running_loop()
        loop.call_later(3, waiting.allow, "A")
        loop.call_later(15, waiting.allow, "B")
        assert await wait_on_permit(world.profile, waiting) is None
        assert fake_time.now() == pytest.approx(15)

    fake_time.run(main())


def test_a_preempted_wait_is_an_error() -> None:
    async def main() -> None:
        result, world, _ = await permitted(Wait(10))
        assert result.waiting is not None
        result.waiting.preempt("DefaultPreemption", "preempted")
        status = await wait_on_permit(world.profile, result.waiting)
        assert status == Status.error("waiting on permit for pod: preempted").by("DefaultPreemption")

    fake_time.run(main())


def test_a_wait_that_is_cancelled_leaves_nothing_behind() -> None:
    async def main() -> None:
        result, world, _ = await permitted(Wait(10))
        assert result.waiting is not None
        task = asyncio.create_task(wait_on_permit(world.profile, result.waiting))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(world.services.waiting_pods) == 0

    fake_time.run(main())
