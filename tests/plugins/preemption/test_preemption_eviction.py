"""Acting on a preemption: who is told to go, in which order, and who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from moorage.api.pods import Condition, Pod
from moorage.framework.door import NoFollower
from moorage.framework.eviction import Evicted, Evictions
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.process.metrics import SchedulerMetrics
from moorage.testing import FakeHandle, make_node, make_pod

SECONDS = "%Y-%m-%dT%H:%M:%SZ"
PREEMPTOR = make_pod("important", priority=100)


class ApiError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class Cluster:
    """A client that writes down what is asked of it and, where told to, fails or takes a while."""

    http = None

    def __init__(self, handle: FakeHandle) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.conditions: list[Condition] = []
        self.fails: dict[str, Exception] = {}
        self.gate: asyncio.Event | None = None
        self._handle = handle
        handle.services.client = self

    def bind(self, pod: Pod, node_name: str) -> None:
        raise AssertionError("nothing is bound here")

    async def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        if condition is not None:
            self.conditions.append(condition)
            self.asked.append(
                (pod.name, condition.type, condition.status, condition.reason, condition.message)
            )
        if nominated_node is not None:
            if pod.name in self.fails:
                raise self.fails[pod.name]
            self.asked.append((pod.name, f"nominated {nominated_node!r}"))

    async def delete_pod(self, pod: Pod) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if pod.name in self.fails:
            raise self.fails[pod.name]
        self.asked.append((pod.name, "deleted"))
        self._handle.remove(pod)

    @property
    def deleted(self) -> list[str]:
        return [name for name, what, *_ in self.asked if what == "deleted"]


class World:
    def __init__(self, *victims: Pod) -> None:
        self.victims = victims
        self.handle = FakeHandle([make_node("n"), *victims])
        self.handle.plugin_name = "DefaultPreemption"
        self.cluster = Cluster(self.handle)

    def start(self) -> None:
        self.handle.services.writes.open()
        self.handle.evict(self.victims, by=PREEMPTOR)


def victim(name: str, **more: Any) -> Pod:
    return make_pod(name, node="n", priority=1, **more)


def played(script: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await asyncio.wait_for(script(), 5)

    asyncio.run(run())


async def settled(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


def test_a_victim_is_marked_deleted_and_told_about() -> None:
    world = World(victim("a"))

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    assert world.cluster.asked == [
        ("a", "DisruptionTarget", "True", "PreemptionByScheduler", message),
        ("a", "deleted"),
    ]
    (event,) = world.handle.events
    assert (event.regarding.name, event.type, event.reason, event.action) == (
        "a",
        "Normal",
        "Preempted",
        "Preempting",
    )
    assert event.note == f"Preempted by pod {PREEMPTOR.uid} on node n"
    assert event.related is None


@pytest.mark.parametrize(("fails", "result"), [({}, "success"), ({"a": OSError("no")}, "error")])
def test_how_it_ended_is_counted(fails: dict[str, Exception], result: str) -> None:
    world = World(victim("a"))
    world.cluster.fails = fails
    metrics = world.handle.services.observer = SchedulerMetrics()

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    counted = {
        sample.name: sample.labels
        for family in metrics.collect()
        for sample in family.samples
        if family.name.startswith("scheduler_preemption_goroutines") and sample.value == 1
    }
    assert counted["scheduler_preemption_goroutines_execution_total"] == {"result": result}
    assert counted["scheduler_preemption_goroutines_duration_seconds_count"] == {"result": result}


def test_the_last_victim_goes_when_the_others_are_gone_and_the_preemptor_waits_until_then() -> None:
    world = World(victim("a"), victim("b"), victim("c"))

    async def script() -> None:
        world.cluster.gate = asyncio.Event()
        assert not world.handle.is_evicting_for(PREEMPTOR)
        world.start()
        await settled()
        assert world.cluster.deleted == []
        assert world.handle.is_evicting_for(PREEMPTOR)
        world.cluster.gate.set()
        await settled()
        assert sorted(world.cluster.deleted[:2]) == ["a", "b"]
        assert world.cluster.deleted[2] == "c"
        assert not world.handle.is_evicting_for(PREEMPTOR)

    played(script)


class Watched(Cluster):
    """A client whose deletions the watch shows later, if at all."""

    async def delete_pod(self, pod: Pod) -> None:
        self.asked.append((pod.name, "deleted"))
        if self.gate is not None:
            await self.gate.wait()


def test_the_preemptor_waits_until_the_watch_shows_that_the_last_victim_goes() -> None:
    world = World(victim("a"))
    Watched(world.handle)

    async def script() -> None:
        world.start()
        await settled()
        assert world.handle.is_evicting_for(PREEMPTOR)
        world.handle.add(victim("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
        assert not world.handle.is_evicting_for(PREEMPTOR)

    played(script)


def test_a_last_victim_on_its_way_out_does_not_hold_the_preemptor_up() -> None:
    """Although the answer to its deletion is not there yet."""
    world = World(victim("a"))
    cluster = Watched(world.handle)

    async def script() -> None:
        cluster.gate = asyncio.Event()
        world.start()
        await settled()
        assert world.handle.is_evicting_for(PREEMPTOR)
        world.handle.add(victim("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
        assert not world.handle.is_evicting_for(PREEMPTOR)
        cluster.gate.set()
        await settled()

    played(script)


def test_when_others_hear_that_the_last_victim_is_gone_the_preemptor_may_be_tried() -> None:
    """A victim without a grace period is gone before the answer to its deletion comes."""
    world = World(victim("a"))
    cluster = Watched(world.handle)
    heard: list[bool] = []

    class Hears(NoFollower):
        def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
            heard.append(world.handle.is_evicting_for(PREEMPTOR))

    async def script() -> None:
        cluster.gate = asyncio.Event()
        world.start()
        await settled()
        world.handle.services.door.follow(Hears())
        world.handle.remove(world.victims[0])
        cluster.gate.set()
        await settled()

    played(script)
    assert heard == [False]


def test_what_is_known_of_finished_preemptions_is_forgotten() -> None:
    world = World(victim("a"), victim("b"))

    async def script() -> None:
        for number, each in enumerate(world.victims):
            world.handle.services.writes.open()
            world.handle.evict(each, by=make_pod(f"important-{number}", priority=100))
            await settled()

    played(script)
    assert len(world.handle.shared(Evictions)._last_victims) == 1


def test_terminating_victims_are_left_alone() -> None:
    gone = victim("gone", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    world = World(gone, victim("a"))

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.cluster.deleted == ["a"]

    only = World(gone)
    only.handle.evict(only.victims, by=PREEMPTOR)
    assert not only.handle.is_evicting_for(PREEMPTOR)
    assert only.cluster.asked == []


def test_a_victim_that_is_gone_counts_as_done_without_an_event() -> None:
    world = World(victim("a"))
    world.cluster.fails["a"] = ApiError(404)

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.handle.events == []
    assert world.handle.activated == []


def test_after_a_failure_the_last_victim_stays_and_the_preemptor_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(victim("a"), victim("b"))
    world.cluster.fails["a"] = ApiError(500)

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.cluster.deleted == []
    assert world.handle.activated == [PREEMPTOR]
    assert not world.handle.is_evicting_for(PREEMPTOR)
    assert "preemption for pod default/important on node n failed: code 500" in caplog.text


def nominated(name: str, priority: int, status: str = "n") -> Pod:
    return make_pod(name, priority=priority, status={"nominatedNodeName": status})


def test_lesser_pods_nominated_to_the_node_look_for_another() -> None:
    """Only those of which the API server knows; the nomination counts until the watch shows its end."""
    world = World(victim("a"))
    for pod in (nominated("lesser", 50), nominated("equal", 100), nominated("in-memory", 50, "")):
        world.handle.nominator.add(pod, "n")

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.cluster.asked[0] == ("lesser", "nominated ''")
    assert [name for name, *_ in world.cluster.asked] == ["lesser", "a", "a"]
    assert len(world.handle.nominator.on("n")) == 3


def test_a_nomination_that_cannot_be_cleared_saves_no_victim(caplog: pytest.LogCaptureFixture) -> None:
    world = World(victim("a"), victim("b"))
    world.handle.nominator.add(nominated("lesser", 50), "n")
    world.cluster.fails["lesser"] = ApiError(500)

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.cluster.deleted == ["a", "b"]
    assert world.handle.activated == [PREEMPTOR]
    assert "code 500" in caplog.text


def test_the_mark_says_since_when() -> None:
    marked = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2025-12-31T00:00:00Z"}
    world = World(victim("a"), victim("b", status={"conditions": [marked]}))

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    since = [each.last_transition_time for each in world.cluster.conditions]
    assert since == [
        datetime.fromtimestamp(world.handle.clock(), UTC).strftime(SECONDS),
        marked["lastTransitionTime"],
    ]


def test_a_victim_that_is_marked_already_is_only_deleted() -> None:
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": message,
    }
    world = World(victim("a", status={"conditions": [mark]}))

    async def script() -> None:
        world.start()
        await settled()

    played(script)
    assert world.cluster.asked == [("a", "deleted")]


def test_a_victim_that_waits_on_permit_is_stopped_without_deleting_it() -> None:
    world = World(victim("a"))

    async def script() -> None:
        waiting = WaitingPod(world.victims[0], {"Gang": 60.0})
        world.handle.waiting_pods.add(waiting)
        world.start()
        await settled()
        status = await waiting.ended()
        assert status is not None and status.message == "preempted"

    played(script)
    assert world.cluster.asked == []
    assert world.handle.events[0].note.endswith("on node n (in kube-scheduler memory).")


def test_a_victim_in_pre_bind_is_stopped_without_deleting_it() -> None:
    world = World(victim("a"))

    async def script() -> None:
        work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        world.handle.services.pods_in_pre_bind.start(world.victims[0].uid, work)
        world.start()
        await settled()
        assert work.cancelled()
        assert (
            world.handle.services.pods_in_pre_bind.through(world.victims[0].uid)
            == "preempted by DefaultPreemption"
        )

    played(script)
    assert world.cluster.asked == []


def test_pre_enqueue_holds_the_preemptor_back_meanwhile() -> None:
    world = World(victim("a"))
    plugin = DefaultPreemption(None, world.handle)

    async def script() -> None:
        world.cluster.gate = asyncio.Event()
        assert plugin.pre_enqueue(PREEMPTOR) is None
        world.start()
        status = plugin.pre_enqueue(PREEMPTOR)
        assert status is not None
        assert status.message == "waiting for the preemption for this pod to be finished"
        world.cluster.gate.set()
        await settled()
        assert plugin.pre_enqueue(PREEMPTOR) is None

    played(script)


def test_without_a_cluster_it_is_noted_and_nobody_is_evicted() -> None:
    world = World(victim("a"))
    world.handle.services.client = None
    world.handle.evict(world.victims, by=PREEMPTOR, message="make room")
    assert not world.handle.is_evicting_for(PREEMPTOR)
    assert world.handle.services.evicted == [Evicted(world.victims[0], PREEMPTOR, "make room")]


def test_a_plugin_says_why_and_may_evict_from_several_nodes() -> None:
    here, there = victim("a"), make_pod("b", node="m", priority=1)
    world = World(here, there)
    for node in ("n", "m"):
        world.handle.nominator.add(nominated(f"lesser-{node}", 50, node), node)

    async def script() -> None:
        world.handle.services.writes.open()
        world.handle.evict(world.victims, by=PREEMPTOR, message="the batch window is over")
        await settled()

    played(script)
    assert {each.message for each in world.cluster.conditions} == {"the batch window is over"}
    assert [event.note.rpartition(" ")[2] for event in world.handle.events] == ["n", "m"]
    cleared = [name for name, what, *_ in world.cluster.asked if what == "nominated ''"]
    assert cleared == ["lesser-n", "lesser-m"]


@pytest.mark.parametrize(
    "wrong", [make_pod("pending"), PREEMPTOR, make_pod("important", priority=100, node="n")]
)
def test_a_pod_that_takes_no_room_is_not_evicted(wrong: Pod) -> None:
    world = World(victim("a"))
    with pytest.raises(ValueError, match=f"pod {wrong.key} takes no room on a node"):
        world.handle.evict([world.victims[0], wrong], by=PREEMPTOR)
    assert not world.handle.is_evicting_for(PREEMPTOR)
