"""What an ElasticQuota says that its namespace uses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.contrib.controllers.quota_status import Usage, first_of, quota_status
from moorage.contrib.objects import ElasticQuota


def quota(
    used: dict[str, Any] | None = None, created: str = "", name: str = "quota", **spec: Any
) -> ElasticQuota:
    metadata = {"namespace": "ns", "name": name, **({"creationTimestamp": created} if created else {})}
    status = {} if used is None else {"used": used}
    return from_document(ElasticQuota, {"metadata": metadata, "spec": spec, "status": status})


def pod(
    name: str = "pod",
    *,
    phase: str = "Running",
    node: str = "node",
    overhead: dict[str, str] | None = None,
    init: dict[str, str] | None = None,
    **requests: Any,
) -> Pod:
    def container(amounts: dict[str, Any]) -> dict[str, Any]:
        return {"name": "main", "resources": {"requests": amounts}}

    spec: dict[str, Any] = {"containers": [container(requests)]}
    if node:
        spec["nodeName"] = node
    if overhead:
        spec["overhead"] = overhead
    if init:
        spec["initContainers"] = [container(init)]
    metadata = {"namespace": "ns", "name": name, "uid": name}
    return from_document(Pod, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})


GPU: dict[str, Any] = {"example.com/gpu": "2"}


@pytest.mark.parametrize(
    ("spec", "pods", "used"),
    [
        pytest.param({}, [], {}, id="no limits and no pods"),
        pytest.param(
            {"min": {"cpu": "1"}, "max": {"memory": "1Gi"}}, [], {"cpu": "0", "memory": "0"}, id="zeros"
        ),
        pytest.param(
            {"min": {"cpu": "1"}},
            [pod("a", cpu="500m"), pod("b", cpu="1"), pod("c", cpu="500m")],
            {"cpu": "2"},
            id="the sum",
        ),
        pytest.param({"min": {"cpu": "1"}}, [pod(cpu="250m")], {"cpu": "250m"}, id="parts of a cpu"),
        pytest.param(
            {"max": {"memory": "8Gi"}},
            [pod("a", memory="1Gi"), pod("b", memory="512Mi")],
            {"memory": "1536Mi"},
            id="memory",
        ),
        pytest.param({}, [pod(**GPU)], GPU, id="what is asked for and not limited"),
        pytest.param({"max": GPU}, [pod(cpu="1")], {"cpu": "1", "example.com/gpu": "0"}, id="both"),
        pytest.param(
            {"min": {"cpu": "1"}},
            [pod(cpu="1", overhead={"cpu": "100m", "memory": "64Mi"})],
            {"cpu": "1100m", "memory": "64Mi"},
            id="overhead counts",
        ),
        pytest.param(
            {"min": {"cpu": "1"}}, [pod(cpu="1", init={"cpu": "3"})], {"cpu": "3"}, id="init containers"
        ),
        pytest.param(
            {"min": {"cpu": "1"}}, [pod(cpu="1", phase="Pending")], {"cpu": "1"}, id="bound, not running yet"
        ),
        pytest.param(
            {"min": {"cpu": "1"}}, [pod(cpu="1", phase="Pending", node="")], {"cpu": "0"}, id="not bound"
        ),
        pytest.param({"min": {"cpu": "1"}}, [pod(cpu="1", phase="Succeeded")], {"cpu": "0"}, id="succeeded"),
        pytest.param({"min": {"cpu": "1"}}, [pod(cpu="1", phase="Failed")], {"cpu": "0"}, id="failed"),
        pytest.param({"max": {"pods": "5"}}, [pod("a"), pod("b")], {"pods": "2"}, id="pods are counted"),
    ],
)
def test_what_is_used(spec: dict[str, Any], pods: list[Pod], used: dict[str, str]) -> None:
    assert quota_status(quota(**spec), Usage.of(pods)).used == used


@pytest.mark.parametrize("text", ["1Gi", "1024Mi", 1073741824, "1073741824"])
def test_the_same_amount_in_other_words_is_no_change(text: str | int) -> None:
    same = quota({"memory": text}, max={"memory": "2Gi"})
    assert quota_status(same, Usage.of([pod(memory="1Gi")])) is same.status


@pytest.mark.parametrize(
    "used", [None, {}, {"memory": "1Gi", "cpu": "0"}, {"memory": "2Gi"}, {"memory": "much"}]
)
def test_anything_else_is_one(used: dict[str, str] | None) -> None:
    found = quota_status(quota(used, max={"memory": "2Gi"}), Usage.of([pod(memory="1Gi")]))
    assert found.used == {"memory": "1Gi"}


def test_an_empty_status_is_not_written_again_and_again() -> None:
    empty = quota({})
    assert quota_status(empty, Usage()) is empty.status


def test_the_oldest_counts() -> None:
    old, young = quota(created="2026-01-01T00:00:00Z", name="z"), quota(created="2026-01-02T00:00:00Z")
    assert first_of([young, old]) is old
    assert first_of([quota(name="b"), same := quota(name="a")]) is same
    assert first_of([]) is None


pods_drawn = st.lists(
    st.builds(
        pod,
        st.sampled_from("abc"),
        phase=st.sampled_from(["Pending", "Running", "Succeeded"]),
        node=st.sampled_from(["", "node"]),
        cpu=st.integers(0, 3),
        memory=st.sampled_from(["0", "1Gi"]),
    )
)


@given(pods_drawn, st.sets(st.sampled_from("abc")))
def test_what_comes_and_goes_is_as_what_is_there(changes: list[Pod], gone: set[str]) -> None:
    usage, there = Usage(), dict[str, Pod]()
    for change in changes:
        usage.put(change)
        there[change.uid] = change
    for uid in gone & there.keys():
        usage.remove(there.pop(uid))
    fresh = Usage.of(there.values())
    assert (usage.total, usage.pods) == (fresh.total, fresh.pods)


def test_whether_a_pod_makes_a_difference() -> None:
    usage = Usage()
    assert not usage.put(pod(cpu="1", node=""))
    assert usage.put(pod(cpu="1", phase="Pending"))
    assert not usage.put(pod(cpu="1", phase="Running"))
    assert usage.put(pod(cpu="2"))
    assert usage.put(pod(cpu="2", phase="Failed"))
    assert not usage.remove(pod())
