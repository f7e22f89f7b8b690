from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base import store as store_module
from moorage.cluster.serving import watches as watching
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, World, config_map, pod
from tests.fake_time import now, run

INITIAL_END = {"k8s.io/initial-events-end": "true"}


@pytest.fixture
def world() -> World:
    return World().prepared()


def test_a_watch_without_a_version_begins_with_what_is_there(world: World) -> None:
    async def scenario() -> None:
        world.create(CONFIG_MAPS, config_map("a"))
        watch = world.watch(CONFIG_MAPS)
        world.create(CONFIG_MAPS, config_map("b"))
        world.done("PUT", f"{CONFIG_MAPS}/a", config_map("a", x="1"))
        world.done("DELETE", f"{CONFIG_MAPS}/b")
        assert await watch.take(4) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        await watch.close()

    run(scenario())


def test_a_watch_goes_on_where_a_list_or_another_watch_ended(world: World) -> None:
    async def scenario() -> None:
        world.create(CONFIG_MAPS, config_map("a"))
        version = world.get(CONFIG_MAPS)["metadata"]["resourceVersion"]
        world.create(CONFIG_MAPS, config_map("b"))
        first = world.watch(CONFIG_MAPS, resourceVersion=version)
        event = await first.next()
        assert event is not None
        await first.close()
        world.create(CONFIG_MAPS, config_map("c"))
        seen = event["object"]["metadata"]["resourceVersion"]
        second = world.watch(CONFIG_MAPS, resourceVersion=seen)
        assert await second.take(1) == [("ADDED", "c")]
        await second.close()

    run(scenario())


def test_a_version_that_is_forgotten_is_answered_with_an_error_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "HISTORY", 2)
    fresh = World().prepared()

    async def scenario() -> None:
        version = fresh.create(CONFIG_MAPS, config_map("a"))["metadata"]["resourceVersion"]
        for name in "bcd":
            fresh.create(CONFIG_MAPS, config_map(name))
        [event] = await fresh.watch(CONFIG_MAPS, resourceVersion=version).rest()
        assert event["type"] == "ERROR"
        status = event["object"]
        assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
        assert status["message"].startswith(f"too old resource version: {version} (")

    run(scenario())


def test_a_version_that_is_not_reached_yet_is_refused(world: World) -> None:
    reply = world.ask("GET", CONFIG_MAPS, watch="1", resourceVersion="99999")
    assert (reply.code, reply.document["reason"]) == (504, "Timeout")
    assert reply.document["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert reply.headers["Retry-After"] == "1"


def test_objects_that_begin_or_cease_to_match_are_added_and_deleted(world: World) -> None:
    async def scenario() -> None:
        watch = world.watch(CONFIG_MAPS, labelSelector="color=red")
        world.create(CONFIG_MAPS, config_map("a", labels={"color": "blue"}))
        for color in ("red", "red", "blue"):
            document = config_map("a", labels={"color": color}, n=str(world.store.revision))
            version = world.done("PUT", f"{CONFIG_MAPS}/a", document)["metadata"]["resourceVersion"]
        world.done("DELETE", f"{CONFIG_MAPS}/a")
        assert await watch.take(2) == [("ADDED", "a"), ("MODIFIED", "a")]
        event = await watch.next()
        assert event is not None
        assert event["type"] == "DELETED"
        metadata = event["object"]["metadata"]
        assert metadata["labels"] == {"color": "red"}, "the object as the client knows it"
        assert metadata["resourceVersion"] == version, "but at the version of the change"
        await watch.close()

    run(scenario())


def test_a_watch_of_one_name_and_of_pods_of_a_node(world: World) -> None:
    async def scenario() -> None:
        one = world.watch(CONFIG_MAPS, fieldSelector="metadata.name=b")
        for name in "abc":
            world.create(CONFIG_MAPS, config_map(name))
        assert world.get(f"{CONFIG_MAPS}/b", watch="true")["kind"] == "ConfigMap", (
            "one object is never watched"
        )
        assert await one.take(1) == [("ADDED", "b")]
        await one.close()
        waiting = world.watch(PODS, fieldSelector="spec.nodeName=")
        world.create(PODS, pod("p"))
        target = {"metadata": {"name": "p"}, "target": {"name": "n"}}
        world.create(f"{PODS}/p/binding", target)
        assert await waiting.take(2) == [("ADDED", "p"), ("DELETED", "p")]
        await waiting.close()

    run(scenario())


def test_initial_events_end_with_a_bookmark(world: World) -> None:
    async def scenario() -> None:
        for name in "ab":
            world.create(CONFIG_MAPS, config_map(name))
        watch = world.watch(
            CONFIG_MAPS,
            sendInitialEvents="true",
            allowWatchBookmarks="true",
            resourceVersionMatch="NotOlderThan",
        )
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        assert await watch.next() == {
            "type": "BOOKMARK",
            "object": {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": str(world.store.revision), "annotations": INITIAL_END},
            },
        }
        world.create(CONFIG_MAPS, config_map("c"))
        assert await watch.take(1) == [("ADDED", "c")]
        await watch.close()

    run(scenario())


@pytest.mark.parametrize(
    ("params", "why"),
    [
        (
            {"sendInitialEvents": "true", "allowWatchBookmarks": "true"},
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            {"resourceVersionMatch": "Exact", "sendInitialEvents": "false"},
            'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
        ),
        (
            {"continue": "x"},
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(world: World, params: dict[str, Any], why: str) -> None:
    reply = world.ask("GET", CONFIG_MAPS, watch="1", **params)
    assert reply.code == 422
    assert why in reply.message


def test_a_watch_ends_after_the_seconds_asked_for_and_bookmarks_come_every_minute(world: World) -> None:
    async def scenario() -> None:
        version = str(world.store.revision)
        watch = world.watch(
            CONFIG_MAPS, resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds="150"
        )
        times = []
        while event := await watch.next():
            assert event["type"] == "BOOKMARK"
            times.append(now())
        assert times == pytest.approx([60, 120, 148]), "the last one tells where to go on"
        assert now() == pytest.approx(150)
        assert await world.watch(CONFIG_MAPS, timeoutSeconds="30").rest() == []
        assert now() == pytest.approx(180)
        assert await world.watch(CONFIG_MAPS).rest() == []
        assert 180 + 1800 <= now() <= 180 + 3600

    run(scenario())


def test_a_watch_ends_in_time_although_there_is_always_news(world: World) -> None:
    async def scenario() -> None:
        watch = world.watch(CONFIG_MAPS, timeoutSeconds="2")
        world.create(CONFIG_MAPS, config_map("a"))
        count = 0
        while await watch.next():
            count += 1
            world.done("PUT", f"{CONFIG_MAPS}/a", config_map("a", x=str(count)))
            await asyncio.sleep(0.5)
        assert now() == pytest.approx(2)

    run(scenario())


def test_a_watch_from_nowhere_has_the_bookmark_after_what_is_there(world: World) -> None:
    async def scenario() -> None:
        world.create(CONFIG_MAPS, config_map("a"))
        for params in ({}, {"resourceVersion": "0"}):
            watch = world.watch(CONFIG_MAPS, allowWatchBookmarks="true", **params)
            assert await watch.take(1) == [("ADDED", "a")]
            event = await watch.next()
            assert event is not None
            assert event["object"]["metadata"]["annotations"] == INITIAL_END
            await watch.close()

    run(scenario())


def test_a_client_that_does_not_read_is_dropped_after_what_it_was_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BEHIND", 10)

    async def scenario() -> None:
        watch = world.watch(CONFIG_MAPS)
        for number in range(50):
            world.create(CONFIG_MAPS, config_map(f"m{number}"))
        events = await watch.rest()
        assert len(events) == 11
        last = events[-1]["object"]["metadata"]["resourceVersion"]
        rest = world.watch(CONFIG_MAPS, resourceVersion=last, timeoutSeconds="1")
        assert len(await rest.take(39)) == 39, "the rest is there for a new watch"

    run(scenario())


def test_a_closed_watch_hears_nothing_and_is_forgotten(world: World) -> None:
    async def scenario() -> None:
        watch = world.watch(CONFIG_MAPS)
        reading = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        world.create(CONFIG_MAPS, config_map("a"))
        assert await watch.next() is None

    run(scenario())


def test_a_watch_whose_client_goes_before_the_first_piece_is_forgotten_too(world: World) -> None:
    async def scenario() -> None:
        watch = world.watch(CONFIG_MAPS)
        await watch.close()
        world.create(CONFIG_MAPS, config_map("a"))
        assert await watch.next() is None

    run(scenario())


def test_the_end_of_the_cluster_ends_watches(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(folder=tmp_path)
        await world.cluster.start_unheard()
        watch = world.watch("/api/v1/nodes")
        reading = asyncio.ensure_future(watch.rest())
        await asyncio.sleep(0)
        await world.cluster.stop()
        assert await reading == []

    run(scenario())


def test_tables_name_their_columns_once(world: World) -> None:
    async def scenario() -> None:
        watch = world.watch(PODS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        for name in "ab":
            world.create(PODS, pod(name))
        first, second = await watch.next(), await watch.next()
        assert first is not None
        assert second is not None
        assert first["object"]["kind"] == "Table"
        assert [column["name"] for column in first["object"]["columnDefinitions"]][:2] == ["Name", "Ready"]
        assert not second["object"]["columnDefinitions"]
        assert second["object"]["rows"][0]["cells"][0] == "b"
        await watch.close()

    run(scenario())
