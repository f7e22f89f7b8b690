from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from moorage.what_if.trace.moments import steps
from tests.what_if.trace.objects import BEGAN, Document, pod

NOW = BEGAN + 100.25


def at(seconds: float) -> str:
    return datetime.fromtimestamp(BEGAN + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def made(node_name: str = "", created: float = 10, deleted: float | None = None, **status: Any) -> Document:
    document = pod("web-1", node_name, **status)
    document["metadata"]["creationTimestamp"] = at(created)
    if deleted is not None:
        document["metadata"] |= {"deletionTimestamp": at(deleted), "deletionGracePeriodSeconds": 30}
    return document


def scheduled(seconds: float) -> list[Document]:
    return [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(seconds)}]


def ended(seconds: float) -> Document:
    states = [{"state": {"terminated": {"finishedAt": at(each)}}} for each in (seconds - 5, seconds)]
    return {"phase": "Failed", "containerStatuses": states}


def told(known: Document | None, document: Document) -> list[tuple[float, str, str, bool]]:
    return [
        (
            moment - BEGAN,
            state["spec"].get("nodeName", ""),
            state["status"]["phase"],
            "deletionTimestamp" in state["metadata"],
        )
        for moment, state in steps(known, document, NOW)
    ]


def test_what_is_heard_of_within_its_second_has_the_time_of_hearing() -> None:
    assert told(None, made(created=100)) == [(100.25, "", "Pending", False)] * 2
    assert told(made(), made("node-1", conditions=scheduled(100)))[0] == (100.25, "node-1", "Pending", False)


def test_what_is_heard_of_late_has_the_time_that_the_pod_tells() -> None:
    assert told(None, made())[0] == (10, "", "Pending", False)
    assert told(made(), made("node-1", conditions=scheduled(20)))[0] == (20, "node-1", "Pending", False)
    running = made("node-1", phase="Running")
    assert told(running, made("node-1", **ended(30)))[0] == (30, "node-1", "Failed", False)


def test_a_deletion_was_asked_for_before_its_grace_began() -> None:
    running = made("node-1", phase="Running")
    assert told(running, made("node-1", deleted=80, phase="Running"))[0] == (50, "node-1", "Running", True)


def test_a_whole_life_that_nobody_heard_of() -> None:
    life = told(None, made("node-1", deleted=80, conditions=scheduled(20), **ended(60)))
    assert life[:-1] == [
        (10, "", "Pending", False),
        (20, "node-1", "Running", False),
        (50, "node-1", "Running", True),
        (60, "node-1", "Failed", True),
    ]


def test_a_pod_that_ended_before_it_was_deleted() -> None:
    running = made("node-1", phase="Running")
    life = told(running, made("node-1", deleted=80, **ended(40)))
    assert life[:2] == [(40, "node-1", "Failed", False), (50, "node-1", "Failed", True)]


def test_what_tells_no_time_happens_when_it_is_heard_of() -> None:
    document = made("node-1", phase="Succeeded")
    document["metadata"]["creationTimestamp"] = None
    assert [moment for moment, *_ in told(None, document)] == [100.25] * 4


def test_a_node_that_no_scheduler_gave_was_there_from_the_beginning() -> None:
    assert told(None, made("node-1"))[0] == (10, "node-1", "Pending", False)
    mirror = made("node-1", conditions=scheduled(20))
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    assert told(None, mirror)[0] == (10, "node-1", "Pending", False)
