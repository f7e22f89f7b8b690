"""What is told about a failed attempt, and to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from moorage.api.pods import Condition, Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import shortened
from moorage.framework.door import Door
from moorage.framework.status import Nomination, Status
from moorage.scheduler.status_writes import MOST_AT_ONCE
from moorage.testing import make_node, make_pod
from tests import fake_time
from tests.framework.scripted import Filters, PostFilters, PreFilters, plugin
from tests.scheduler.worlds import Client, World

NO = Status.unschedulable("no")
NOW = "2023-11-14T22:13:20Z"
MESSAGE = "0/1 nodes are available: 1 no."


def rejecting(answer: Any = NO, **attributes: Any) -> type[Filters]:
    return plugin(Filters, "A", answer, events=lambda self: [], **attributes)


def known(status: str = "False", reason: str = "Unschedulable", message: str = MESSAGE) -> dict[str, Any]:
    """A pod's status with a condition from before."""
    condition = {
        "type": "PodScheduled",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    return {"conditions": [condition]}


# The event


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", ""),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 512, "é" * 512),
        ("é" * 513, "é" * 510 + " ..."),
        ("x" + "é" * 512, "x" + "é" * 509 + " ..."),
    ],
)
def test_a_note_holds_1024_bytes(text: str, note: str) -> None:
    assert shortened(text) == note
    assert len(shortened(text).encode()) <= 1024


def test_the_note_is_cut_and_the_condition_is_not() -> None:
    reason = "x" * 2000
    world = World(rejecting(Status.unschedulable(reason)))
    world.add()
    world.schedule()
    message = f"0/1 nodes are available: 1 {reason}."
    assert world.notes == [("FailedScheduling", message[:1020] + " ...")]
    assert world.condition() == ("False", "Unschedulable", message)


def test_the_event_of_a_failed_attempt() -> None:
    world = World(rejecting())
    pod = world.add()
    world.schedule()
    assert world.recorder.events == [
        (pod, None, "Warning", "FailedScheduling", "Scheduling", MESSAGE),
    ]


# The condition


@pytest.mark.parametrize(
    ("plugins", "nodes", "reason", "message"),
    [
        ([rejecting()], 1, "Unschedulable", MESSAGE),
        ([plugin(PreFilters, "A", NO)], 1, "Unschedulable", "0/1 nodes are available: no."),
        ([rejecting(ValueError("x"))], 1, "SchedulerError", 'running "A" filter plugin: ValueError: x'),
        ([], 0, "Unschedulable", "no nodes available to schedule pods"),
    ],
)
def test_the_condition_of_a_failed_attempt(
    plugins: list[type[Any]], nodes: int, reason: str, message: str
) -> None:
    world = World(*plugins, nodes=nodes)
    world.add(metadata={"generation": 7})
    world.schedule()
    assert world.client.written == [
        (
            "pod",
            Condition(
                type="PodScheduled",
                status="False",
                reason=reason,
                message=message,
                last_transition_time=NOW,
                observed_generation=7,
            ),
            None,
        )
    ]


@pytest.mark.parametrize(
    ("before", "written", "since"),
    [
        (known(), False, ""),
        (known(message="other"), True, "2020-01-01T00:00:00Z"),
        (known(reason="SchedulerError"), True, "2020-01-01T00:00:00Z"),
        (known(status="True"), True, NOW),
        ({}, True, NOW),
        ({**known(), "nominatedNodeName": "n0"}, True, "2020-01-01T00:00:00Z"),
    ],
)
def test_the_condition_is_written_if_it_or_the_nomination_changes(
    before: dict[str, Any], written: bool, since: str
) -> None:
    world = World(rejecting())
    world.add(status=before)
    world.schedule()
    assert len(world.client.written) == int(written)
    if written:
        condition = world.client.written[0][1]
        assert condition is not None
        assert condition.last_transition_time == since


def test_a_condition_that_cannot_be_written_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = World(rejecting())
    world.client.refuses = OSError("down")
    world.add()
    world.schedule()
    assert world.place() == "unschedulable"
    assert "Error updating pod" in caplog.messages


@pytest.mark.parametrize("fails", [False, True])
def test_a_write_may_take_its_time(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    written: list[str] = []

    class Slow:
        http = None

        def bind(self, pod: Pod, node_name: str) -> None: ...

        def delete_pod(self, pod: Pod) -> None: ...

        def write_pod_status(self, pod: Pod, **fields: Any) -> Awaitable[None]:
            async def write() -> None:
                await asyncio.sleep(10)
                if fails:
                    raise OSError("down")
                written.append(pod.name)

            return write()

    async def wait() -> None:
        await asyncio.sleep(20)

    world = World(rejecting())
    world.services.client = Slow()
    world.add()
    world.schedule(wait())
    assert written == ([] if fails else ["pod"])
    assert ("Error updating pod" in caplog.messages) is fails


def test_without_a_client_nothing_is_written() -> None:
    world = World(rejecting())
    world.services.client = None
    world.add()
    world.schedule()
    assert world.place() == "unschedulable"
    assert world.notes == [("FailedScheduling", MESSAGE)]


# The nomination


@pytest.mark.parametrize(
    ("plugins", "before", "in_memory", "written"),
    [
        # PostFilter nominated a node, changed nothing, cleared or failed
        ([plugin(PostFilters, "Z", Nomination("n0"))], "", "n0", ["n0"]),
        ([plugin(PostFilters, "Z", Nomination("n0"))], "n0", "n0", []),
        ([plugin(PostFilters, "Z", Nomination("n0"))], "old", "n0", ["n0"]),
        ([plugin(PostFilters, "Z", Nomination("", NO))], "old", "", [""]),
        ([plugin(PostFilters, "Z", Nomination("", NO))], "", "", []),
        ([plugin(PostFilters, "Z", NO)], "old", "old", []),
        ([plugin(PostFilters, "Z", ValueError("x"))], "old", "old", []),
        # No PostFilter plugin, an error
        ([], "old", "", [""]),
        ([plugin(PreFilters, "P", ValueError("x"))], "old", "", [""]),
    ],
)
def test_what_becomes_of_the_nomination(
    plugins: list[type[Any]], before: str, in_memory: str, written: list[str]
) -> None:
    world = World(rejecting(), *plugins)
    pod = world.add(status={"nominatedNodeName": before})
    world.schedule()
    assert world.services.nominations.node_of(pod.uid) == in_memory
    assert world.client.nominations == written


def test_without_nodes_the_nomination_is_cleared() -> None:
    world = World(nodes=0)
    pod = world.add(status={"nominatedNodeName": "gone"})
    world.schedule()
    assert world.services.nominations.node_of(pod.uid) == ""
    assert world.client.nominations == [""]


def test_a_nomination_of_memory_alone_gives_way_to_that_of_the_status() -> None:
    world = World(rejecting(), plugin(PostFilters, "Z", NO), nodes=[make_node("n0"), make_node("n1")])
    world.client.refuses = OSError("no status is written, so that no update brings the nomination back")
    pod = world.add(status={"nominatedNodeName": "n1"})
    world.services.nominations.add(pod, "n0")
    world.schedule()
    assert world.services.nominations.node_of(pod.uid) == "n1"


# The pod changed meanwhile


def meanwhile(act: Any) -> World:
    """A world in which `act` is done while the pod is being tried, which then fails."""

    def answer(cycle: CycleState, pod: Pod, node: Any) -> Status:
        act(world)
        return NO

    world = World(rejecting(answer))
    world.add()
    world.schedule()
    return world


def replace(world: World, **fields: Any) -> None:
    new = make_pod(**fields)
    world.client.pods[new.key] = new
    world.door.put(new)


def test_a_pod_that_is_gone_is_not_tried_again() -> None:
    world = meanwhile(lambda world: world.delete())
    assert world.place() == "nowhere"
    assert world.notes == [("FailedScheduling", MESSAGE)]
    assert len(world.queue._in_flight) == 0


def test_a_pod_that_got_a_node_is_not_tried_again() -> None:
    world = meanwhile(lambda world: replace(world, node="n0"))
    assert world.place() == "nowhere"
    assert world.notes == [("FailedScheduling", MESSAGE)]
    assert len(world.queue._in_flight) == 0


def test_of_another_pod_of_the_same_name_nothing_is_said() -> None:
    world = meanwhile(lambda world: replace(world, uid="another"))
    assert world.notes == []
    assert world.client.written == []
    queued = world.queue.get(make_pod())
    assert queued is not None
    assert (queued.pod.uid, queued.attempts) == ("another", 0)
    assert len(world.queue._in_flight) == 0


def test_the_newest_version_of_a_pod_is_tried_next() -> None:
    world = meanwhile(lambda world: replace(world, labels={"new": "yes"}))
    queued = world.queue.get(make_pod())
    assert queued is not None
    assert queued.pod.labels == {"new": "yes"}
    assert world.recorder.events[0].regarding is not None
    assert world.place() == "unschedulable"


# What the record keeps


def test_an_attempt_leaves_only_its_own_plugins_on_the_record() -> None:
    answers: list[Any] = [Status.pending("no"), ValueError("x")]
    world = World(rejecting(lambda cycle, pod, node: answers[0]))
    world.add()
    world.schedule()
    assert world.plugins_of() == ({"A"}, {"A"})
    queued = world.queue.get(make_pod())
    assert queued is not None
    assert (queued.unschedulable_count, queued.consecutive_errors) == (1, 0)
    answers[0] = Status.error("x")
    world.queue.activate([make_pod()])
    world.schedule()
    assert world.plugins_of() == (set(), set())
    assert (queued.unschedulable_count, queued.consecutive_errors, queued.attempts) == (1, 1, 2)


def test_without_nodes_a_pod_is_queued_like_after_an_error() -> None:
    world = World(nodes=0)
    world.add()
    world.schedule()
    queued = world.queue.get(make_pod())
    assert queued is not None
    assert (world.place(), queued.consecutive_errors) == ("backoff", 1)


# In which order


class SlowClient(Client):
    """Writes conditions when it is let to, each in its own time."""

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self.gates: list[asyncio.Event] = []
        self.arrived: list[str] = []

    def bind(self, pod: Pod, node_name: str) -> None:
        self.arrived.append("bound")
        super().bind(pod, node_name)

    async def write_pod_status(  # type: ignore[override]
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        gate = asyncio.Event()
        self.gates.append(gate)
        await gate.wait()
        assert condition is not None
        self.arrived.append(condition.message.rpartition("1 ")[2])


def slow_world(answers: list[Status | None]) -> tuple[World, SlowClient]:
    world = World(plugin(Filters, "A", lambda *asked: answers.pop(0), events=lambda self: []))
    client = SlowClient(world.door)
    world.services.client = client
    client.add(world.add())
    return world, client


async def try_again(world: World) -> None:
    world.queue.activate([make_pod()])
    world.scheduler.try_next()
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_is_written_of_a_pod_arrives_in_the_order_of_the_attempts() -> None:
    world, client = slow_world([Status.unschedulable("first"), Status.unschedulable("second")])

    async def main() -> None:
        await try_again(world)
        await try_again(world)
        assert len(client.gates) == 1, "the second waits for the first"
        for number in range(2):
            client.gates[number].set()
            for _ in range(10):
                await asyncio.sleep(0)

    fake_time.run(main())
    assert client.arrived == ["first.", "second."]


def test_a_bound_pod_is_not_told_of_earlier_failures_any_more() -> None:
    world, client = slow_world([Status.unschedulable("first"), Status.unschedulable("second"), None])

    async def main() -> None:
        for _ in range(3):
            await try_again(world)
        for gate in client.gates:
            gate.set()
        await world.scheduler.drain()

    fake_time.run(main())
    assert client.arrived == ["bound"]


def test_of_what_could_not_be_written_yet_only_the_newest_is() -> None:
    answers = [Status.unschedulable(text) for text in ("first", "second", "third", "third")]
    world, client = slow_world(list(answers))

    async def main() -> None:
        for _ in answers:
            await try_again(world)
        for number in range(2):
            client.gates[number].set()
            for _ in range(10):
                await asyncio.sleep(0)

    fake_time.run(main())
    assert client.arrived == ["first.", "third."]
    assert len(client.gates) == 2


def test_a_few_writes_are_under_way_at_a_time() -> None:
    world = World(rejecting(treats_like_pods_alike=True))
    client = SlowClient(world.door)
    world.services.client = client
    for number in range(100):
        client.add(world.add(f"pod-{number}"))

    async def main() -> None:
        while world.scheduler.try_next():
            pass
        for number in range(100):
            await asyncio.sleep(0)
            assert len(client.gates) - number <= MOST_AT_ONCE
            client.gates[number].set()
            for _ in range(5):
                await asyncio.sleep(0)

    fake_time.run(main())
    assert client.arrived == ["no."] * 100
