from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from moorage.cluster.base.store import Document
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_simulated_pods import add_nodes, pod

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


def finishing(restarts: str = "Never", job: bool = False, **notes: str) -> Document:
    made = pod("p", restartPolicy=restarts)
    made["metadata"]["annotations"] = {
        f"moorage/{name.replace('_', '-')}": text for name, text in notes.items()
    }
    if job:
        made["metadata"]["ownerReferences"] = [JOB]
    return made


def status(writer: FakeWriter) -> Any:
    return writer.document("pods", "default", "p")["status"]


@pytest.mark.parametrize(
    ("made", "after", "phase", "code"),
    [
        (finishing(job=True), 3, "Succeeded", 0),
        (finishing(job=True, finish="20s"), 10, "Running", None),
        (finishing(job=True, finish="20s"), 23, "Succeeded", 0),
        (finishing(job=True, finish="false"), 60, "Running", None),
        (finishing(job=True, exit_code="3"), 3, "Failed", 3),
        (finishing(job=True, exit_code="many"), 3, "Succeeded", 0),
        (finishing(job=True, exit_code="999"), 3, "Succeeded", 0),
        (finishing(job=True, finish="soon"), 3, "Succeeded", 0),
        (finishing("OnFailure", job=True), 3, "Succeeded", 0),
        (finishing(), 60, "Running", None),
        (finishing("OnFailure"), 60, "Running", None),
        (finishing(finish="5s"), 10, "Succeeded", 0),
        (finishing(finish="true", exit_code="1"), 2, "Failed", 1),
        (finishing("Always", finish="5s"), 60, "Running", None),
    ],
)
def test_how_a_pod_ends(made: Document, after: float, phase: str, code: int | None) -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", made)
        await asyncio.sleep(after)
        assert status(writer)["phase"] == phase
        state = status(writer)["containerStatuses"][0]["state"]
        assert state.get("terminated", {}).get("exitCode") == code
        ready = {each["type"]: each for each in status(writer)["conditions"]}["Ready"]
        reasons = {"Running": None, "Succeeded": "PodCompleted", "Failed": "PodFailed"}
        assert ready.get("reason") == reasons[phase]

    in_cluster(test)


def test_what_is_tried_until_it_succeeds_is_started_again() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", finishing("OnFailure", job=True, exit_code="2"))
        starts: dict[int, float] = {}
        for tenth in range(1000):
            await asyncio.sleep(0.1)
            if status(writer)["phase"] == "Running":
                [container] = status(writer)["containerStatuses"]
                if "running" in container["state"]:
                    starts.setdefault(container["restartCount"], tenth / 10)
        assert list(starts) == [0, 1, 2, 3, 4]
        gaps = [later - earlier for earlier, later in itertools.pairwise(list(starts.values())[1:])]
        assert [round(gap / 10) for gap in gaps] == [1, 2, 4]
        [container] = status(writer)["containerStatuses"]
        assert container["lastState"]["terminated"]["exitCode"] == 2
        assert status(writer)["phase"] == "Running"

    in_cluster(test)


def test_a_pod_of_a_job_that_is_killed_has_failed() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        made = finishing(job=True, finish="false")
        made["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
        writer.create("pods", made)
        await asyncio.sleep(2)
        writer.end("pods", "default", "p")
        await asyncio.sleep(2)
        assert status(writer)["phase"] == "Failed"
        assert status(writer)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137

    in_cluster(test)
