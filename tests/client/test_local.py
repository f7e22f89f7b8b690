"""A client and an API server in one process."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.errors import AlreadyExists, Gone, NotFound
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from tests.cluster.api_worlds import PODS, World, pod
from tests.fake_time import run

PODS_OF = Resource.of(Pod)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", True, Object)


@pytest.fixture
def world() -> World:
    return World().prepared()


def test_reads_and_writes(world: World) -> None:
    async def scenario() -> None:
        async with HttpClient(world.cluster.connection()) as client:
            for name in ("a", "b", "c"):
                await client.create(PODS_OF, pod(name), namespace="default")
            assert (await client.get(PODS_OF, "a", namespace="default")).name == "a"
            listing = await client.list(PODS_OF, limit=2)
            assert [each.name for each in listing.items] == ["a", "b", "c"]
            patched = await client.patch(
                PODS_OF, "a", {"metadata": {"labels": {"x": "y"}}}, namespace="default"
            )
            assert patched["metadata"]["labels"] == {"x": "y"}
            with pytest.raises(NotFound, match='pods "none" not found'):
                await client.get(PODS_OF, "none", namespace="default")
            with pytest.raises(AlreadyExists):
                await client.create(PODS_OF, pod("a"), namespace="default")
            managers = {each["manager"] for each in world.get(f"{PODS}/a")["metadata"]["managedFields"]}
            assert managers == {"moorage"}

    run(scenario())


def test_watches(world: World) -> None:
    async def scenario() -> None:
        async with HttpClient(world.cluster.connection()) as client:
            version = str(world.store.revision)
            async with aclosing(
                client.watch(PODS_OF, resource_version=version, timeout_seconds=60)
            ) as changes:
                world.create(PODS, pod("a"))
                change = await anext(changes)
                assert change.object is not None
                assert (change.type, change.object.name) == ("ADDED", "a")
            with pytest.raises(Gone):
                world.store.forget()
                async with aclosing(client.watch(PODS_OF, resource_version=version)) as changes:
                    await anext(changes)

    run(scenario())


def test_an_informer_follows(world: World) -> None:
    async def scenario() -> None:
        added: list[str] = []
        async with HttpClient(world.cluster.connection()) as client:
            informer = Informer(
                client,
                CONFIG_MAPS,
                added=lambda each: added.append(each.name),
                updated=lambda old, new: None,
                deleted=lambda each: None,
            )
            running = asyncio.create_task(informer.run())
            await informer.wait_synced()
            before = len(added)
            world.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "later"}})
            await asyncio.sleep(1)
            assert added[before:] == ["later"]
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(scenario())
