"""While a cycle is suspended nothing changes under it, and afterwards nothing is lost."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.framework.door import Door
from moorage.framework.extenders import suspension as module
from moorage.framework.extenders.suspension import Suspension
from moorage.framework.runtime import calls
from moorage.testing import make_node, make_pod
from tests import fake_time
from tests.framework.scripted import Filters, PreBinds, plugin
from tests.framework.test_door import Follower
from tests.scheduler.worlds import World, after

Work = Coroutine[Any, Any, Any]


async def nothing() -> None:
    pass


async def answer(seconds: float = 1.0, what: Any = "answer") -> Any:
    await asyncio.sleep(seconds)
    if isinstance(what, BaseException):
        raise what
    return what


def wait(suspension: Suspension, work: Work) -> Any:
    return suspension.wait_for(work, nothing)


def test_the_event_loop_goes_on_while_a_cycle_waits() -> None:
    suspension = Suspension(Door())
    seen: list[Any] = []

    def cycle() -> str:
        seen.append(wait(suspension, answer(2)))
        seen.append(wait(suspension, answer(2, "another")))
        return "result"

    async def main() -> None:
        beside = asyncio.create_task(after(1, seen.append, "beside"))
        assert await suspension.run(cycle) == "result"
        await beside

    fake_time.run(main())
    assert seen == ["beside", "answer", "another"]


def test_what_goes_wrong_is_raised_where_it_was_waited_for() -> None:
    suspension = Suspension(Door())

    def cycle() -> str:
        try:
            wait(suspension, answer(1, ValueError("no")))
        except ValueError as error:
            return str(error)
        return ""

    async def main() -> None:
        assert await suspension.run(cycle) == "no"
        with pytest.raises(ZeroDivisionError):
            await suspension.run(lambda: 1 // 0)
        await suspension.between_cycles()

    fake_time.run(main())


def test_what_is_cancelled_in_there_is_a_failure_and_not_the_end() -> None:
    suspension = Suspension(Door())

    def cycle() -> str:
        with pytest.raises(RuntimeError, match="cancelled"):
            wait(suspension, answer(1, asyncio.CancelledError()))
        return "goes on"

    assert fake_time.run(suspension.run(cycle)) == "goes on"


def test_a_cycle_sees_the_context_it_was_started_in() -> None:
    variable = contextvars.ContextVar("variable", default="other")
    variable.set("this")
    assert fake_time.run(Suspension(Door()).run(variable.get)) == "this"


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.sampled_from(["", "n", "m"])), max_size=12)
)
def test_what_comes_meanwhile_is_taken_in_afterwards_and_in_order(
    changes: list[tuple[bool, str, str]],
) -> None:
    def objects() -> list[tuple[bool, Object]]:
        return [(goes, make_pod(name, node=node)) for goes, name, node in changes]

    def let_in(door: Door, change: tuple[bool, Object]) -> None:
        (door.remove if change[0] else door.put)(change[1])

    def shown(follower: Follower) -> list[Any]:
        return [[each and (each.key, each.spec.node_name) for each in told[:2]] for told in follower.told]

    plain, held = Door(), Door()
    followers = Follower(plain), Follower(held)
    for door, follower in zip((plain, held), followers, strict=True):
        door.put(make_node("n"))
        door.follow(follower)
    for change in objects():
        let_in(plain, change)

    def cycle() -> None:
        suspension.wait_for(meanwhile(), nothing)
        assert followers[1].told == []

    async def meanwhile() -> None:
        for change in objects():
            let_in(held, change)

    suspension = Suspension(held)
    fake_time.run(suspension.run(cycle))
    assert shown(followers[1]) == shown(followers[0])
    assert {pod.key: pod.spec.node_name for pod in held.state.pods} == {
        pod.key: pod.spec.node_name for pod in plain.state.pods
    }
    held.put(make_node("later"))
    assert held.state.node("later") is not None


def test_an_object_that_cannot_be_taken_in_keeps_no_other_out(caplog: pytest.LogCaptureFixture) -> None:
    class Refuses(Follower):
        def node_changed(self, old: Any, new: Any) -> None:
            if new.name == "bad":
                raise RuntimeError("not this one")

    door = Door()
    door.follow(Refuses(door))
    door.hold()
    for name in ("a", "bad", "b"):
        door.put(make_node(name))
    door.release()
    assert [name in door.state.table.by_name for name in ("a", "b")] == [True, True]
    assert "cannot be taken in" in caplog.text


def suspending(world_of: Callable[[], World], seconds: float = 1.0) -> Any:
    """A filter that waits before it lets a pod pass."""
    return plugin(
        Filters,
        "Suspends",
        lambda cycle, pod, node: wait(world_of().services.suspension, answer(seconds, None)),
    )


def run_cycle(world: World, *meanwhile: Work) -> None:
    async def main() -> None:
        await asyncio.gather(world.services.suspension.run(world.scheduler.try_next), *meanwhile)
        await world.scheduler.drain()

    fake_time.run(main())


def test_a_node_that_comes_meanwhile_is_there_after_the_cycle() -> None:
    world: World = World(suspending(lambda: world), nodes=1)
    seen: list[bool] = []

    def node_comes() -> None:
        world.door.put(make_node("new"))
        seen.append(world.state.node("new") is not None)

    world.add()
    run_cycle(world, after(0.5, node_comes))
    assert seen == [False]
    assert world.state.node("new") is not None
    assert world.node_of() == "n0"


def test_a_pod_that_is_deleted_while_its_cycle_waits_is_not_kept() -> None:
    world: World = World(suspending(lambda: world), nodes=0)
    world.door.put(make_node("n0"))
    pod = world.add()
    run_cycle(world, after(0.5, world.delete))
    assert world.place() == "nowhere"
    assert world.state.placement(pod.uid) is None


def test_a_failed_bind_gives_nothing_back_before_the_cycle_has_ended() -> None:
    assumed: list[bool] = []

    async def fails(*asked: Any) -> None:
        await asyncio.sleep(1)
        raise RuntimeError("no")

    def look(cycle: Any, pod: Any, node: Any) -> None:
        if pod.name == "second":
            wait(world.services.suspension, answer(3, None))
            assumed.append(world.state.is_assumed(first.uid))

    world = World(plugin(PreBinds, "Fails", fails), plugin(Filters, "Looks", look))
    first = world.add("first")

    async def main() -> None:
        assert world.scheduler.try_next()
        world.add("second")
        await world.services.suspension.run(world.scheduler.try_next)
        await world.scheduler.drain()

    fake_time.run(main())
    assert assumed == [True]
    assert not world.state.is_assumed(first.uid)
    assert world.condition("first") == (
        "False",
        "SchedulerError",
        'running PreBind plugin "Fails": RuntimeError: no',
    )


def test_a_nomination_is_not_taken_away_before_the_cycle_has_ended() -> None:
    seen: list[int] = []

    def look(cycle: Any, pod: Any, node: Any) -> None:
        if pod.name == "second":
            seen.append(len(world.services.nominations))
            wait(world.services.suspension, answer(3, None))
            seen.append(len(world.services.nominations))

    world = World(
        plugin(Filters, "Looks", look),
        nodes=[make_node("a", cpu=1)],
        in_tree=("PrioritySort", "DefaultBinder", "NodeResourcesFit", "DefaultPreemption"),
    )
    world.add("victim", cpu=1, node="a", priority=0)
    world.add("lesser", cpu=1, priority=1, status={"nominatedNodeName": "a"})
    world.add("first", cpu=1, priority=10)

    async def main() -> None:
        world.services.writes.open()
        assert world.scheduler.try_next()  # the victim is about to be evicted in a task
        world.add("second", priority=20)
        await world.services.suspension.run(world.scheduler.try_next)
        await asyncio.sleep(1)

    fake_time.run(main())
    assert seen == [2, 2]
    assert [pod.name for pod in world.services.nominations.on("a")] == ["first"]


def test_stopping_gives_up_the_cycle_that_waits_at_once() -> None:
    world: World = World(suspending(lambda: world, 1000.0))
    world.add()

    async def main() -> float:
        await asyncio.gather(
            world.services.suspension.run(world.scheduler.try_next), after(1, world.scheduler.stop)
        )
        return fake_time.now()

    assert fake_time.run(main()) == 1
    assert world.node_of() == ""
    assert world.notes == []
    world.door.put(make_node("later"))
    assert world.state.node("later") is not None


def test_a_cancelled_cycle_lets_in_what_has_come() -> None:
    world: World = World(suspending(lambda: world, 1000.0))
    world.add()

    async def main() -> None:
        running = asyncio.create_task(world.services.suspension.run(world.scheduler.try_next))
        await asyncio.sleep(1)
        world.door.put(make_node("meanwhile"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await world.services.suspension.between_cycles()

    fake_time.run(main())
    assert world.state.node("meanwhile") is not None
    assert world.notes == []


def test_outside_of_a_cycle_everything_waits_even_in_a_running_loop() -> None:
    suspension = Suspension(Door())
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    async def quick() -> str:
        return "answer"

    async def main() -> str:
        return suspension.wait_for(quick(), close)

    assert suspension.wait_for(quick(), close) == asyncio.run(main()) == "answer"
    assert closed == [True, True]


@pytest.mark.parametrize(("waits", "computes", "blamed"), [(100, 0, False), (100, 1, True), (0, 1, True)])
def test_a_plugin_is_not_blamed_for_the_time_that_others_took(
    waits: float, computes: float, blamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr(calls, "time", clock)
    monkeypatch.setattr(module, "time", clock)
    noticed: list[float] = []
    monkeypatch.setattr(calls, "notice", lambda profile, plugin, point, seconds: noticed.append(seconds))

    async def work() -> None:
        clock.now += waits

    def look(*asked: Any) -> None:
        clock.now += computes
        wait(world.services.suspension, work())

    world: World = World(plugin(Filters, "Looks", look))
    world.add()
    run_cycle(world)
    assert noticed == ([computes] if blamed else [])
