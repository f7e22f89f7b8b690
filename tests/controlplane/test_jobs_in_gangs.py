"""Jobs whose pods are gangs, run by Kubernetes' own controllers on a real API server."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.client.errors import NotFound
from moorage.contrib.objects import GROUP_LABEL
from tests.controlplane.gang_crowd import GROUPS, PODS, define_pod_groups, group, with_coscheduling
from tests.controlplane.others import CONTROLLER_MANAGER, built
from tests.controlplane.programs import programs_for
from tests.controlplane.real_clusters import EXIT_CODE, FINISH, cluster_without_scheduler
from tests.controlplane.schedulers import Api, Document, Moorage, condition, configuration, moorage, node, pod

JOBS = "/apis/batch/v1/namespaces/default/jobs"
MEMBERS = 3
ROOM = 4
"""The cores of the one node: enough for one job, and for no second one beside it."""
ENDLESS = {FINISH: "false"}


class Scene:
    def __init__(self, api: Api, scheduler: Moorage) -> None:
        self.api = api
        self._scheduler = scheduler

    def wait(self, what: str, condition: Any) -> None:
        self._scheduler.wait_until(what, condition, seconds=60.0)

    def start(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """A job of three pods that need each other."""
        self.api.request("POST", GROUPS, group(name, MEMBERS))
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
        template = {
            "metadata": {"labels": {GROUP_LABEL: name}, "annotations": annotations or {}},
            "spec": {"restartPolicy": "Never", "schedulerName": "moorage", "containers": [container]},
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"completions": MEMBERS, "parallelism": MEMBERS, "template": template, **spec},
        }
        self.api.request("POST", JOBS, job)

    def suspend(self, name: str, suspended: bool) -> None:
        job = self.api.request("GET", f"{JOBS}/{name}")
        job["spec"]["suspend"] = suspended
        self.api.request("PUT", f"{JOBS}/{name}", job)

    def has(self, name: str, kind: str) -> bool:
        """Whether a job has a condition."""
        found = self.api.request("GET", f"{JOBS}/{name}").get("status", {}).get("conditions", [])
        return any(each["type"] == kind and each["status"] == "True" for each in found)

    def status(self, name: str) -> Document:
        """Of the PodGroup, without its times."""
        status: Document = self.api.request("GET", f"{GROUPS}/{name}").get("status", {})
        return {key: value for key, value in status.items() if value and key != "scheduleStartTime"}

    def pods(self, name: str) -> dict[str, Document]:
        return self.api.pods(labelSelector=f"job-name={name}")

    def holding_room(self, **params: str) -> dict[str, Document]:
        """The pods on nodes that are not finished."""
        return {
            name: found
            for name, found in self.api.pods(**params).items()
            if found["spec"].get("nodeName") and found["status"]["phase"] in ("Pending", "Running")
        }

    def on_nodes(self, name: str) -> list[str]:
        """The pods of a job that hold room."""
        return list(self.holding_room(labelSelector=f"job-name={name}"))

    def remove_everything(self) -> None:
        background = {"propagationPolicy": "Background"}
        for job in self.api.request("GET", JOBS)["items"]:
            self.api.request("DELETE", f"{JOBS}/{job['metadata']['name']}", background)
        for found in self.api.request("GET", GROUPS)["items"]:
            self.api.request("DELETE", f"{GROUPS}/{found['metadata']['name']}")
        self.wait("no pods", self._no_pods)

    def _no_pods(self) -> bool:
        with contextlib.suppress(NotFound):  # the controllers delete them, too
            self.api.delete_all("pods")
        return not self.api.pods()


@pytest.fixture(scope="module")
def running(pytestconfig: pytest.Config) -> Iterator[Scene]:
    manager = built(CONTROLLER_MANAGER, pytestconfig)
    with cluster_without_scheduler(programs_for(pytestconfig), manager) as plane:
        api = Api(plane)
        define_pod_groups(api)
        api.create([node("n1", cpu=str(ROOM))])
        with moorage(plane, config=with_coscheduling(configuration(plane))) as scheduler:
            yield Scene(api, scheduler)


@pytest.fixture
def scene(running: Scene) -> Iterator[Scene]:
    yield running
    running.remove_everything()


def test_a_job_waits_as_one_for_room_and_runs_to_its_end(scene: Scene) -> None:
    scene.api.create([pod("holder", requests={"cpu": "2"})])
    scene.wait("the room to be taken", scene.api.bound)
    scene.start("train")
    waits = "pod group default/train: 2 of 3 members fit; default/train-N does not: 0/1 nodes are available"

    def reasons() -> set[str]:
        told = [condition(each).get("message", "") for each in scene.pods("train").values()]
        return {re.sub("train-[a-z0-9]{5}", "train-N", each) for each in told}

    def one_for_all() -> bool:
        found = reasons()
        return len(found) == 1 and found.pop().startswith(waits)

    scene.wait("one reason for all", one_for_all)
    scene.wait("its phase", lambda: scene.status("train").get("phase") == "Scheduling")
    assert scene.status("train") == {"phase": "Scheduling", "occupiedBy": "default/train"}
    assert scene.on_nodes("train") == []
    scene.api.delete(f"{PODS}/holder")
    scene.wait("the job's end", lambda: scene.has("train", "Complete"))
    scene.wait("the group's end", lambda: scene.status("train").get("phase") == "Finished")
    assert scene.status("train") == {"phase": "Finished", "occupiedBy": "default/train", "succeeded": MEMBERS}


def test_two_jobs_for_the_room_of_one_take_turns(scene: Scene) -> None:
    names = ("first", "second")
    for name in names:
        scene.start(name)

    def both_are_done() -> bool:
        holding = {found["metadata"]["labels"]["job-name"] for found in scene.holding_room().values()}
        assert len(holding) < 2, f"both hold room: {holding}"
        return all(scene.has(name, "Complete") for name in names)

    scene.wait("both jobs' end", both_are_done)
    scene.wait(
        "both groups' end", lambda: all(scene.status(name).get("phase") == "Finished" for name in names)
    )


def test_a_member_that_is_lost_comes_back_before_a_job_that_waits(scene: Scene) -> None:
    scene.start("old", ENDLESS)
    scene.wait("the job to run", lambda: scene.status("old").get("running") == MEMBERS)
    assert scene.status("old")["phase"] == "Running"
    scene.start("new")
    scene.wait("the other to wait", lambda: scene.status("new").get("phase") == "Scheduling")
    lost, *rest = sorted(scene.on_nodes("old"))
    scene.api.delete(f"{PODS}/{lost}")
    scene.wait(
        "the member's return",
        lambda: lost not in (now := scene.on_nodes("old")) and len(now) == MEMBERS and set(rest) < set(now),
    )
    assert scene.on_nodes("new") == []
    scene.api.request("DELETE", f"{JOBS}/old", {"propagationPolicy": "Background"})
    scene.wait("the other's end", lambda: scene.has("new", "Complete"))


def test_a_job_that_fails(scene: Scene) -> None:
    scene.start("wrong", {EXIT_CODE: "3"})
    scene.wait("the group's end", lambda: scene.status("wrong").get("phase") == "Failed")
    # What is counted when the first has failed stays as it is: the others may still run then.
    counts = [scene.status("wrong").get(each, 0) for each in ("failed", "running", "succeeded")]
    assert counts[0] and sum(counts) == MEMBERS


def test_a_job_that_is_suspended_gives_its_room_to_another(scene: Scene) -> None:
    scene.start("base", ENDLESS, suspend=True)
    scene.wait("a phase", lambda: scene.status("base").get("phase") == "Pending")
    scene.suspend("base", False)
    scene.wait("it to run", lambda: scene.status("base").get("phase") == "Running")
    scene.suspend("base", True)
    scene.start("other")
    scene.wait("the other's end", lambda: scene.has("other", "Complete"))
    scene.wait("its phase", lambda: scene.status("base").get("phase") == "Pending")
    scene.suspend("base", False)
    scene.wait("it to run again", lambda: scene.status("base").get("running") == MEMBERS)
