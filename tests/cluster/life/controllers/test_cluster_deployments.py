from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from tests.cluster.life.controllers.worlds import World, in_world


def image(name: str) -> Any:
    def change(document: Document) -> None:
        document["spec"]["template"]["spec"]["containers"][0]["image"] = name

    return change


def scale(replicas: int) -> Any:
    return lambda document: document["spec"].update(replicas=replicas)


def reason(status: Document, type: str) -> tuple[str, str, str]:
    found = next(each for each in status["conditions"] if each["type"] == type)
    return found["status"], found["reason"], found["message"]


def test_a_deployment_becomes_a_replica_set_and_pods() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=20)
        await asyncio.sleep(0.5)
        [replica_set] = world.store.objects("replicasets.apps")
        document = replica_set.document
        code = document["metadata"]["labels"]["pod-template-hash"]
        assert replica_set.name == f"web-{code}"
        assert set(code) <= set("bcdfghjklmnpqrstvwxz2456789")
        assert document["metadata"]["annotations"] == {
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "20",
            "deployment.kubernetes.io/max-replicas": "25",
        }
        assert document["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": code}}
        pods = world.store.objects("pods")
        assert len(pods) == 20
        metadata = pods[0].document["metadata"]
        assert metadata["generateName"] == f"{replica_set.name}-"
        assert metadata["labels"] == {"app": "web", "pod-template-hash": code}
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": replica_set.name,
                "uid": document["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert world.events("ScalingReplicaSet") == [f"Scaled up replica set {replica_set.name} from 0 to 20"]
        status = world.status()
        assert reason(status, "Progressing")[1] == "ReplicaSetUpdated"
        assert reason(status, "Available") == (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
        await asyncio.sleep(2)
        status = world.status()
        counts = {name: value for name, value in status.items() if name != "conditions"}
        assert counts == {
            "observedGeneration": 1,
            "replicas": 20,
            "updatedReplicas": 20,
            "readyReplicas": 20,
            "availableReplicas": 20,
            "terminatingReplicas": 0,
        }
        assert reason(status, "Progressing") == (
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{replica_set.name}" has successfully progressed.',
        )
        assert reason(status, "Available") == (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
        annotations = world.writer.document("deployments.apps", "default", "web")["metadata"]["annotations"]
        assert annotations == {"deployment.kubernetes.io/revision": "1"}

    in_world(test)


def test_scaling_up_and_down() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=2)
        await asyncio.sleep(3)
        world.writer.edit("deployments.apps", "default", "web", scale(5))
        await asyncio.sleep(3)
        assert world.status()["availableReplicas"] == 5
        world.writer.edit("deployments.apps", "default", "web", scale(1))
        await asyncio.sleep(3)
        assert len(world.store.objects("pods")) == 1
        assert world.status()["replicas"] == 1
        world.writer.edit("deployments.apps", "default", "web", scale(0))
        await asyncio.sleep(3)
        assert world.status() == {
            "observedGeneration": 4,
            "terminatingReplicas": 0,
            "conditions": world.status()["conditions"],
        }
        [name] = world.writer.names("replicasets.apps")
        assert world.events("ScalingReplicaSet") == [
            f"Scaled up replica set {name} from 0 to 2",
            f"Scaled up replica set {name} from 2 to 5",
            f"Scaled down replica set {name} from 5 to 1",
            f"Scaled down replica set {name} from 1 to 0",
        ]

    in_world(test)


def test_a_rolling_update_keeps_enough_pods_available_and_not_too_many() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=10)
        await asyncio.sleep(3)
        running: list[int] = []
        wanted: list[int] = []

        def count(change: object) -> None:
            pods = [pod.document for pod in world.store.iterate("pods")]
            alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            running.append(sum(pod["status"]["phase"] == "Running" for pod in alive))

        silencers = [
            world.store.listen("pods", count),
            world.store.listen("replicasets.apps", lambda change: wanted.append(sum(world.sizes()))),
        ]
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        await asyncio.sleep(0.1)
        assert world.sizes() == [8, 5]  # three surge pods, two of the old ones may be missing
        await asyncio.sleep(20)
        for silence in silencers:
            silence()
        assert world.sizes() == [0, 10]
        assert min(running) >= 8
        assert max(wanted) == 13
        assert reason(world.status(), "Progressing")[1] == "NewReplicaSetAvailable"
        images = {pod.document["spec"]["containers"][0]["image"] for pod in world.store.objects("pods")}
        assert images == {"nginx:2"}

    in_world(test)


def test_going_back_makes_the_old_replica_set_the_newest_revision() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=2)
        await asyncio.sleep(3)
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        await asyncio.sleep(10)
        world.writer.edit("deployments.apps", "default", "web", image("nginx"))
        await asyncio.sleep(10)
        assert world.sizes() == [2, 0]
        annotations = [
            each.document["metadata"]["annotations"] for each in world.store.objects("replicasets.apps")
        ]
        by_revision = {each["deployment.kubernetes.io/revision"]: each for each in annotations}
        assert sorted(by_revision) == ["2", "3"]
        assert by_revision["3"]["deployment.kubernetes.io/revision-history"] == "1"
        deployment = world.writer.document("deployments.apps", "default", "web")
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"

    in_world(test)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("1234567890123456789", "1234567890123456790"),
        ("9223372036854775806", "9223372036854775807"),
        ("9223372036854775807", None),  # the next one would be negative, and is not put down
        ("9223372036854775808", "1"),  # not a number of 64 bits: as if there were none
        ("many", "1"),
        ("-7", "1"),
    ],
)
def test_revisions_count_on_from_any_number_of_64_bits(stored: str, expected: str | None) -> None:
    def renumber(document: Document) -> None:
        document["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = stored

    async def test(world: World) -> None:
        world.deployment(replicas=1)
        await asyncio.sleep(3)
        [first] = world.store.objects("replicasets.apps")
        world.writer.edit("replicasets.apps", "default", first.name, renumber)
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        await asyncio.sleep(10)
        [second] = (each for each in world.store.objects("replicasets.apps") if each.name != first.name)
        assert second.annotations.get("deployment.kubernetes.io/revision") == expected

    in_world(test)


def test_only_so_many_old_revisions_are_kept() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=1, revisionHistoryLimit=2)
        for number in range(5):
            world.writer.edit("deployments.apps", "default", "web", image(f"nginx:{number}"))
            await asyncio.sleep(10)
        assert len(world.store.objects("replicasets.apps")) == 3

    in_world(test)


def test_recreate_waits_until_the_old_pods_are_gone() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=3, strategy={"type": "Recreate"})
        await asyncio.sleep(3)
        seen: list[set[str]] = []

        def look(change: object) -> None:
            seen.append(
                {pod.document["spec"]["containers"][0]["image"] for pod in world.store.iterate("pods")}
            )

        silence = world.store.listen("pods", look)
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        await asyncio.sleep(10)
        silence()
        assert world.sizes() == [0, 3]
        assert world.status()["availableReplicas"] == 3
        assert {"nginx", "nginx:2"} not in seen

    in_world(test)


def test_a_paused_deployment_is_scaled_but_not_rolled() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=2)
        await asyncio.sleep(3)

        def pause(document: Document) -> None:
            document["spec"]["paused"] = True

        def resume(document: Document) -> None:
            del document["spec"]["paused"]

        world.writer.edit("deployments.apps", "default", "web", pause)
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        world.writer.edit("deployments.apps", "default", "web", scale(4))
        await asyncio.sleep(5)
        assert world.sizes() == [4]
        assert reason(world.status(), "Progressing") == (
            "Unknown",
            "DeploymentPaused",
            "Deployment is paused",
        )
        world.writer.edit("deployments.apps", "default", "web", resume)
        await asyncio.sleep(10)
        assert world.sizes() == [0, 4]
        assert reason(world.status(), "Progressing")[1] == "NewReplicaSetAvailable"

    in_world(test)


def test_a_rollout_that_stands_still_says_so() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        world.deployment(replicas=1, progressDeadlineSeconds=60)
        await asyncio.sleep(50)
        assert reason(world.status(), "Progressing")[0] == "True"
        await asyncio.sleep(20)
        [name] = world.writer.names("replicasets.apps")
        assert reason(world.status(), "Progressing") == (
            "False",
            "ProgressDeadlineExceeded",
            f'ReplicaSet "{name}" has timed out progressing.',
        )

    in_world(test)


def test_scaling_in_the_middle_of_a_rollout_keeps_the_proportions() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=10)
        await asyncio.sleep(3)
        world.kubelet = False
        world.writer.edit("deployments.apps", "default", "web", image("nginx:2"))
        await asyncio.sleep(1)
        assert world.sizes() == [8, 5]
        world.writer.edit("deployments.apps", "default", "web", scale(20))
        await asyncio.sleep(1)
        assert world.sizes() == [15, 10]

    in_world(test)


def test_pods_that_are_refused_are_told_and_tried_again() -> None:
    async def test(world: World) -> None:
        refusal = Refusal(403, "Forbidden", "pods is forbidden: exceeded quota")
        world.writer.refuse = lambda resource, document: refusal if resource == "pods" else None
        world.deployment(replicas=2)
        await asyncio.sleep(0.5)
        assert reason(world.status(), "ReplicaFailure") == ("True", "FailedCreate", refusal.message)
        assert world.events("FailedCreate") == [f"Error creating: {refusal.message}"]
        world.writer.refuse = lambda resource, document: None
        await asyncio.sleep(30)
        assert world.status()["availableReplicas"] == 2
        assert "ReplicaFailure" not in {each["type"] for each in world.status()["conditions"]}

    in_world(test)


def test_a_name_that_is_taken_is_a_collision() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        world.deployment(replicas=1)
        await asyncio.sleep(1)
        [name] = world.writer.names("replicasets.apps")
        world.writer.end("deployments.apps", "default", "web", "Orphan")
        await asyncio.sleep(1)
        world.writer.edit(
            "replicasets.apps",
            "default",
            name,
            lambda document: document["metadata"].update(labels={"app": "x"}),
        )
        world.deployment(replicas=1)
        await asyncio.sleep(1)
        assert world.status()["collisionCount"] == 1
        assert len(world.store.objects("replicasets.apps")) == 2

    in_world(test)
