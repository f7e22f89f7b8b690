from __future__ import annotations

import asyncio

from moorage.cluster.base.errors import Refusal
from tests.cluster.life.controllers.worlds import World, in_world, template

CONTROLLERS = "replicationcontrollers"


def controller(world: World, replicas: int = 2) -> None:
    world.writer.create(
        CONTROLLERS,
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "rc", "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"app": "x"}, "template": template({"app": "x"})},
        },
    )


def test_a_replication_controller_keeps_its_pods() -> None:
    async def test(world: World) -> None:
        metadata = {"name": "own", "namespace": "default", "labels": {"app": "x"}}
        world.writer.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}})
        controller(world)
        await asyncio.sleep(3)
        assert world.writer.document(CONTROLLERS, "default", "rc")["status"] == {
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "observedGeneration": 1,
        }
        [owner] = world.writer.document("pods", "default", "own")["metadata"]["ownerReferences"]
        assert (owner["apiVersion"], owner["kind"], owner["name"]) == ("v1", "ReplicationController", "rc")
        world.writer.edit(CONTROLLERS, "default", "rc", lambda each: each["spec"].update(replicas=3))
        await asyncio.sleep(1)
        assert len(world.writer.names("pods")) == 3
        world.writer.edit("pods", "default", "own", lambda each: each["metadata"].update(labels={}))
        await asyncio.sleep(1)
        assert "ownerReferences" not in world.writer.document("pods", "default", "own")["metadata"]
        assert len(world.writer.names("pods")) == 4
        world.writer.end(CONTROLLERS, "default", "rc", "Orphan")
        await asyncio.sleep(2)
        assert world.writer.names(CONTROLLERS) == []
        assert len(world.writer.names("pods")) == 4

    in_world(test)


def test_a_refusal_is_a_condition() -> None:
    async def test(world: World) -> None:
        full = Refusal(403, "Forbidden", "no room")
        world.writer.refuse = lambda resource, document: full if resource == "pods" else None
        controller(world)
        await asyncio.sleep(1)
        [condition] = world.writer.document(CONTROLLERS, "default", "rc")["status"]["conditions"]
        assert (condition["type"], condition["message"]) == ("ReplicaFailure", "no room")

    in_world(test)
