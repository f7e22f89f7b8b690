from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.life.controllers.workloads import daemon_nodes
from moorage.cluster.life.controllers.workloads.daemon_pods import target_of
from moorage.cluster.life.controllers.workloads.template_history import REVISIONS
from tests.cluster.life.controllers.worlds import World, clock, in_world, template

SETS = "daemonsets.apps"
LABELS = {"app": "d"}


def node(world: World, name: str, **content: Any) -> None:
    metadata = {"name": name, "labels": content.pop("labels", {})}
    world.writer.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": content})


def daemon_set(world: World, nodes: int = 3, rolling: Document | None = None, **spec: Any) -> None:
    for number in range(nodes):
        node(world, f"n{number}")
    pod = spec.pop("pod", {})
    wanted = template(LABELS)
    wanted["spec"] |= pod
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling or {"maxSurge": 0, "maxUnavailable": 1}}
    notes = {"deprecated.daemonset.template.generation": "1"}
    world.writer.create(
        SETS,
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d", "namespace": "default", "annotations": notes},
            "spec": {
                "selector": {"matchLabels": LABELS},
                "template": wanted,
                "updateStrategy": strategy,
                "revisionHistoryLimit": 10,
                **spec,
            },
        },
    )


def change(world: World, **spec: Any) -> None:
    def edit(document: Document) -> None:
        image = spec.pop("image", None)
        if image:
            document["spec"]["template"]["spec"]["containers"][0]["image"] = image
            notes = document["metadata"]["annotations"]
            key = "deprecated.daemonset.template.generation"
            notes[key] = str(int(notes[key]) + 1)
        document["spec"].update(spec)

    world.writer.edit(SETS, "default", "d", edit)


def status(world: World) -> Document:
    found: Document = world.writer.document(SETS, "default", "d").get("status", {})
    return found


def pods(world: World) -> dict[str, list[Document]]:
    """By the node they are for."""
    found: dict[str, list[Document]] = {}
    for pod in world.store.objects("pods"):
        found.setdefault(target_of(pod), []).append(pod.document)
    return found


def images(world: World) -> dict[str, list[str]]:
    return {
        name: sorted(pod["spec"]["containers"][0]["image"] for pod in each)
        for name, each in pods(world).items()
    }


def fail(world: World, on: str, phase: str = "Failed") -> None:
    [pod] = (each for each in world.store.objects("pods") if target_of(each) == on)
    world.writer.set_status("pods", pod, phase=phase, conditions=[])


def test_every_node_gets_a_pod_that_is_made_for_it() -> None:
    async def test(world: World) -> None:
        daemon_set(world, 2)
        await asyncio.sleep(0.5)
        assert status(world) == {
            "currentNumberScheduled": 2,
            "desiredNumberScheduled": 2,
            "numberMisscheduled": 0,
            "numberReady": 0,
            "numberUnavailable": 2,
            "observedGeneration": 1,
            "updatedNumberScheduled": 2,
        }
        [pod] = pods(world)["n0"]
        [revision] = world.store.objects(REVISIONS)
        code = revision.name.removeprefix("d-")
        labels = {"app": "d", "controller-revision-hash": code, "pod-template-generation": "1"}
        assert pod["metadata"]["labels"] == labels
        assert pod["spec"]["affinity"]["nodeAffinity"] == {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
                ]
            }
        }
        assert [each["key"] for each in pod["spec"]["tolerations"]] == [
            f"node.kubernetes.io/{name}"
            for name in (
                "not-ready",
                "unreachable",
                "disk-pressure",
                "memory-pressure",
                "pid-pressure",
                "unschedulable",
            )
        ]
        assert revision.document["revision"] == 1
        assert revision.document["data"]["spec"]["template"]["$patch"] == "replace"
        await asyncio.sleep(2)
        assert status(world)["numberAvailable"] == 2
        assert "numberUnavailable" not in status(world)
        assert len(world.events("SuccessfulCreate")) == 2

    in_world(test)


def test_nodes_that_come_go_and_change() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        daemon_set(world, 1, pod={"nodeSelector": {"disk": "fast"}})
        await asyncio.sleep(0.5)
        assert pods(world) == {}
        node(world, "fast", labels={"disk": "fast"})
        node(world, "gone", labels={"disk": "fast"})
        await asyncio.sleep(0.5)
        assert set(pods(world)) == {"fast", "gone"}
        world.writer.end("nodes", "", "gone")
        world.writer.edit("nodes", "", "n0", lambda each: each["metadata"].update(labels={"disk": "fast"}))
        await asyncio.sleep(0.5)
        assert set(pods(world)) == {"fast", "n0"}
        world.writer.edit("nodes", "", "fast", lambda each: each["metadata"].update(labels={}))
        await asyncio.sleep(0.5)
        assert set(pods(world)) == {"n0"}
        assert status(world)["desiredNumberScheduled"] == 1

    in_world(test)


@pytest.mark.parametrize(
    ("taint", "tolerated", "fresh", "stays"),
    [
        ({"key": "a", "effect": "NoSchedule"}, False, False, True),
        ({"key": "a", "effect": "NoExecute"}, False, False, False),
        ({"key": "a", "effect": "NoExecute"}, True, True, True),
        ({"key": "a", "effect": "PreferNoSchedule"}, False, True, True),
        ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, False, True, True),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, False, True, True),
    ],
)
def test_taints(taint: Document, tolerated: bool, fresh: bool, stays: bool) -> None:
    async def test(world: World) -> None:
        node(world, "tainted", taints=[taint])
        pod = {"tolerations": [{"key": "a", "operator": "Exists"}]} if tolerated else {}
        daemon_set(world, 1, pod=pod)
        await asyncio.sleep(3)
        assert ("tainted" in pods(world)) == fresh
        world.writer.edit("nodes", "", "n0", lambda each: each["spec"].update(taints=[taint]))
        await asyncio.sleep(3)
        assert ("n0" in pods(world)) == stays
        assert status(world)["numberMisscheduled"] == int(stays and not fresh)

    in_world(test)


def test_a_new_template_replaces_one_pod_after_the_other() -> None:
    async def test(world: World) -> None:
        daemon_set(world)
        await asyncio.sleep(3)
        change(world, image="new")
        most = 0
        for _ in range(200):
            await asyncio.sleep(0.1)
            ready = [pod for each in pods(world).values() for pod in each if is_ready(pod)]
            most = max(most, 3 - len(ready))
            if status(world).get("updatedNumberScheduled") == 3 == status(world).get("numberAvailable"):
                break
        assert most == 1
        assert images(world) == {f"n{number}": ["new"] for number in range(3)}
        numbers = [each.document["revision"] for each in world.store.objects(REVISIONS)]
        assert sorted(numbers) == [1, 2]
        change(world, image="nginx")
        await asyncio.sleep(20)
        assert images(world) == {f"n{number}": ["nginx"] for number in range(3)}
        numbers = [each.document["revision"] for each in world.store.objects(REVISIONS)]
        assert sorted(numbers) == [2, 3]

    in_world(test)


def is_ready(pod: Document) -> bool:
    conditions = pod["status"].get("conditions") or [{}]
    return conditions[0].get("status") == "True" and "deletionTimestamp" not in pod["metadata"]


def test_with_a_surge_the_old_pod_stays_until_the_new_one_is_available() -> None:
    async def test(world: World) -> None:
        daemon_set(world, 4, rolling={"maxSurge": "50%", "maxUnavailable": 0}, minReadySeconds=2)
        await asyncio.sleep(6)
        change(world, image="new")
        await asyncio.sleep(0.5)
        assert sum(each == ["new", "nginx"] for each in images(world).values()) == 2
        for _ in range(200):
            await asyncio.sleep(0.1)
            assert all(any(is_ready(pod) for pod in each) for each in pods(world).values())
            if images(world) == {f"n{number}": ["new"] for number in range(4)}:
                break
        assert images(world) == {f"n{number}": ["new"] for number in range(4)}

    in_world(test)


def test_on_delete_waits_for_somebody_to_delete() -> None:
    async def test(world: World) -> None:
        daemon_set(world, 2, updateStrategy={"type": "OnDelete"})
        await asyncio.sleep(3)
        change(world, image="new")
        await asyncio.sleep(5)
        assert images(world) == {"n0": ["nginx"], "n1": ["nginx"]}
        assert "updatedNumberScheduled" not in status(world)
        world.writer.end("pods", "default", pods(world)["n0"][0]["metadata"]["name"])
        await asyncio.sleep(5)
        assert images(world) == {"n0": ["new"], "n1": ["nginx"]}

    in_world(test)


def test_a_failed_pod_is_replaced_each_time_later() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        daemon_set(world, 1)
        await asyncio.sleep(3)
        for wait in (0.0, 1.0, 2.0, 4.0):
            [before] = pods(world)["n0"]
            fail(world, "n0")
            if wait:
                await asyncio.sleep(0.1)
                assert pods(world)["n0"][0]["metadata"]["uid"] == before["metadata"]["uid"]
            await asyncio.sleep(wait + 0.1)
            [after] = pods(world)["n0"]
            assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert "will try to kill it" in world.events("FailedDaemonPod")[0]

    in_world(test)


def test_pods_are_adopted_and_let_go() -> None:
    async def test(world: World) -> None:
        metadata = {"name": "own", "namespace": "default", "labels": LABELS}
        spec = {"nodeName": "n0", "containers": []}
        world.writer.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        daemon_set(world, 1, updateStrategy={"type": "OnDelete"})
        await asyncio.sleep(0.5)
        assert world.writer.names("pods") == ["own"]
        assert (
            world.writer.document("pods", "default", "own")["metadata"]["ownerReferences"][0]["name"] == "d"
        )
        world.writer.edit("pods", "default", "own", lambda each: each["metadata"].update(labels={}))
        await asyncio.sleep(0.5)
        assert "ownerReferences" not in world.writer.document("pods", "default", "own")["metadata"]
        assert len(world.writer.names("pods")) == 2

    in_world(test)


def test_old_revisions_are_forgotten_unless_pods_have_them() -> None:
    async def test(world: World) -> None:
        daemon_set(world, 1, revisionHistoryLimit=1)
        await asyncio.sleep(3)
        for image in ("two", "three", "four"):
            change(world, image=image)
            await asyncio.sleep(6)
        numbers = [each.document["revision"] for each in world.store.objects(REVISIONS)]
        assert sorted(numbers) == [3, 4]

    in_world(test)


def test_a_name_that_is_taken_is_a_collision() -> None:
    async def test(world: World) -> None:
        daemon_set(world, 1)
        await asyncio.sleep(3)
        [first] = world.store.objects(REVISIONS)
        world.writer.end(SETS, "default", "d", "Orphan")
        await asyncio.sleep(3)
        world.writer.edit(REVISIONS, "default", first.name, lambda each: each["metadata"].update(labels={}))
        daemon_set(world, 0)
        await asyncio.sleep(3)
        assert status(world)["collisionCount"] == 1
        [second] = (each for each in world.store.objects(REVISIONS) if each.name != first.name)
        assert second.owners[0]["name"] == "d"
        change(world, minReadySeconds=1)
        await asyncio.sleep(3)
        assert status(world)["collisionCount"] == 1
        assert len(world.store.objects(REVISIONS)) == 2

    in_world(test)


def test_a_refusal_is_told_and_tried_again() -> None:
    async def test(world: World) -> None:
        world.writer.refuse = lambda resource, document: (
            Refusal(403, "Forbidden", "no room") if resource == "pods" else None
        )
        daemon_set(world, 1)
        await asyncio.sleep(0.5)
        assert set(world.events("FailedCreate")) == {"Error creating: no room"}
        assert status(world)["desiredNumberScheduled"] == 1
        world.writer.refuse = lambda resource, document: None
        await asyncio.sleep(3)
        assert set(pods(world)) == {"n0"}

    in_world(test)


def test_a_change_of_one_pod_has_only_its_node_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: World) -> None:
        daemon_set(world, 60)
        await asyncio.sleep(5)
        looked: list[str] = []
        look = daemon_nodes.Daemons.look

        def noted(self: daemon_nodes.Daemons, name: str, now: float) -> None:
            looked.append(name)
            look(self, name, now)

        monkeypatch.setattr(daemon_nodes.Daemons, "look", noted)
        [pod] = (each for each in world.store.objects("pods") if target_of(each) == "n7")
        unready = [{"type": "Ready", "status": "False", "lastTransitionTime": timestamp(clock())}]
        world.writer.set_status("pods", pod, phase="Running", conditions=unready)
        await asyncio.sleep(1)
        assert set(looked) == {"n7"}
        assert status(world)["numberReady"] == 59

    in_world(test)
