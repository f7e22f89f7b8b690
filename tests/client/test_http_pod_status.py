"""Writing the status of a pod, against small servers on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Condition
from moorage.client.errors import (
    ApiError,
    NotFound,
)
from moorage.client.pod_writer import PodWriter
from tests.client.conversations import POD, Recorder, ok, talk
from tests.client.loopback import Sleeps, status

CONDITION = Condition("PodScheduled", "False", "Unschedulable", "", "2026-01-01T00:00:00Z", 3)
SENT = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 3,
}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"condition": CONDITION}, {"conditions": [SENT]}),
        ({"nominated_node": "n"}, {"nominatedNodeName": "n"}),
        ({"nominated_node": ""}, {"nominatedNodeName": None}),
        (
            {"condition": Condition("A", "True"), "nominated_node": "n"},
            {
                "conditions": [{"type": "A", "status": "True", "reason": "", "message": ""}],
                "nominatedNodeName": "n",
            },
        ),
    ],
)
def test_write_pod_status(given: dict[str, Any], sent: dict[str, Any]) -> None:
    server = Recorder(ok())
    talk(server, lambda client: PodWriter(client).write_pod_status(POD, **given))
    assert server.lines == ["PATCH /api/v1/namespaces/a/pods/b/status"]
    assert server.requests[0].headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert server.bodies == [{"status": sent}]


def test_empty_status_is_not_written() -> None:
    server = Recorder()
    talk(server, lambda client: PodWriter(client).write_pod_status(POD))
    assert server.lines == []


@pytest.mark.parametrize(
    "failure",
    [
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (504, "Timeout"),
    ],
)
def test_status_is_tried_four_times(failure: tuple[int, str]) -> None:
    sleeps = Sleeps()
    server = Recorder(status(*failure), status(*failure), status(*failure), ok())
    talk(
        server,
        lambda client: PodWriter(client).write_pod_status(POD, nominated_node="n"),
        sleep=sleeps,
        random=lambda: 0.5,
    )
    assert sleeps == pytest.approx([0.0105, 0.0525, 0.2625])
    server = Recorder(*(status(*failure) for _ in range(4)))
    with pytest.raises(ApiError):
        talk(server, lambda client: PodWriter(client).write_pod_status(POD, nominated_node="n"), sleep=sleeps)
    assert server.answers == []


def test_status_waits_as_long_as_the_server_asks() -> None:
    sleeps = Sleeps()
    server = Recorder(status(429, "TooManyRequests", Retry_After="2"), ok())
    talk(server, lambda client: PodWriter(client).write_pod_status(POD, nominated_node=""), sleep=sleeps)
    assert sleeps == [2.0]


def test_status_of_a_missing_pod_is_not_tried_again() -> None:
    with pytest.raises(NotFound):
        talk(
            Recorder(status(404, "NotFound")),
            lambda client: PodWriter(client).write_pod_status(POD, nominated_node=""),
        )
