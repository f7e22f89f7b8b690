"""Pods that are to run for real in a namespace where they may not."""

from __future__ import annotations

import asyncio

import pytest

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.nodes.programs import Programs
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_pod_course import events, status_of
from tests.cluster.life.nodes.test_cluster_simulated_pods import add_nodes, pod, values

REAL = [{"name": "c", "image": "moorage:0.1.0"}]
WHY = (
    "containers of the image moorage:0.1.0 are processes of this machine, which are started only in the"
    " namespaces: kube-system; moorage up --run-namespace=default allows it here"
)


def states(writer: FakeWriter, field: str = "containerStatuses") -> list[Document]:
    return [each["state"] for each in status_of(writer)[field]]


def stored(namespace: str, *images: str) -> Stored:
    spec = {"containers": [{"image": image} for image in images]}
    return Stored(namespace, "p", {"metadata": {"name": "p", "namespace": namespace}, "spec": spec}, 1)


@pytest.mark.parametrize("image", ["moorage", "moorage:1", "r.example/x/moorage@sha256:a", "worker:1"])
def test_only_some_namespaces_may(image: str) -> None:
    programs = Programs(["worker:1"], ["kube-system", "lab"])
    for namespace in ("kube-system", "lab"):
        assert programs.runs_pod(stored(namespace, "nginx", image))
        assert programs.refusal(stored(namespace, image)) is None
    for namespace in ("default", "kube-system-2", "kube", ""):
        assert not programs.runs_pod(stored(namespace, "nginx", image))
        assert "kube-system, lab" in str(programs.refusal(stored(namespace, "nginx", image)))
    nowhere = Programs(["worker:1"], ())
    assert not nowhere.runs_pod(stored("kube-system", image))
    assert str(nowhere.refusal(stored("kube-system", image))).endswith("not to start (--no-processes)")
    assert programs.refusal(stored("default", "nginx")) is nowhere.refusal(stored("default", "nginx")) is None


def test_all_containers_wait_and_one_event_says_why() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        inits = [{"name": "i", "image": "busybox"}]
        writer.create(
            "pods", pod("p", containers=[*REAL, {"name": "d", "image": "nginx"}], initContainers=inits)
        )
        await asyncio.sleep(5)
        waiting = {"waiting": {"reason": "ProcessNotAllowed", "message": WHY}}
        assert states(writer) == [waiting, waiting]
        assert states(writer, "initContainerStatuses") == [waiting]
        assert status_of(writer)["phase"] == "Pending"
        found = values(writer.document("pods", "default", "p"))
        assert (found["Ready"], found["ContainersReady"]) == ("False", "False")
        assert events(writer, "ProcessNotAllowed") == [WHY]
        assert events(writer, "Started") == []
        version = writer.document("pods", "default", "p")["metadata"]["resourceVersion"]
        await asyncio.sleep(60)
        assert writer.document("pods", "default", "p")["metadata"]["resourceVersion"] == version
        writer.end("pods", "default", "p")
        await asyncio.sleep(2)
        assert writer.store.get("pods", "default", "p") is None

    in_cluster(test)


def test_another_image_does_not_get_a_running_pod_round_it() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        made = pod("p", restartPolicy="Never")
        made["metadata"]["annotations"] = {"moorage/finish": "false"}
        writer.create("pods", made)
        await asyncio.sleep(2)
        assert list(states(writer)[0]) == ["running"]

        def change(document: Document) -> None:
            document["spec"]["containers"] = REAL
            document["metadata"]["annotations"] = {"moorage/finish": "5s"}

        writer.edit("pods", "default", "p", change)
        await asyncio.sleep(20)
        assert status_of(writer)["phase"] == "Running"
        assert states(writer)[0]["waiting"]["reason"] == "ProcessNotAllowed"

    in_cluster(test)


def test_the_time_it_may_be_active_goes_by() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", containers=REAL, activeDeadlineSeconds=30))
        await asyncio.sleep(20)
        assert status_of(writer)["phase"] == "Pending"
        await asyncio.sleep(20)
        status = status_of(writer)
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")

    in_cluster(test)
