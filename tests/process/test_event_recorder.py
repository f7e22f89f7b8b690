"""Events on an API server in memory, in fake time."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from moorage.api.meta import Object, ObjectMeta
from moorage.api.nodes import Node
from moorage.process import event_recorder
from moorage.process.event_recorder import EventBroadcaster
from moorage.process.event_series import EventNames
from tests import fake_time
from tests.process.event_world import MINUTE, START, Refusal, Server, World, in_world, pod


def test_an_event_as_kube_scheduler_writes_it() -> None:
    async def script(world: World) -> None:
        await world.settle(0.25)
        node = Node(metadata=ObjectMeta(name="n1", uid="uid-n1"))
        world.recorder.event(
            pod(), node, "Normal", "Scheduled", "Binding", "Successfully assigned shop/p to n1"
        )
        await world.settle()
        name = f"p.{int((START + 0.25) * 1e9):x}"
        assert world.only == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "shop"},
            "eventTime": "2023-11-14T22:13:20.250000Z",
            "type": "Normal",
            "reason": "Scheduled",
            "action": "Binding",
            "note": "Successfully assigned shop/p to n1",
            "regarding": {
                "kind": "Pod",
                "apiVersion": "v1",
                "namespace": "shop",
                "name": "p",
                "uid": "uid-p",
                "resourceVersion": "5",
            },
            "related": {"kind": "Node", "apiVersion": "v1", "name": "n1", "uid": "uid-n1"},
            "reportingController": "my-scheduler",
            "reportingInstance": "my-scheduler-host-1",
        }
        assert world.server.resources == {"events.events.k8s.io"}

    in_world(script)


@pytest.mark.parametrize("code", [403, 404])
def test_core_events_where_the_group_is_not_offered(code: int) -> None:
    async def script(world: World) -> None:
        world.server.discovery.append(Refusal(code))
        world.fail_scheduling()
        await world.settle()
        event = world.only
        assert (event["apiVersion"], event["message"]) == ("v1", "no node")
        assert (event["reportingComponent"], event["involvedObject"]["name"]) == ("my-scheduler", "p")
        assert not {"note", "regarding", "reportingController"} & set(event)
        assert world.server.resources == {"events"}

    in_world(script)


def test_an_unreachable_server_is_asked_again_what_it_offers() -> None:
    async def script(world: World) -> None:
        world.server.discovery += [ConnectionRefusedError(), Refusal(503)]
        world.fail_scheduling()
        await world.settle(15)
        assert world.server.verbs == []
        await world.settle(10)
        assert world.only["apiVersion"] == "events.k8s.io/v1"

    in_world(script)


def test_a_series_is_created_patched_once_then_only_counted() -> None:
    async def script(world: World) -> None:
        for note in ("first", "second", "third", "fourth"):
            world.fail_scheduling(note=note)
            await world.settle()
        assert world.server.verbs == ["create", "patch"]
        assert world.only["note"] == "first"
        assert world.only["series"] == {"count": 2, "lastObservedTime": "2023-11-14T22:13:21.000000Z"}

    in_world(script)


def test_a_series_ends_after_six_minutes_without_another() -> None:
    async def script(world: World) -> None:
        for _ in range(3):
            world.fail_scheduling()
            await world.settle()
        await world.settle(7 * MINUTE)  # checked at minute 6, when the last was 5:58 old
        assert world.server.verbs == ["create", "patch"]
        await world.settle(6 * MINUTE)
        assert [round(when) for when, _ in world.server.writes] == [0, 1, 720]
        assert world.only["series"]["count"] == 3
        world.fail_scheduling()
        await world.settle()
        assert world.server.verbs[-1] == "create"
        assert len(world.server.events) == 2

    in_world(script)


def test_a_single_event_is_forgotten_without_a_write() -> None:
    async def script(world: World) -> None:
        world.fail_scheduling()
        await world.settle(13 * MINUTE)
        assert world.server.verbs == ["create"]
        assert not world.broadcaster._series

    in_world(script)


def test_a_series_that_goes_on_is_refreshed_every_half_hour() -> None:
    async def script(world: World) -> None:
        for _ in range(13):
            world.fail_scheduling()
            await world.settle(5 * MINUTE)
        assert [round(when / MINUTE) for when, _ in world.server.writes] == [0, 5, 30, 60]
        assert world.only["series"]["count"] in (12, 13)

    in_world(script)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda world: world.fail_scheduling(pod(version="6")), id="changed pod"),
        pytest.param(lambda world: world.fail_scheduling(pod("q")), id="another pod"),
        pytest.param(
            lambda world: world.recorder.event(pod(), None, "Normal", "FailedScheduling", "Scheduling", "x"),
            id="another type",
        ),
        pytest.param(
            lambda world: world.broadcaster.recorder("other").event(
                pod(), None, "Warning", "FailedScheduling", "Scheduling", "x"
            ),
            id="another profile",
        ),
        pytest.param(
            lambda world: world.recorder.event(
                pod(), pod("q"), "Warning", "FailedScheduling", "Scheduling", "x"
            ),
            id="another related object",
        ),
    ],
)
def test_what_begins_another_series(other: Any) -> None:
    async def script(world: World) -> None:
        world.fail_scheduling()
        other(world)
        await world.settle()
        assert world.server.verbs == ["create", "create"]
        assert len(world.server.events) == 2

    in_world(script)


def test_a_second_event_waits_for_the_first_to_be_created() -> None:
    async def script(world: World) -> None:
        blocked = world.server.blocked = asyncio.Event()
        world.fail_scheduling()
        await world.settle()
        world.fail_scheduling()
        await world.settle()
        assert world.server.verbs == ["create"]
        blocked.set()
        await world.settle()
        assert world.server.verbs == ["create", "patch"]
        assert world.only["series"]["count"] == 2

    in_world(script)


def test_an_event_that_is_gone_is_created_again() -> None:
    async def script(world: World) -> None:
        world.fail_scheduling()
        await world.settle()
        world.server.events.clear()
        world.fail_scheduling()
        await world.settle()
        assert world.server.verbs == ["create", "patch", "create"]
        assert world.only["series"]["count"] == 2

    in_world(script)


@pytest.mark.parametrize("problem", [ConnectionResetError(), Refusal(0), Refusal(429), Refusal(503)])
def test_what_may_pass_is_tried_again_later(problem: Exception) -> None:
    async def script(world: World) -> None:
        world.server.answers += [problem, problem]
        world.fail_scheduling()
        await world.settle(30)
        assert [when for when, _ in world.server.writes] == [0.0, 12.5, 25.0]
        assert world.only["reason"] == "FailedScheduling"

    in_world(script)


def test_after_twelve_tries_an_event_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def script(world: World) -> None:
        world.server.always = ConnectionResetError("gone")
        world.fail_scheduling()
        await world.settle(5 * MINUTE)
        assert len(world.server.writes) == 12
        assert world.dropped == {event_recorder.UNREACHABLE: 1}

    in_world(script)
    assert "12 tries failed, the last with ConnectionResetError('gone')" in caplog.text


@pytest.mark.parametrize("code", [400, 403, 404, 422])
def test_a_rejected_event_is_not_tried_again(code: int, caplog: pytest.LogCaptureFixture) -> None:
    async def script(world: World) -> None:
        world.server.answers.append(Refusal(code))
        world.fail_scheduling()
        await world.settle(MINUTE)
        assert world.server.verbs == ["create"]
        assert world.dropped == {event_recorder.REJECTED: 1}

    in_world(script)
    assert f"refused with {code}" in caplog.text


def test_a_create_whose_answer_was_lost_counts_as_done() -> None:
    async def script(world: World) -> None:
        world.server.answers.append(ConnectionResetError())
        world.fail_scheduling()
        await world.settle()
        stamp = world.broadcaster._names._last_stamp
        world.server.events[f"p.{stamp:x}"] = {"metadata": {"namespace": "shop"}}  # it had arrived
        world.fail_scheduling()
        await world.settle(MINUTE)
        assert world.server.verbs == ["create", "create", "patch"]
        assert world.only["series"]["count"] == 2

    in_world(script)


def test_stop_delivers_what_is_queued() -> None:
    async def main() -> None:
        world = World()
        for number in range(100):
            world.fail_scheduling(pod(f"p{number}"))
        await world.broadcaster.stop(5)
        assert len(world.server.events) == 100
        assert world.running.done()
        await world.running

    fake_time.run(main())


def test_stop_does_not_wait_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        world = World()
        world.server.always = ConnectionResetError()
        world.fail_scheduling()
        await world.broadcaster.stop(5)
        assert fake_time.now() == 5
        assert world.running.cancelled()
        await world.broadcaster.stop(5)
        assert world.dropped == {event_recorder.SHUTDOWN: 1}

    fake_time.run(main())
    assert caplog.text.count("1 events were not delivered") == 1


def test_stop_tells_how_many_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        world = World()
        blocked = world.server.blocked = asyncio.Event()
        for number in range(40):
            world.schedule(f"p{number}")
        asyncio.get_running_loop().call_later(4, blocked.set)
        asyncio.get_running_loop().call_later(4, setattr, world.server, "blocked", asyncio.Event())
        await world.broadcaster.stop(5)
        delivered = len(world.server.events)
        assert delivered == event_recorder.REQUESTS_AT_ONCE
        assert world.dropped == {event_recorder.SHUTDOWN: 40 - delivered}

    fake_time.run(main())
    assert f"{40 - event_recorder.REQUESTS_AT_ONCE} events were not delivered" in caplog.text


def test_stop_before_it_ran() -> None:
    asyncio.run(EventBroadcaster(Server(), hostname="h").stop(1))


def test_events_of_before_the_run_are_kept() -> None:
    async def main() -> None:
        server = Server()
        broadcaster = EventBroadcaster(server, clock=lambda: START, hostname="h")
        broadcaster.recorder("s").event(pod(), None, "Normal", "R", "A", "note")
        running = asyncio.create_task(broadcaster.run())
        await asyncio.sleep(1)
        assert len(server.events) == 1
        await broadcaster.stop(1)
        await running

    fake_time.run(main())


def test_a_long_note_and_a_long_instance_are_cut() -> None:
    async def script(world: World) -> None:
        recorder = world.broadcaster.recorder("s" * 140)
        assert world.broadcaster.recorder("s" * 140) is recorder
        recorder.event(pod(), None, "Warning", "R", "A", "x" * 2000)
        await world.settle()
        assert len(world.only["note"]) == 1024
        assert len(world.only["reportingInstance"]) == 128

    in_world(script)


def test_an_object_without_a_namespace_or_a_struct() -> None:
    async def script(world: World) -> None:
        thing = Object(metadata=ObjectMeta(name="t"))
        thing.__dict__["_source"] = b'{"apiVersion":"example.com/v1","kind":"Thing"}'
        world.fail_scheduling(thing)
        await world.settle()
        assert world.only["metadata"]["namespace"] == "default"
        assert world.only["regarding"] == {"kind": "Thing", "apiVersion": "example.com/v1", "name": "t"}

    in_world(script)


def test_names() -> None:
    names = EventNames()
    assert [names.new("p", 1.0) for _ in range(2)] == ["p.3b9aca00", "p.3b9aca01"]
    assert names.new("a.b-c", 2.0) == "a.b-c.77359400"
    for bad in ("Upper", "-p", "x" * 250, "a..b", ""):
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", names.new(bad, 3.0))
