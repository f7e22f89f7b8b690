"""Work that plugins start from methods which must not wait."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.client.memory import MemoryClient
from moorage.framework import writes
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import BindPlugin, PostFilterPlugin, ReservePlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.framework.status import Status
from moorage.framework.writes import TooManyWrites, Write
from moorage.process.metrics import SchedulerMetrics
from moorage.testing import FakeHandle, make_node, make_pod, run
from tests import fake_time
from tests.scheduler.worlds import World


class Started:
    """A handle of a plugin, and what was done of what it started."""

    def __init__(self, may_bind: Callable[[], bool] = lambda: True) -> None:
        self.metrics = SchedulerMetrics()
        client = MemoryClient(lambda pod: None)
        self.services = Services(client=client, may_bind=may_bind, observer=self.metrics)
        self.handle = Handle(self.services, "mine", "Writer")
        self.done: list[str] = []
        self.gate = asyncio.Event()

    async def note(self, name: str) -> None:
        self.done.append(name)

    async def wait(self, name: str) -> None:
        await self.gate.wait()
        self.done.append(name)

    def counted(self, name: str = "scheduler_plugin_writes") -> dict[str, float]:
        return {
            sample.labels.get("result", ""): sample.value
            for family in self.metrics.collect()
            for sample in family.samples
            if family.name == name
            and sample.labels == {**sample.labels, "plugin": "Writer", "profile": "mine"}
        }


def played(script: Callable[[], Coroutine[Any, Any, None]]) -> None:
    fake_time.run(script())


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_work_is_done_beside_and_counted() -> None:
    async def script() -> None:
        world = Started()
        world.services.writes.open()
        world.handle.write(world.note, "a")
        world.handle.write(world.note, name="b")
        assert world.done == []
        await settled()
        assert world.done == ["a", "b"]
        assert world.counted() == {"success": 2}

    played(script)


def test_work_that_did_not_return_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def hang() -> None:
        await asyncio.sleep(0)
        raise DidNotReturn

    async def script() -> None:
        world = Started()
        world.services.writes.open()
        world.handle.write(hang)
        await settled()
        assert world.counted() == {"error": 1}

    played(script)
    assert "hang of plugin" in caplog.text


def test_work_waits_until_the_scheduler_runs() -> None:
    """A process that does not lead has its informers, and so hints, but no scheduler that runs."""

    async def script() -> None:
        world = Started()
        world.handle.write(world.note, "a")
        await settled()
        assert world.done == []
        world.services.writes.open()
        await settled()
        assert world.done == ["a"]

    played(script)


def test_where_nothing_is_done_for_long_the_oldest_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for the lease for weeks must neither fail nor grow."""
    monkeypatch.setattr(writes, "MOST_WAITING", 2)

    async def script() -> None:
        world = Started()
        for name in "abcd":
            world.handle.write(world.note, name)
        world.services.writes.open()
        await settled()
        assert world.done == ["c", "d"]
        assert world.counted() == {"cancelled": 2, "success": 2}

    played(script)


def test_nothing_is_begun_while_the_lease_is_in_doubt() -> None:
    async def script() -> None:
        leads = [False]
        world = Started(lambda: leads[0])
        world.services.writes.open()
        world.handle.write(world.note, "a")
        await asyncio.sleep(60)
        assert world.done == []
        leads[0] = True
        await asyncio.sleep(1)
        assert world.done == ["a"]

    played(script)


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit("gone"), asyncio.CancelledError()])
def test_what_fails_is_logged_with_the_plugin_and_counted(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise error

    async def script() -> None:
        world = Started()
        world.services.writes.open()
        world.handle.write(fails)
        world.handle.write(world.note, "after")
        await settled()
        assert world.done == ["after"]
        assert world.counted() == {"error": 1, "success": 1}
        assert world.counted("scheduler_plugin_failures") == {"": 1}

    played(script)
    [traceback, record] = caplog.records
    assert traceback.exc_info is not None
    assert re.fullmatch(r"write .*\.fails of plugin Writer failed: .+", record.message)
    assert (record.plugin, record.profile) == ("Writer", "mine")  # type: ignore[attr-defined]


def test_only_so_many_at_once_and_the_others_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(writes, "MOST_WAITING", 3)

    async def script() -> None:
        world = Started()
        world.services.writes.open()
        for name in "abcde":
            world.handle.write(world.wait, name)
        with pytest.raises(TooManyWrites, match="3 writes of plugin Writer wait to be done already"):
            world.handle.write(world.wait, "f")
        other = Handle(world.services, "mine", "Other")
        other.write(world.note, "of another plugin")
        await settled()
        assert world.done == ["of another plugin"]
        world.gate.set()
        await settled()
        assert world.done == ["of another plugin", *"abcde"]

    played(script)


def test_closing_gives_time_and_then_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "MOST_AT_ONCE", 2)

    async def script() -> None:
        world = Started()
        world.services.writes.open()

        async def takes(seconds: float) -> None:
            await asyncio.sleep(seconds)
            world.done.append(f"{seconds}")

        for seconds in (1, 1000, 0):
            world.handle.write(takes, seconds)
        await settled()
        await world.services.writes.close(5)
        assert world.done == ["1"]
        assert world.counted() == {"success": 1, "cancelled": 2}
        world.handle.write(world.note, "late")
        await settled()
        assert world.done == ["1"]

    played(script)


def test_work_may_be_started_from_another_thread() -> None:
    async def script() -> None:
        world = Started()
        world.services.writes.open()
        thread = threading.Thread(target=world.handle.write, args=(world.note, "a"))
        thread.start()
        thread.join()
        await settled()
        assert world.done == ["a"]

    asyncio.run(script())


def test_a_pod_is_held_until_all_is_done_that_holds_it() -> None:
    async def script() -> None:
        world = Started()
        every = world.services.writes
        every.open()

        async def fail() -> None:
            raise ValueError("no")

        every.start(Write(world.handle, world.wait, ("a",), holds="uid"))
        every.start(Write(world.handle, fail, holds="uid"))
        every.start(Write(world.handle, world.note, ("b",)))
        held = every.held("uid")
        await settled()
        assert world.done == ["b"] and held is every.held("uid") and every.held("other") is None
        assert held is not None and not held.done()
        world.gate.set()
        await held
        assert world.done == ["b", "a"] and every.held("uid") is None

    played(script)


@pytest.mark.parametrize("at_once", [0, 2])
def test_closing_lets_pods_go(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(writes, "MOST_AT_ONCE", at_once)

    async def script() -> None:
        world = Started()
        every = world.services.writes
        every.open()
        every.start(Write(world.handle, world.wait, ("a",), holds="uid"))
        held = every.held("uid")
        await every.close(1)
        assert held is not None and held.done() and every.held("uid") is None
        every.start(Write(world.handle, world.note, ("late",), holds="uid"))
        assert every.held("uid") is None

    played(script)


def test_a_call_in_place_of_a_function_is_explained() -> None:
    async def work() -> None: ...

    wrong: Any = work()
    with pytest.raises(TypeError, match=r"write takes a function and its arguments: handle.write\(self.work"):
        Started().handle.write(wrong)


def test_where_there_is_no_cluster_it_is_refused() -> None:
    world = Started()
    world.services.client = None
    with pytest.raises(RuntimeError, match="there is no cluster to write to: this run has no client"):
        world.handle.write(world.note, "a")


# In a scheduler


class AsksForANode(PostFilterPlugin):
    asked: list[str]

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        self.asked = []
        self.handle.write(self.ask, pod)
        return Status.unschedulable("asked for a node")

    async def ask(self, pod: Pod) -> None:
        await asyncio.sleep(1)
        self.asked.append(pod.name)


def test_a_post_filter_starts_work_that_the_scheduler_does_and_ends() -> None:
    world = World(
        AsksForANode,
        nodes=[make_node("a", cpu=1)],
        in_tree=("PrioritySort", "NodeResourcesFit", "DefaultBinder"),
    )
    world.add("p", cpu=2)

    async def script() -> None:
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(0.5)
        world.scheduler.stop()
        await running

    fake_time.run(script())
    plugin = world.scheduler.profiles["default-scheduler"].plugins["AsksForANode"]
    assert isinstance(plugin, AsksForANode)
    assert plugin.asked == ["p"]
    condition = world.condition("p")
    assert condition is not None
    assert condition[2].endswith("asked for a node")


def test_stopped_at_once_the_work_is_cancelled() -> None:
    world = World(
        AsksForANode,
        nodes=[make_node("a", cpu=1)],
        in_tree=("PrioritySort", "NodeResourcesFit", "DefaultBinder"),
    )
    world.add("p", cpu=2)

    async def script() -> None:
        running = asyncio.create_task(world.scheduler.run())
        await asyncio.sleep(0.5)
        world.scheduler.stop(at_once=True)
        await running

    fake_time.run(script())
    plugin = world.scheduler.profiles["default-scheduler"].plugins["AsksForANode"]
    assert isinstance(plugin, AsksForANode)
    assert plugin.asked == []


# Without a scheduler


def test_a_fake_handle_notes_it_and_a_test_has_it_done() -> None:
    handle, pod = FakeHandle([make_node("a")]), make_pod("p")
    plugin = AsksForANode(None, handle)
    plugin.post_filter(CycleState(), pod, NodeStatuses(handle.state.table))
    assert [(write.work, write.args) for write in handle.started] == [(plugin.ask, (pod,))]
    assert plugin.asked == []
    fake_time.run(handle.written())
    assert (plugin.asked, handle.started) == (["p"], [])


def test_what_fails_reaches_the_test() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    handle = FakeHandle()
    handle.write(fails)
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(handle.written())


def test_run_says_that_there_is_no_cluster() -> None:
    result = run(AsksForANode, make_pod(cpu=2), [make_node("a", cpu=1)], raises=False)
    assert result.message.endswith("there is no cluster to write to: this run has no client")


class TakesBackSlowly(ReservePlugin):
    """Gives back what a pod had, which takes a second; `refuses` says where the pod fails."""

    refuses = "Reserve"
    done: list[str]

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        self.done = []
        return Status.error("no") if self.refuses == "Reserve" else None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self.handle.services.writes.start(Write(self.handle, self.take_back, holds=pod.uid))

    async def take_back(self) -> None:
        await asyncio.sleep(1)
        self.done.append("taken back")


class FailsToBind(TakesBackSlowly, BindPlugin):
    refuses = "Bind"

    def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.error("no")


@pytest.mark.parametrize(
    ("plugin", "in_tree"),
    [(TakesBackSlowly, ("PrioritySort", "DefaultBinder")), (FailsToBind, ("PrioritySort",))],
)
def test_a_pod_that_failed_waits_for_what_is_taken_back(
    plugin: type[TakesBackSlowly], in_tree: tuple[str, ...]
) -> None:
    world = World(plugin, in_tree=in_tree)
    world.add("p")
    seen: list[tuple[str, list[str]]] = []

    async def script() -> None:
        running = asyncio.create_task(world.scheduler.run())
        made = world.scheduler.profiles["default-scheduler"].plugins[plugin.name]
        assert isinstance(made, TakesBackSlowly)
        for _ in range(2):
            await asyncio.sleep(0.7)
            seen.append((world.place("p"), made.done[:]))
        world.scheduler.stop()
        await running

    fake_time.run(script())
    assert seen == [("nowhere", []), ("backoff", ["taken back"])]
