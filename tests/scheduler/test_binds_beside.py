"""Binds that are under way beside scheduling: how many, what ends them, what is left of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import ReservePlugin
from moorage.framework.status import Status, Wait
from moorage.framework.writes import Write
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.process.metrics import SchedulerMetrics
from moorage.scheduler import binding_cycle
from moorage.scheduler.garbage import seldom_collected
from tests import fake_time
from tests.framework.scripted import Binds, Permits, PostBinds, PreBinds, Reserves, plugin
from tests.scheduler.worlds import World, after


class Gate:
    """Binds pods through the client once it is opened, and knows how many wait for that."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.begun: list[str] = []
        self.waiting = self.most = 0
        self.opened = asyncio.Event()

    async def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self.begun.append(pod.name)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.opened.wait()
            await asyncio.sleep(1)
        finally:
            self.waiting -= 1
        assert self.world is not None
        self.world.client.bind(pod, node_name)


def gated(gate: Gate, *others: Any, pods: int) -> World:
    world = gate.world = World(plugin(Binds, "Gate", gate.bind), *others, in_tree=["PrioritySort"])
    for number in range(pods):
        world.add(f"p{number}")
    return world


def placed(world: World) -> list[str]:
    return sorted(pod.name for pod in world.state.pods)


@pytest.fixture
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_cycle, "BINDS_AT_ONCE", 2)


def test_the_bind_of_a_pod_that_waits_for_nothing_leaves_with_the_attempt() -> None:
    asked: list[str] = []

    def bind(cycle: CycleState, pod: Pod, node_name: str) -> None:
        asked.append(pod.name)
        assert pod.uid not in world.queue._in_flight

    world = World(plugin(Binds, "A", bind), in_tree=["PrioritySort"])
    world.add()

    async def main() -> None:
        assert world.scheduler.try_next()
        assert asked == ["pod"]
        assert len(asyncio.all_tasks()) == 1

    fake_time.run(main())


@pytest.mark.usefixtures("two_at_once")
def test_there_are_only_so_many_binds_at_once_and_each_has_its_turn() -> None:
    gate = Gate()
    gate.opened.set()
    world = gated(gate, pods=7)
    world.schedule()
    assert gate.begun == [f"p{number}" for number in range(7)]
    assert gate.most == 2
    assert all(world.node_of(f"p{number}") for number in range(7))
    assert world.scheduler._binding.under_way == 0


@pytest.mark.usefixtures("two_at_once")
def test_binds_that_fail_make_way_as_well() -> None:
    async def refuse(cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        await asyncio.sleep(1)
        if pod.name == "p5":
            world.client.bind(pod, node_name)
            return None
        return Status.error("no")

    world = World(plugin(Binds, "A", refuse), in_tree=["PrioritySort"])
    for number in range(6):
        world.add(f"p{number}")
    world.schedule()
    assert placed(world) == ["p5"]
    assert [world.place(f"p{number}") for number in range(6)] == ["backoff"] * 5 + ["nowhere"]


async def stopped_after(world: World, seconds: float, *, at_once: bool = True) -> None:
    running = asyncio.create_task(world.scheduler.run())
    await asyncio.sleep(seconds)
    world.scheduler.stop(at_once=at_once)
    await running


@pytest.mark.usefixtures("two_at_once")
def test_what_is_under_way_at_the_end_is_given_back() -> None:
    """Some wait for an answer, some for their turn."""
    calls: list[str] = []
    gate = Gate()
    world = gated(gate, plugin(Reserves, "R", calls=calls), pods=5)
    fake_time.run(stopped_after(world, 1))
    assert placed(world) == []
    assert calls == ["R reserve"] * 5 + ["R unreserve"] * 5
    assert gate.begun == ["p0", "p1"]
    assert world.scheduler._binding.under_way == gate.waiting == 0


def test_a_bind_that_never_began_is_closed() -> None:
    gate = Gate()
    world = gated(gate, pods=1)

    async def main() -> None:
        assert world.scheduler.try_next()
        for task in world.scheduler._binding._tasks:
            task.cancel()
        await world.scheduler._binding.end(0)

    fake_time.run(main())
    gc.collect()  # one that is left would be complained about now
    assert gate.begun == []
    assert placed(world) == []


@pytest.mark.usefixtures("two_at_once")
def test_binds_have_a_while_to_end() -> None:
    gate = Gate()
    gate.opened.set()
    world = gated(gate, pods=6)
    fake_time.run(stopped_after(world, 0.5, at_once=False))
    assert placed(world) == [f"p{number}" for number in range(6)]


def test_a_bound_pod_keeps_its_node_when_post_bind_is_cut_short() -> None:
    calls: list[str] = []

    async def slow(cycle: CycleState, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(1000)

    world = World(plugin(Reserves, "R", calls=calls), plugin(PostBinds, "A", slow))
    world.add()
    fake_time.run(stopped_after(world, 1))
    assert placed(world) == ["pod"]
    assert calls == ["R reserve"]


def test_a_bound_pod_stays_bound_if_it_cannot_be_told(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    def refuse(*fields: Any) -> None:
        raise OSError("no events today")

    world.recorder.event = refuse  # type: ignore[method-assign]
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert world.place() == "nowhere"
    assert caplog.messages == ["Telling of a bound pod failed"]


class SlowToGiveBack(ReservePlugin):
    """Ends what it has written for a pod, which takes a while."""

    name = "SlowToGiveBack"
    at_work: list[str] = []

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        pass

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self.handle.services.writes.start(Write(self.handle, self._end, (pod.name,), holds=pod.uid))

    async def _end(self, name: str) -> None:
        self.at_work.append(name)
        await asyncio.sleep(5)
        self.at_work.remove(name)


def test_a_pod_that_changes_while_it_is_given_back_is_not_tried_before_the_end_of_that() -> None:
    """What the watch tells of it late, as the condition that was written, must not bring it back early."""
    tries: list[list[str]] = []

    def bind(cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        tries.append(list(SlowToGiveBack.at_work))
        if len(tries) == 1:
            return Status.error("no")
        world.client.bind(pod, node_name)
        return None

    world = World(SlowToGiveBack, plugin(Binds, "A", bind), in_tree=["PrioritySort"])
    pod = world.add()

    async def main() -> None:
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(1)
        assert SlowToGiveBack.at_work == ["pod"]
        world.client.write_pod_status(pod, nominated_node="n0")
        await asyncio.sleep(1)
        assert (tries, world.place()) == ([[]], "nowhere")
        await asyncio.sleep(5)
        world.now += 60
        world.queue.flush_backoff()
        await asyncio.sleep(5)
        world.scheduler.stop(at_once=True)
        await running

    fake_time.run(main())
    assert tries == [[], []]
    assert world.node_of() == "n0"


# Plugins that have nothing to do


class MyClaims(DynamicResources):
    """Made of a plugin that only looks at claims, and looks at every pod."""

    asked: list[str] = []

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        self.asked.append("reserve")
        return None

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status:
        self.asked.append("flight")
        return Status.skip()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What plugins are asked about a pod after its node was chosen."""
    found: list[str] = []
    monkeypatch.setattr(MyClaims, "asked", found)
    for method in ("reserve", "pre_bind_pre_flight"):
        known = getattr(DynamicResources, method)

        def noted(self: Any, *about: Any, known: Any = known, method: str = method) -> Any:
            found.append(f"in-tree {method}")
            return known(self, *about)

        monkeypatch.setattr(DynamicResources, method, noted)
    yield found


IN_TREE = ("PrioritySort", "DynamicResources", "DefaultBinder")


@pytest.mark.parametrize(
    ("chance", "expected"), [(1.0, []), (0.0, ["in-tree reserve", "in-tree pre_bind_pre_flight"])]
)
def test_who_only_settles_claims_is_asked_about_others_only_to_be_timed(
    chance: float, expected: list[str], asked: list[str]
) -> None:
    world = World(in_tree=IN_TREE, observer=SchedulerMetrics(chance=lambda: chance))
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert asked == expected


CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


def test_a_pod_whose_claims_need_no_work_is_bound_with_the_attempt(asked: list[str]) -> None:
    world = World(in_tree=IN_TREE)
    world.add(volumes=CLAIM)

    async def main() -> None:
        assert world.scheduler.try_next()
        assert world.node_of() == "n0"
        assert len(asyncio.all_tasks()) == 1

    fake_time.run(main())
    assert asked == ["in-tree reserve", "in-tree pre_bind_pre_flight"]


@pytest.mark.parametrize("flight", [None, Status.error("no")])
@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_a_pod_whose_claims_need_work_waits_for_that(
    flight: Status | None, chance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked: list[str] = []
    monkeypatch.setattr(DynamicResources, "pre_bind_pre_flight", lambda *about: flight)
    monkeypatch.setattr(DynamicResources, "pre_bind", lambda *about: worked.append("pre-bind"))
    world = World(in_tree=IN_TREE, observer=SchedulerMetrics(chance=lambda: chance))
    world.add(volumes=CLAIM)
    world.schedule()
    assert (world.node_of(), worked) == (("n0", ["pre-bind"]) if flight is None else ("", []))


def test_without_shortcuts_everyone_is_asked(asked: list[str]) -> None:
    world = World(in_tree=IN_TREE)
    world.services.shortcuts = False
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert asked == ["in-tree reserve", "in-tree pre_bind_pre_flight"]


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_nor_is_it_in_the_way_of_others_that_have_something_to_do(chance: float) -> None:
    world = World(
        plugin(Permits, "Holds", Wait(10)),
        plugin(PreBinds, "Works"),
        in_tree=("PrioritySort", "VolumeBinding", "DynamicResources", "DefaultBinder"),
        observer=SchedulerMetrics(chance=lambda: chance),
    )
    world.add()
    world.schedule(after(1, world.allow, "Holds"))
    assert world.node_of() == "n0"


def test_a_plugin_made_of_such_a_one_is_asked(asked: list[str]) -> None:
    world = World(MyClaims)
    world.add()
    world.schedule()
    assert world.node_of() == "n0"
    assert asked == ["reserve", "flight"]


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_every_point_is_counted_for_every_pod_whoever_is_asked(chance: float) -> None:
    metrics = SchedulerMetrics(chance=lambda: chance)
    world = World(in_tree=IN_TREE, observer=metrics)
    for number in range(3):
        world.add(f"p{number}")
    world.schedule()
    counts = {
        (sample.labels["extension_point"], sample.labels["status"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "scheduler_framework_extension_point_duration_seconds_count"
    }
    after_the_decision = [
        ("Reserve", "Success"),
        ("Permit", "Success"),
        ("PreBindPreFlight", "Skip"),
        ("PreBind", "Success"),
        ("Bind", "Success"),
        ("PostBind", "Success"),
    ]
    assert {each: counts.get(each) for each in after_the_decision} == dict.fromkeys(after_the_decision, 3)


# Garbage


def test_garbage_is_looked_for_less_often_until_the_last_scheduler_ends() -> None:
    before = gc.get_threshold()
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    assert gc.get_threshold()[0] > before[0]
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


@pytest.mark.parametrize("own", [(0, 10, 10), (500_000, 20, 20)])
def test_who_looks_for_garbage_even_less_often_is_left_alone(own: tuple[int, int, int]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(*own)
    try:
        with seldom_collected():
            assert gc.get_threshold() == own
        assert gc.get_threshold() == own
    finally:
        gc.set_threshold(*before)


def test_a_pod_that_was_stopped_before_its_bind_counts_as_such_until_it_is_given_back() -> None:
    """Another preemption meanwhile must not delete it."""

    async def forever(cycle: CycleState, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(3600)

    world = World(plugin(PreBinds, "A", forever))
    world.add()
    [stopped] = world.client.pods.values()
    in_pre_bind = world.scheduler.services.pods_in_pre_bind
    said: list[bool] = []
    given_back = world.state.forget

    def forget(pod: Pod) -> None:
        said.append(in_pre_bind.cancel(stopped.uid, "preempted once more"))
        given_back(pod)

    world.state.forget = forget  # type: ignore[method-assign]

    async def preempt() -> None:
        await asyncio.sleep(1)
        said.append(in_pre_bind.cancel(stopped.uid, "preempted"))
        said.append(in_pre_bind.cancel(stopped.uid, "preempted again"))
        await asyncio.sleep(0)
        said.append(in_pre_bind.cancel(stopped.uid, "and again"))

    world.schedule(preempt())
    assert said == [True, True, True, False]
    assert not in_pre_bind.cancel(stopped.uid, "much later")
    assert world.place() == "backoff"
