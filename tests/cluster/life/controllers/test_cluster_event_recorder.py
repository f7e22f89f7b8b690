from __future__ import annotations

import asyncio

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Stored
from moorage.cluster.life.controllers.events import Recorder
from tests import fake_time
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.controllers.worlds import START, clock


def pod() -> Stored:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "u"}}
    return Stored("ns", "p", document, 7)


def test_an_event_says_what_happened_to_what() -> None:
    writer = FakeWriter(lambda: START)
    Recorder(writer, "kubelet", lambda: START).tell(
        pod(), "Started", "Container started", field_path="spec.containers{c}", host="n"
    )
    [event] = writer.store.objects("events", "ns")
    document = {name: value for name, value in event.document.items() if name != "metadata"}
    assert document == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "kind": "Pod",
            "namespace": "ns",
            "name": "p",
            "uid": "u",
            "apiVersion": "v1",
            "resourceVersion": "7",
            "fieldPath": "spec.containers{c}",
        },
        "reason": "Started",
        "message": "Container started",
        "source": {"component": "kubelet", "host": "n"},
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "count": 1,
        "eventTime": None,
        "type": "Normal",
        "reportingComponent": "kubelet",
        "reportingInstance": "n",
    }


def test_the_same_event_counts_and_similar_ones_are_combined() -> None:
    writer = FakeWriter(lambda: START)
    recorder = Recorder(writer, "x", lambda: START)
    for _ in range(3):
        recorder.tell(pod(), "Same", "same", warning=True)
    [event] = writer.store.objects("events")
    assert (event.document["count"], event.document["type"]) == (3, "Warning")
    for number in range(15):
        recorder.tell(pod(), "Created", f"Created pod: {number}")
    created = [
        each.document for each in writer.store.objects("events") if each.document["reason"] == "Created"
    ]
    assert len(created) == 10
    assert created[-1]["message"] == "(combined from similar events): Created pod: 14"
    assert created[-1]["count"] == 6


def test_nobody_is_flooded() -> None:
    async def main() -> None:
        writer = FakeWriter(clock)
        recorder = Recorder(writer, "x", clock)
        for number in range(100):
            recorder.tell(pod(), f"Reason{number}", "text")
        assert writer.store.count("events") == 25
        await asyncio.sleep(600)
        for number in range(100, 200):
            recorder.tell(pod(), f"Reason{number}", "text")
        assert writer.store.count("events") == 27

    fake_time.run(main())


def test_an_event_that_is_refused_stops_nothing() -> None:
    writer = FakeWriter(lambda: START)
    writer.refuse = lambda resource, document: Refusal(403, "Forbidden", "the namespace is being terminated")
    Recorder(writer, "x", lambda: START).tell(pod(), "Started", "Container started")
    assert writer.store.count("events") == 0
