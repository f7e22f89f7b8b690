"""What happens to simulated pods while they run, and how long their end takes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.life.nodes.course import age_of, course_of, rest_of_end
from moorage.cluster.life.nodes.pod_annotations import NEVER
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.controllers.worlds import START
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_simulated_pods import add_nodes, pod, values

PRE_STOP = {"preStop": {"sleep": {"seconds": 10}}}


def noted(name: str = "p", *, annotations: dict[str, str], **spec: Any) -> Document:
    document = pod(name, **spec)
    document["metadata"]["annotations"] = annotations
    return document


def sleeping(**spec: Any) -> Document:
    """A pod that takes ten seconds to end."""
    return pod("p", containers=[{"name": "c", "image": "nginx", "lifecycle": PRE_STOP}], **spec)


def status_of(writer: FakeWriter) -> Any:
    return writer.document("pods", "default", "p")["status"]


def annotate(writer: FakeWriter, **annotations: str | None) -> None:
    def change(document: Document) -> None:
        known = document["metadata"].setdefault("annotations", {})
        for name, value in annotations.items():
            known.pop(f"moorage/{name}", None)
            if value is not None:
                known[f"moorage/{name}"] = value

    writer.edit("pods", "default", "p", change)


def events(writer: FakeWriter, reason: str) -> list[str]:
    every = (event.document for event in writer.store.objects("events"))
    return [event["message"] for event in every if event["reason"] == reason]


def condition(writer: FakeWriter, name: str) -> tuple[str, str, str]:
    [found] = [each for each in status_of(writer)["conditions"] if each["type"] == name]
    return found["status"], found.get("reason", ""), found.get("message", "")


def test_readiness_follows_the_annotation() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", noted(annotations={"moorage/ready": "false"}))
        await asyncio.sleep(100)
        unready = ("False", "ContainersNotReady", "containers with unready status: [c]")
        assert status_of(writer)["phase"] == "Running"
        assert condition(writer, "Ready") == condition(writer, "ContainersReady") == unready
        assert status_of(writer)["containerStatuses"][0]["ready"] is False
        annotate(writer, ready="true")
        await asyncio.sleep(1)
        assert condition(writer, "Ready") == ("True", "", "")
        assert status_of(writer)["containerStatuses"][0]["ready"] is True
        annotate(writer, ready="false")
        await asyncio.sleep(1)
        assert condition(writer, "Ready") == unready
        annotate(writer, ready=None)
        await asyncio.sleep(1)
        assert condition(writer, "Ready") == ("True", "", "")
        assert len(events(writer, "Started")) == 1

    in_cluster(test)


@pytest.mark.parametrize(
    "document",
    [
        noted(annotations={"moorage/ready": "20s"}),
        pod("p", containers=[{"name": "c", "image": "i", "readinessProbe": {"initialDelaySeconds": 20}}]),
    ],
    ids=["annotated", "probed"],
)
def test_a_pod_becomes_ready_later(document: Document) -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", document)
        await asyncio.sleep(20)
        assert condition(writer, "Ready")[0] == "False"
        await asyncio.sleep(2)
        assert condition(writer, "Ready")[0] == "True"

    in_cluster(test)


def test_a_sidecar_that_is_not_ready_keeps_its_pod_from_being_ready() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        probe = {"initialDelaySeconds": 20}
        sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "readinessProbe": probe}
        writer.create("pods", pod("p", initContainers=[{"name": "i", "image": "i"}, sidecar]))
        await asyncio.sleep(5)
        assert condition(writer, "Initialized") == ("True", "", "")
        message = "containers with unready status: [s]"
        assert condition(writer, "Ready") == ("False", "ContainersNotReady", message)
        [init, sidecar_status] = status_of(writer)["initContainerStatuses"]
        assert list(init["state"]) == ["terminated"]
        assert list(sidecar_status["state"]) == ["running"]
        assert (sidecar_status["started"], sidecar_status["ready"]) == (True, False)
        await asyncio.sleep(20)
        assert condition(writer, "Ready")[0] == "True"

    in_cluster(test)


def test_a_pod_is_not_active_for_longer_than_its_deadline() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p", activeDeadlineSeconds=30))
        await asyncio.sleep(30)
        assert status_of(writer)["phase"] == "Running"
        await asyncio.sleep(2)
        status = status_of(writer)
        message = "Pod was active on the node longer than the specified deadline"
        assert (status["phase"], status["reason"], status["message"]) == (
            "Failed",
            "DeadlineExceeded",
            message,
        )
        assert condition(writer, "Ready") == ("False", "PodFailed", "")
        assert events(writer, "DeadlineExceeded") == [message]
        assert events(writer, "Killing") == ["Stopping container c"]

    in_cluster(test)


def test_a_deadline_may_come_later() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p"))
        await asyncio.sleep(30)
        writer.edit("pods", "default", "p", lambda each: each["spec"].update(activeDeadlineSeconds=60))
        await asyncio.sleep(20)
        assert status_of(writer)["phase"] == "Running"
        assert status_of(writer)["observedGeneration"] == 2
        writer.edit("pods", "default", "p", lambda each: each["spec"].update(activeDeadlineSeconds=40))
        await asyncio.sleep(1)
        assert status_of(writer)["phase"] == "Failed"
        assert status_of(writer)["observedGeneration"] == 3

    in_cluster(test)


def test_a_change_is_observed_and_another_image_restarts_the_container() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p"))
        await asyncio.sleep(5)
        known = status_of(writer)
        writer.edit("pods", "default", "p", lambda each: each["spec"].update(tolerations=[{"key": "a"}]))
        await asyncio.sleep(1)
        status = status_of(writer)
        assert status["observedGeneration"] == 2
        assert {each["observedGeneration"] for each in status["conditions"]} == {2}
        assert status["containerStatuses"] == known["containerStatuses"]
        image = [{"name": "c", "image": "nginx:2"}]
        writer.edit("pods", "default", "p", lambda each: each["spec"].update(containers=image))
        await asyncio.sleep(1)
        [container] = status_of(writer)["containerStatuses"]
        assert (container["image"], container["restartCount"], container["ready"]) == ("nginx:2", 1, True)
        assert container["lastState"]["terminated"]["containerID"] != container["containerID"]
        assert events(writer, "Killing") == ["Container c definition changed, will be restarted"]
        assert events(writer, "Pulled")[-1] == 'Container image "nginx:2" already present on machine'

    in_cluster(test)


def test_an_incomplete_status_is_made_anew() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", pod("p"))
        await asyncio.sleep(5)
        stored = writer.store.get("pods", "default", "p")
        assert stored is not None
        writer.set_status("pods", stored, containerStatuses=[{"name": "c"}], conditions=[])
        await asyncio.sleep(1)
        assert condition(writer, "Ready")[0] == "True"
        [container] = status_of(writer)["containerStatuses"]
        assert list(container["state"]) == ["running"]

    in_cluster(test)


def test_a_hook_that_sleeps_delays_the_end() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        sidecar = {"name": "s", "image": "i", "restartPolicy": "Always"}
        writer.create("pods", sleeping(initContainers=[sidecar]))
        await asyncio.sleep(5)
        writer.end("pods", "default", "p")
        await asyncio.sleep(9.5)
        assert status_of(writer)["phase"] == "Running"
        assert status_of(writer)["observedGeneration"] == 2
        assert values(writer.document("pods", "default", "p"))["Ready"] == "True"
        killing = ["Stopping container s", "Stopping container c"]
        assert events(writer, "Killing") == killing
        await asyncio.sleep(1)
        assert writer.names("pods") == []
        assert events(writer, "Killing") == killing

    in_cluster(test)


def test_a_hook_does_not_sleep_longer_than_the_grace_period() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", sleeping())
        await asyncio.sleep(5)
        writer.end("pods", "default", "p", grace_seconds=20)
        await asyncio.sleep(2)
        writer.end("pods", "default", "p", grace_seconds=5)
        await asyncio.sleep(2)
        assert writer.names("pods") == ["p"]
        writer.end("pods", "default", "p", grace_seconds=8)  # later than before: of no effect
        await asyncio.sleep(2)
        assert writer.names("pods") == []

    in_cluster(test)


def test_no_hook_runs_in_a_pod_that_has_not_started() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        writer.create("pods", sleeping())
        writer.end("pods", "default", "p")
        await asyncio.sleep(1)
        assert writer.names("pods") == []

    in_cluster(test)


def test_a_pod_that_sleeps_when_the_cluster_starts_ends_in_time() -> None:
    async def test(writer: FakeWriter) -> None:
        document = sleeping()
        deleted = {"deletionTimestamp": timestamp(START + 26), "deletionGracePeriodSeconds": 30}
        document["metadata"] |= deleted
        document["status"] = {"phase": "Running"}
        add_nodes(writer)
        writer.create("pods", document)
        await asyncio.sleep(5)
        assert writer.names("pods") == ["p"]
        await asyncio.sleep(2)
        assert writer.names("pods") == []

    in_cluster(test)


DURATIONS = st.one_of(
    st.none(), st.sampled_from(["true", "false"]), st.integers(0, 10**6).map(lambda n: f"{n}s")
)


@given(
    ready=DURATIONS,
    deadline=st.none() | st.integers(1, 10**6),
    age=st.integers(0, 10**7).map(lambda n: n / 10),
)
def test_nothing_happens_between_two_moments(ready: str | None, deadline: int | None, age: float) -> None:
    spec: dict[str, Any] = {} if deadline is None else {"activeDeadlineSeconds": deadline}
    course = course_of(noted(annotations={"moorage/ready": ready} if ready else {}, **spec))

    def what(age: float) -> tuple[bool, bool]:
        return course.is_ready("c", age), age >= course.deadline

    following = course.next_after(age)
    assert following > age
    if following == NEVER:
        assert what(age) == what(10**9)
    else:
        assert what(age) == what((age + following) / 2)
        assert what(age) != what(following)


@given(
    sleep=st.integers(0, 100),
    first=st.integers(1, 100),
    second=st.integers(1, 100),
    passed=st.floats(0, 200),
)
def test_a_shorter_grace_never_makes_the_end_later(
    sleep: int, first: int, second: int, passed: float
) -> None:
    def rest(grace: int) -> float:
        document = sleeping()
        document["status"] = {"phase": "Running"}
        document["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": sleep}}}
        deleted = {"deletionTimestamp": timestamp(START + grace), "deletionGracePeriodSeconds": grace}
        document["metadata"] |= deleted
        return rest_of_end(document, START + passed)

    assert rest(min(first, second)) <= rest(max(first, second))
    assert rest(first) == pytest.approx(max(min(sleep, first) - passed, 0))


def test_a_pod_is_as_old_as_it_is_at_least() -> None:
    document = pod("p")
    assert age_of(document, START) == 0
    document["status"] = {"startTime": timestamp(START + 0.9)}
    assert age_of(document, START + 0.95) == 0
    assert age_of(document, START + 10.9) == pytest.approx(9.9)
