from __future__ import annotations

import asyncio
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from tests.cluster.life.controllers.worlds import World, clock, in_world, template


def replica_set(world: World, replicas: int, name: str = "rs", **spec: Any) -> None:
    labels = {"app": "x"}
    world.writer.create(
        "replicasets.apps",
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": template(labels),
                **spec,
            },
        },
    )


def pod(world: World, name: str, **content: Any) -> None:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "x"}}
    world.writer.create(
        "pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, **content}
    )


def scale(replicas: int) -> Any:
    return lambda document: document["spec"].update(replicas=replicas)


def test_the_status_counts_and_events_tell() -> None:
    async def test(world: World) -> None:
        replica_set(world, 3)
        await asyncio.sleep(0.5)
        assert world.writer.document("replicasets.apps", "default", "rs")["status"] == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "observedGeneration": 1,
            "terminatingReplicas": 0,
        }
        names = world.writer.names("pods")
        assert sorted(world.events("SuccessfulCreate")) == [f"Created pod: {name}" for name in names]
        await asyncio.sleep(2)
        status = world.writer.document("replicasets.apps", "default", "rs")["status"]
        assert (status["readyReplicas"], status["availableReplicas"]) == (3, 3)
        world.writer.edit("replicasets.apps", "default", "rs", scale(2))
        await asyncio.sleep(0.5)
        status = world.writer.document("replicasets.apps", "default", "rs")["status"]
        assert (status["replicas"], status["terminatingReplicas"]) == (2, 1)
        await asyncio.sleep(2)
        [gone] = set(names) - set(world.writer.names("pods"))
        assert world.events("SuccessfulDelete") == [f"Deleted pod: {gone}"]

    in_world(test)


def test_a_pod_that_goes_is_replaced() -> None:
    async def test(world: World) -> None:
        replica_set(world, 2)
        await asyncio.sleep(3)
        before = world.writer.names("pods")
        world.writer.end("pods", "default", before[0])
        await asyncio.sleep(3)
        after = world.writer.names("pods")
        assert len(after) == 2
        assert before[1] in after

    in_world(test)


def test_pods_are_available_after_their_time() -> None:
    async def test(world: World) -> None:
        replica_set(world, 1, minReadySeconds=30)
        await asyncio.sleep(20)
        status = world.writer.document("replicasets.apps", "default", "rs")["status"]
        assert status["readyReplicas"] == 1
        assert "availableReplicas" not in status
        await asyncio.sleep(13)
        assert world.writer.document("replicasets.apps", "default", "rs")["status"]["availableReplicas"] == 1

    in_world(test)


def test_fitting_pods_are_adopted_and_others_let_go() -> None:
    async def test(world: World) -> None:
        pod(world, "early")
        replica_set(world, 2)
        await asyncio.sleep(1)
        pod(world, "late")
        await asyncio.sleep(3)
        names = world.writer.names("pods")
        assert len(names) == 2
        assert "early" in names
        [owner] = world.writer.document("pods", "default", "early")["metadata"]["ownerReferences"]
        assert owner["name"] == "rs"
        world.writer.edit(
            "pods", "default", "early", lambda each: each["metadata"].update(labels={"app": "y"})
        )
        await asyncio.sleep(3)
        assert len(world.writer.names("pods")) == 3
        assert "ownerReferences" not in world.writer.document("pods", "default", "early")["metadata"]

    in_world(test)


def test_the_least_useful_pods_go_first() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(clock() - 100)}]
        fresh = [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(clock() - 5)}]
        running = {"phase": "Running", "conditions": ready}
        cheap = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
        pod(world, "unbound")
        pod(world, "pending", spec={"nodeName": "n1"}, status={"phase": "Pending"})
        pod(world, "unready", spec={"nodeName": "n1"}, status={"phase": "Running"})
        pod(world, "crowded", spec={"nodeName": "n1"}, status=running)
        pod(world, "neighbour", spec={"nodeName": "n1"}, status={"phase": "Running", "conditions": fresh})
        pod(world, "good", spec={"nodeName": "n2"}, status=running)
        metadata = {"name": "cheap", "namespace": "default", "labels": {"app": "x"}, "annotations": cheap}
        world.writer.create(
            "pods", {"metadata": metadata, "spec": {"nodeName": "n3"}, "status": dict(running)}
        )
        replica_set(world, 7)
        order = []
        left = set(world.writer.names("pods"))
        for size in range(6, 0, -1):
            world.writer.edit("replicasets.apps", "default", "rs", scale(size))
            await asyncio.sleep(0.1)
            active = {
                each.name
                for each in world.store.objects("pods")
                if "deletionTimestamp" not in each.document["metadata"]
            }
            order += sorted(left - active)
            left = active
        assert order == ["unbound", "pending", "unready", "cheap", "neighbour", "crowded"]

    in_world(test)


def test_a_finished_pod_is_replaced_but_stays() -> None:
    async def test(world: World) -> None:
        replica_set(world, 1)
        await asyncio.sleep(3)
        [only] = world.store.objects("pods")
        world.writer.set_status("pods", only, phase="Failed")
        await asyncio.sleep(3)
        assert len(world.writer.names("pods")) == 2

    in_world(test)


def test_a_thousand_pods() -> None:
    async def test(world: World) -> None:
        replica_set(world, 1000)
        await asyncio.sleep(10)
        status: Document = world.writer.document("replicasets.apps", "default", "rs")["status"]
        assert status["availableReplicas"] == 1000
        assert world.store.count("events") <= 25

    in_world(test)
