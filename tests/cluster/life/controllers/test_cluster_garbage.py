from __future__ import annotations

import asyncio
from typing import Any

from tests.cluster.life.controllers.worlds import World, in_world


def thing(
    world: World, name: str, *owners: str, resource: str = "configmaps", block: bool = False, **more: Any
) -> str:
    references = [
        {"apiVersion": "v1", "kind": "X", "name": uid, "uid": uid, "blockOwnerDeletion": block}
        for uid in owners
    ]
    metadata: dict[str, Any] = {"name": name, "namespace": "default", **more}
    if references:
        metadata["ownerReferences"] = references
    stored = world.writer.create(resource, {"metadata": metadata})
    uid: str = stored.document["metadata"]["uid"]
    return uid


def test_what_nobody_owns_any_more_goes() -> None:
    async def test(world: World) -> None:
        owner = thing(world, "owner")
        child = thing(world, "child", owner)
        thing(world, "grandchild", child, resource="things.example.com")
        thing(world, "other")
        await asyncio.sleep(2)
        world.writer.end("configmaps", "default", "owner")
        await asyncio.sleep(2)
        assert world.writer.names("configmaps") == ["other"]
        assert world.writer.names("things.example.com") == []

    in_world(test)


def test_an_owner_that_never_was_is_missing_too() -> None:
    async def test(world: World) -> None:
        thing(world, "child", "nobody")
        await asyncio.sleep(2)
        assert world.writer.names("configmaps") == []

    in_world(test)


def test_one_owner_is_enough() -> None:
    async def test(world: World) -> None:
        first, second = thing(world, "first"), thing(world, "second")
        thing(world, "child", first, second)
        world.writer.end("configmaps", "default", "first")
        await asyncio.sleep(2)
        owners = world.writer.document("configmaps", "default", "child")["metadata"]["ownerReferences"]
        assert [each["uid"] for each in owners] == [second]

    in_world(test)


def test_an_owner_in_another_namespace_is_none() -> None:
    async def test(world: World) -> None:
        owner = thing(world, "owner", namespace="other")
        thing(world, "child", owner)
        await asyncio.sleep(2)
        assert world.store.get("configmaps", "default", "child") is None

    in_world(test)


def test_foreground_waits_for_those_that_block() -> None:
    async def test(world: World) -> None:
        owner = thing(world, "owner")
        thing(world, "held", owner, block=True, finalizers=["example.com/wait"])
        thing(world, "free", owner, block=True)
        world.writer.end("configmaps", "default", "owner", "Foreground")
        await asyncio.sleep(2)
        assert world.writer.names("configmaps", "default") == ["held", "owner"]
        world.writer.edit("configmaps", "default", "held", lambda each: each["metadata"].pop("finalizers"))
        await asyncio.sleep(2)
        assert world.writer.names("configmaps", "default") == []

    in_world(test)


def test_orphans_stay() -> None:
    async def test(world: World) -> None:
        owner = thing(world, "owner")
        thing(world, "child", owner)
        world.writer.end("configmaps", "default", "owner", "Orphan")
        await asyncio.sleep(2)
        assert world.writer.names("configmaps", "default") == ["child"]
        assert "ownerReferences" not in world.writer.document("configmaps", "default", "child")["metadata"]

    in_world(test)


def test_a_deployment_takes_everything_with_it() -> None:
    for propagation in ("Background", "Foreground"):

        async def test(world: World, propagation: str = propagation) -> None:
            world.deployment(replicas=3)
            await asyncio.sleep(3)
            world.writer.end("deployments.apps", "default", "web", propagation)
            await asyncio.sleep(5)
            for resource in ("deployments.apps", "replicasets.apps", "pods"):
                assert world.writer.names(resource) == []

        in_world(test)


def test_an_orphaned_replica_set_is_adopted_by_the_next_deployment() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=3)
        await asyncio.sleep(3)
        pods = world.writer.names("pods")
        world.writer.end("deployments.apps", "default", "web", "Orphan")
        await asyncio.sleep(2)
        assert len(world.writer.names("replicasets.apps")) == 1
        world.deployment(replicas=3)
        await asyncio.sleep(3)
        assert world.writer.names("pods") == pods
        assert world.status()["availableReplicas"] == 3

    in_world(test)
