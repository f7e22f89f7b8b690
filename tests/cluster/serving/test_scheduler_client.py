"""The short way for what a scheduler in the same process writes: as requests would, only sooner."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.api.coordination import Event
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.resources import Resource
from moorage.cluster.serving.scheduler_client import SchedulerClient
from tests.cluster.api_worlds import PODS, World, pod
from tests.fake_time import run

PODS_OF = Resource.of(Pod)
EVENTS = Resource.of(Event)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", True, Object)
OWN_TO_EACH = ("uid", "resourceVersion", "name", "managedFields", "selfLink")


@pytest.fixture
def world() -> World:
    return World().prepared()


def short(world: World) -> SchedulerClient:
    return world.cluster.scheduler_client("moorage/scheduler")


def long(world: World) -> PodWriter:
    return PodWriter(HttpClient(world.cluster.connection(), user_agent="moorage/scheduler"))


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.500000Z",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned default/a to n",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "a", "uid": "1"},
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-here",
        **fields,
    }


def alike(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in document["metadata"].items() if key not in OWN_TO_EACH}
    return {**document, "metadata": metadata}


async def bound(
    world: World, client: SchedulerClient | PodWriter, name: str, node: str = "n"
) -> dict[str, Any]:
    world.create(PODS, pod(name))
    known = await client.http.get(PODS_OF, name, namespace="default")
    await client.bind(known, node)
    document: dict[str, Any] = world.get(f"{PODS}/{name}")
    return document


def test_binds_as_a_request_does(world: World) -> None:
    labels = {"topology.kubernetes.io/zone": "z", "other": "x"}
    world.create("/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})

    async def scenario() -> None:
        one, other = await bound(world, short(world), "a"), await bound(world, long(world), "b")
        for part in ("metadata", "status"):
            assert alike(one)[part] == alike(other)[part]
        assert one["spec"]["nodeName"] == "n"
        assert one["metadata"]["labels"]["topology.kubernetes.io/zone"] == "z"

    run(scenario())


def test_a_binding_is_refused_as_a_request_is(world: World) -> None:
    async def scenario() -> None:
        for client in (short(world), long(world)):
            name = f"refused-by-{type(client).__name__.lower()}"
            await bound(world, client, name)
            known = await client.http.get(PODS_OF, name, namespace="default")
            with pytest.raises(Conflict, match='is already assigned to node "n"'):
                await client.bind(known, "m")
            world.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
            with pytest.raises(NotFound, match=f'pods "{name}" not found'):
                await client.bind(known, "m")
            world.create(PODS, pod(name))
            with pytest.raises(Conflict, match="UID in precondition"):
                await client.bind(known, "m")

    run(scenario())


def test_events_are_stored_as_those_of_requests(world: World) -> None:
    async def scenario() -> None:
        series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
        for fields in ({}, {"series": series}, {"related": {"kind": "Pod", "name": "b"}}):
            one, other = f"one-{len(world.store.objects('events'))}", "other"
            answers = [
                await short(world).create(EVENTS, event(one, **fields)),
                await long(world).http.create(EVENTS, event(other, **fields)),
            ]
            assert [answer["metadata"]["name"] for answer in answers] == [one, other]
            path = "/api/v1/namespaces/default/events"
            assert alike(world.get(f"{path}/{one}")) == alike(world.get(f"{path}/{other}"))
            world.ask("DELETE", f"{path}/{other}")

    run(scenario())


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"reason": ""}, Invalid),
        ({"reason": 5}, BadRequest),
        ({"kind": "Pod"}, BadRequest),
        ({"metadata": {"name": "x", "namespace": "nowhere"}}, NotFound),
        ({"metadata": {"name": "there", "namespace": "default"}}, AlreadyExists),
    ],
)
def test_a_bad_event_is_refused_as_a_request_is(
    world: World, change: dict[str, Any], refused: type[Exception]
) -> None:
    async def scenario() -> None:
        await short(world).create(EVENTS, event("there"))
        said = []
        for client in (short(world), long(world).http):
            with pytest.raises(refused) as caught:
                await client.create(EVENTS, event("new") | change)
            said.append(str(caught.value))
        assert said[0] == said[1]

    run(scenario())


def test_no_events_in_a_namespace_that_ends(world: World) -> None:
    world.create("/api/v1/namespaces", {"metadata": {"name": "ending"}})
    world.ask("DELETE", "/api/v1/namespaces/ending")

    async def scenario() -> None:
        late = event("late") | {"metadata": {"name": "late", "namespace": "ending"}}
        late["regarding"] = {"kind": "Pod", "namespace": "ending", "name": "a"}
        with pytest.raises(Forbidden, match="being terminated"):
            await short(world).create(EVENTS, late)

    run(scenario())


def test_what_cannot_be_sent_is_not_stored(world: World) -> None:
    async def scenario() -> None:
        before = world.store.revision
        with pytest.raises(UnicodeEncodeError):
            await short(world).create(EVENTS, event("new", note="\ud800"))
        assert world.store.revision == before

    run(scenario())


def test_what_is_stored_is_nobody_elses(world: World) -> None:
    async def scenario() -> None:
        document = event("mine")
        answer = await short(world).create(EVENTS, document)
        document["regarding"]["name"] = answer["metadata"]["labels"] = "changed"
        stored = world.store.get("events", "default", "mine")
        assert stored is not None
        assert "changed" not in str(stored.document)

    run(scenario())


def test_everything_else_is_a_request(world: World) -> None:
    async def scenario() -> None:
        document = {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "b"}}
        created = await short(world).create(CONFIG_MAPS, document)
        assert created["data"] == {"a": "b"}
        assert created["metadata"]["managedFields"][0]["manager"] == "moorage"
        await asyncio.sleep(0)

    run(scenario())
