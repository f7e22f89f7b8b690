from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.nodes import pod_annotations as notes
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_pod_course import annotate
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
        (finishing(), 3, "Succeeded", 0),
        (finishing("OnFailure"), 3, "Succeeded", 0),
        (finishing(exit_code="4"), 3, "Failed", 4),
        (finishing(finish="false"), 60, "Running", None),
        (finishing("Always"), 60, "Running", None),
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


def ready(writer: FakeWriter) -> tuple[bool, str]:
    """Whether the container and the pod are said to be ready."""
    conditions = {each["type"]: each["status"] for each in status(writer)["conditions"]}
    return status(writer)["containerStatuses"][0]["ready"], conditions["Ready"]


def test_a_container_that_is_started_again_is_ready_when_its_pod_is_to_be() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", finishing("OnFailure", finish="5s", exit_code="2", ready="false"))
        seen: set[tuple[bool, str]] = set()
        writer.store.listen(
            "pods", lambda change: seen.add(ready(writer)) if change.new.status.get("phase") else None
        )
        await asyncio.sleep(100)
        assert status(writer)["containerStatuses"][0]["restartCount"] >= 3
        assert seen == {(False, "False")}
        annotate(writer, ready="true", finish="false")
        await asyncio.sleep(100)
        assert ready(writer) == (True, "True"), (
            "what waits is started again, though it is not to end any more"
        )

    in_cluster(test)


def test_a_container_that_waits_stays_as_it_is_when_its_pod_changes() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", finishing("OnFailure", finish="true", exit_code="2"))
        await asyncio.sleep(5)
        [waiting] = status(writer)["containerStatuses"]
        assert waiting["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        annotate(writer, ready="true")
        await asyncio.sleep(1)
        assert status(writer)["containerStatuses"] == [waiting]
        assert ready(writer) == (False, "False")

    in_cluster(test)


@pytest.mark.parametrize(
    ("first", "then", "after", "phase"),
    [("1000s", "5s", 1, "Succeeded"), ("20s", "false", 60, "Running"), ("20s", "100s", 60, "Running")],
)
def test_the_end_may_be_set_anew(first: str, then: str, after: float, phase: str) -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", finishing(finish=first))
        await asyncio.sleep(10)
        annotate(writer, finish=then)
        await asyncio.sleep(after)
        assert status(writer)["phase"] == phase

    in_cluster(test)


TIME = 'it must be "true", "false" or a number of seconds such as "10s"'
CODE = "it must be a number from 0 to 255"
POLICY = "the restartPolicy of the pod must be Never or OnFailure"


@pytest.mark.parametrize(
    ("made", "complaints"),
    [
        (finishing(ready="soon"), [f'moorage/ready: "soon" has no effect; {TIME}']),
        (finishing(finish="10"), [f'moorage/finish: "10" has no effect; {TIME}']),
        (finishing(exit_code="256"), [f'moorage/exit-code: "256" has no effect; {CODE}']),
        (finishing("Always", exit_code="-1"), [f'moorage/exit-code: "-1" has no effect; {CODE}']),
        (finishing("Always", finish="5s"), [f'moorage/finish: "5s" has no effect; {POLICY}']),
        (finishing("OnFailure", ready="5s", finish="true", exit_code="255"), []),
    ],
)
@pytest.mark.parametrize("later", [False, True], ids=["created", "annotated"])
def test_an_annotation_without_effect_is_named_once(
    made: Document, complaints: list[str], later: bool
) -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        metadata = made["metadata"]
        writer.create("pods", {**made, "metadata": {**metadata, "annotations": {}}} if later else made)
        await asyncio.sleep(1)
        if later:
            writer.edit(
                "pods",
                "default",
                "p",
                lambda each: each["metadata"].update(annotations=metadata["annotations"]),
            )
        await asyncio.sleep(5)
        writer.edit("pods", "default", "p", lambda each: each["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(5)
        found = [each.document for each in writer.store.objects("events")]
        told = [each for each in found if each["reason"] == "InvalidAnnotation"]
        assert [each["message"] for each in told] == [f"The annotation {text}" for text in complaints]
        assert all((each["type"], each["count"]) == ("Warning", 1) for each in told)

    in_cluster(test)


@given(
    name=st.sampled_from(notes.ALL), text=st.text(max_size=5) | st.from_regex(r"\d{1,4}s?", fullmatch=True)
)
def test_any_text_has_an_effect_or_is_named(name: str, text: str) -> None:
    made = finishing()
    made["metadata"]["annotations"] = {name: text}
    given = made["metadata"]["annotations"]
    found = notes.exit_code(given) if name == notes.EXIT_CODE else notes.seconds(given, name)
    assert (found is None) == bool(notes.misunderstood(Stored("default", "p", made, 1)))
    if found is not None:
        sense = {str(found), f"{found:g}s", "true" if not found else "", "false" if found == math.inf else ""}
        assert text.lstrip("0") in {each.lstrip("0") for each in sense}


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
