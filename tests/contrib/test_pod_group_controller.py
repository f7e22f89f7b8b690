"""The life of PodGroups in a cluster, in fake time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moorage.contrib.objects import GROUP_LABEL, ElasticQuota, PodGroup
from tests import fake_time
from tests.cluster.api_worlds import PODS
from tests.contrib.worlds import GROUPS, Scene, define, scheduled

NOWHERE: dict[str, Any] = {"nodeSelector": {"gangs": "yes"}}
HERE = {"metadata": {"labels": {"gangs": "yes"}}}


def test_from_the_first_pod_to_the_last(tmp_path: Path) -> None:
    seen = []

    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:

            async def note() -> None:
                await scene.settle()
                seen.append(scene.counts("gang"))

            scene.create_group("gang", 3)
            await note()
            for name in ("a", "b", "c"):
                scene.create_pod(name, "gang", **NOWHERE)
            scene.create_pod("other", "another-gang")
            await note()
            scene.patch("/api/v1/nodes/node0", HERE)
            await note()
            scene.end_pods("Succeeded", "a")
            await note()
            scene.end_pods("Succeeded", "b", "c")
            await note()
            # It has ended, whatever becomes of the pods.
            for name in ("a", "b", "c"):
                scene.delete_pod(name)
            await note()
            begun = scene.group_status("gang")["scheduleStartTime"]
            assert begun > scene.world.get(f"{GROUPS}/gang")["metadata"]["creationTimestamp"]

    fake_time.run(main())
    assert seen == [
        ("Pending", 0, 0, 0),
        ("Scheduling", 0, 0, 0),
        ("Running", 3, 0, 0),
        ("Running", 2, 1, 0),
        ("Finished", 0, 3, 0),
        ("Finished", 0, 3, 0),
    ]


def test_when_pods_fail_or_go_half_way(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            for gang in ("fails", "goes"):
                scene.create_group(gang, 2)
                for name in ("a", "b"):
                    scene.create_pod(f"{gang}-{name}", gang)
            await scene.settle()
            assert scene.counts("fails") == scene.counts("goes") == ("Running", 2, 0, 0)
            scene.end_pods("Failed", "fails-a")
            scene.delete_pod("goes-a")
            await scene.settle()
            assert scene.counts("fails") == ("Failed", 1, 0, 1)
            assert scene.counts("goes") == ("Pending", 1, 0, 0)
            scene.delete_pod("goes-b")
            await scene.settle()
            assert scene.counts("goes") == ("Pending", 0, 0, 0)
            scene.create_pod("goes-c", "goes")
            scene.create_pod("goes-d", "goes")
            await scene.settle()
            assert scene.counts("goes") == ("Running", 2, 0, 0)

    fake_time.run(main())


def test_a_group_that_is_deleted_and_made_again_begins_anew(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("gang", 2)
            scene.create_pod("a", "gang")
            scene.create_pod("b", "gang")
            await scene.settle()
            scene.end_pods("Succeeded", "a", "b")
            await scene.settle()
            assert scene.counts("gang") == ("Finished", 0, 2, 0)
            scene.world.done("DELETE", f"{GROUPS}/gang")
            scene.create_pod("c", "gang")
            await scene.settle()
            scene.create_group("gang", 4)
            await scene.settle()
            assert scene.counts("gang") == ("Pending", 1, 2, 0)

    fake_time.run(main())


def test_pods_of_other_namespaces_and_other_labels_do_not_count(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("gang", 1)
            stranger = {"metadata": {"name": "a", "labels": {GROUP_LABEL: "gang"}}}
            spec = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
            scene.world.create("/api/v1/namespaces/kube-public/pods", stranger | spec)
            scene.create_pod("b", "gang-of-others")
            await scene.settle()
            assert scene.counts("gang") == ("Pending", 0, 0, 0)
            scene.patch(f"{PODS}/b", {"metadata": {"labels": {GROUP_LABEL: "gang"}}})
            await scene.settle()
            assert scene.counts("gang") == ("Running", 1, 0, 0)
            scene.patch(f"{PODS}/b", {"metadata": {"labels": {GROUP_LABEL: None}}})
            await scene.settle()
            assert scene.counts("gang") == ("Pending", 0, 0, 0)

    fake_time.run(main())


def test_who_a_group_is_occupied_by(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("gang", 2)
            template = {
                "metadata": {"labels": {GROUP_LABEL: "gang", "app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            }
            scene.world.create(
                "/apis/apps/v1/namespaces/default/replicasets",
                {
                    "metadata": {"name": "web"},
                    "spec": {
                        "replicas": 2,
                        "selector": {"matchLabels": {"app": "web"}},
                        "template": template,
                    },
                },
            )
            await scene.settle()
            assert scene.group_status("gang")["occupiedBy"] == "default/web"

    fake_time.run(main())


def test_many_changes_are_few_patches(tmp_path: Path) -> None:
    many = 150

    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling", nodes=40) as scene:
            scene.create_group("gang", many)
            await scene.settle()
            watch = scene.world.watch(GROUPS, resourceVersion=str(scene.version(f"{GROUPS}/gang")))
            for number in range(many):
                scene.create_pod(f"pod{number}", "gang", cpu="1m")
            while scene.counts("gang")[0] != "Running":
                await asyncio.sleep(1)
            scene.end_pods("Succeeded", *(f"pod{number}" for number in range(many)))
            await scene.settle()
            assert scene.counts("gang") == ("Finished", 0, many, 0)
            patches = 0
            while True:
                event = await watch.next()
                assert event is not None
                patches += 1
                if event["object"]["status"]["phase"] == "Finished":
                    break
            await watch.close()
            assert patches <= 20

    fake_time.run(main())


def test_nothing_is_written_without_a_change(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("gang", 1)
            scene.create_pod("a", "gang")
            await scene.settle()
            before = scene.version(f"{GROUPS}/gang")
            scene.patch(f"{PODS}/a", {"metadata": {"annotations": {"some": "thing"}}})
            await asyncio.sleep(30)
            assert scene.version(f"{GROUPS}/gang") == before

    fake_time.run(main())


def test_whoever_else_writes_is_not_overwritten(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("gang", 2)
            await scene.settle()
            scene.create_pod("a", "gang")
            scene.create_pod("b", "gang")
            for place in range(20):  # in the way of every patch
                await asyncio.sleep(0.05)
                scene.patch(f"{GROUPS}/gang", {"metadata": {"labels": {"place": str(place)}}})
            scene.patch(f"{GROUPS}/gang/status", {"status": {"occupiedBy": "somebody"}})
            await asyncio.sleep(10)
            found = scene.world.get(f"{GROUPS}/gang")
            assert found["metadata"]["labels"] == {"place": "19"}
            assert found["status"]["occupiedBy"] == "somebody"
            assert scene.counts("gang") == ("Running", 2, 0, 0)

    fake_time.run(main())


def test_a_group_that_began_too_late_is_told_of_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            # In the cluster it is the beginning of 2026, for the controllers it is not.
            scene.create_group("gang", 1)
            scene.create_pod("a", "gang", **NOWHERE)
            await scene.settle()
            scene.create_pod("b", "gang", **NOWHERE)
            await scene.settle()
            assert scene.counts("gang") == ("Scheduling", 0, 0, 0)
            [event] = scene.events("Timeout")
            assert (event["type"], event["note"]) == ("Warning", "schedule time longer than 48 hours")
            assert event["reportingController"] == "PodGroupController"
            assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("PodGroup", "gang")

    fake_time.run(main())


def test_a_group_that_stays_without_pods_is_told_of(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling") as scene:
            scene.create_group("empty", 2)
            scene.create_group("late", 2)
            scene.create_group("huge", 2**31 - 1)
            scene.create_pod("a", "huge")
            scene.create_pod("b", "late")
            await asyncio.sleep(50)
            scene.create_pod("c", "late")
            assert scene.events("MembersMissing") == []
            await asyncio.sleep(1000)
            told = {event["regarding"]["name"]: event["note"] for event in scene.events("MembersMissing")}
            label = f"the label {GROUP_LABEL}"
            assert told == {
                "empty": f"no pod has {label}=empty; the group waits until 2 have it",
                "huge": f"1 pod has {label}=huge; the group waits until 2147483647 have it",
            }
            assert len(scene.events("MembersMissing")) == 2

    fake_time.run(main())


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Any:
    def told() -> list[Any]:
        return [
            {"told": record.getMessage(), **vars(record)["_moorage_fields"]}
            for record in caplog.records
            if record.levelname == "WARNING" and "_moorage_fields" in vars(record)
        ]

    return told


def test_a_definition_that_comes_later(tmp_path: Path, warnings: Any) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "Coscheduling", kinds=[ElasticQuota]) as scene:
            scene.create_pod("a", "gang")
            await asyncio.sleep(20)
            await define(scene.world, PodGroup)
            scene.create_group("gang", 1)
            await asyncio.sleep(10)
            assert scene.counts("gang") == ("Running", 1, 0, 0)

    fake_time.run(main())
    assert warnings() == [
        {
            "told": "A custom resource is not defined: there is nothing for its controller to do until it is",
            "resource": "podgroups.scheduling.x-k8s.io",
            "controller": "PodGroupController",
            "remedy": "moorage crd moorage.contrib.objects:PodGroup | kubectl apply -f -",
        }
    ]


def test_without_the_plugin_nobody_looks(tmp_path: Path, warnings: Any) -> None:
    async def look(scene: Scene) -> None:
        scene.create_group("gang", 1)
        scene.create_pod("a", "gang")
        await scene.settle()
        assert scene.counts("gang") == ("", 0, 0, 0)

    async def main() -> None:
        async with scheduled(tmp_path, "CapacityScheduling") as scene:
            await look(scene)

    fake_time.run(main())
    assert warnings() == []
