from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

import moorage.cluster.schema
import moorage.testing
from moorage.api.decoding import DecodeError
from moorage.testing import make_node, make_pod
from moorage.testing.known_fields import NODE_STATUS, POD_SPEC


def test_every_public_name_is_there() -> None:
    assert {name: getattr(moorage.testing, name) for name in moorage.testing.__all__}
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = moorage.testing.nonsense


def test_a_node_without_wishes() -> None:
    node = make_node()
    assert (node.name, node.uid, node.labels) == ("node", "node-node", {"kubernetes.io/hostname": "node"})
    assert node.status.allocatable == node.status.capacity == {"cpu": "4", "memory": "16Gi", "pods": 110}
    assert (node.spec.taints, node.spec.unschedulable, node.status.images) == ((), False, ())


def test_a_node_with_everything() -> None:
    node = make_node(
        "n",
        cpu=2,
        memory="1Gi",
        pods=5,
        labels={"zone": "a", "kubernetes.io/hostname": "other"},
        annotations={"note": "x"},
        taints=["a=1:NoSchedule", "b:NoExecute", "c=x:y=z:PreferNoSchedule"],
        unschedulable=True,
        images={"app:v1": 100, "app:v2": 200},
        allocatable={"example.com/gpu": 4, "cpu": "3"},
        declaredFeatures=["X"],
    )
    assert node.labels == {"kubernetes.io/hostname": "other", "zone": "a"}
    assert node.annotations == {"note": "x"}
    assert node.status.allocatable == {"cpu": "3", "memory": "1Gi", "pods": 5, "example.com/gpu": 4}
    assert [(taint.key, taint.value, taint.effect) for taint in node.spec.taints] == [
        ("a", "1", "NoSchedule"),
        ("b", "", "NoExecute"),
        ("c", "x:y=z", "PreferNoSchedule"),
    ]
    assert [(image.names, image.size_bytes) for image in node.status.images] == [
        (("app:v1",), 100),
        (("app:v2",), 200),
    ]
    assert node.spec.unschedulable
    assert node.status.declared_features == ("X",)
    assert node.raw["status"]["declaredFeatures"] == ["X"]


@pytest.mark.parametrize("taint", ["", "a", "a=1", ":NoSchedule", "=1:NoSchedule", "a=1:"])
def test_a_taint_that_is_none(taint: str) -> None:
    with pytest.raises(ValueError, match="write it as key=value:Effect or key:Effect"):
        make_node(taints=[taint])


def test_a_pod_without_wishes() -> None:
    pod = make_pod()
    assert (pod.key, pod.uid) == ("default/pod", "pod-default-pod")
    assert pod.spec.scheduler_name == "default-scheduler"
    assert (pod.requests, pod.spec.node_name, pod.spec.priority, pod.labels) == ({}, "", None, {})


def test_a_pod_with_everything() -> None:
    pod = make_pod(
        "p",
        namespace="ns",
        cpu="500m",
        memory="1Gi",
        requests={"example.com/gpu": 1},
        labels={"app": "a"},
        annotations={"note": "x"},
        node="n",
        priority=0,
        scheduler="mine",
        image="app:v1",
        uid="1234",
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
        status={"phase": "Running"},
        nodeSelector={"disk": "ssd"},
        tolerations=[{"operator": "Exists"}],
    )
    assert (pod.key, pod.uid, pod.labels, pod.annotations) == ("ns/p", "1234", {"app": "a"}, {"note": "x"})
    assert pod.requests == {"cpu": 500, "memory": 1 << 30, "example.com/gpu": 1}
    assert (pod.spec.node_name, pod.spec.priority, pod.spec.scheduler_name) == ("n", 0, "mine")
    assert pod.spec.containers[0].image == "app:v1"
    assert pod.deleting
    assert pod.status.phase == "Running"
    assert pod.spec.node_selector == {"disk": "ssd"}
    assert pod.spec.tolerations[0].operator == "Exists"


def test_names_make_uids_apart() -> None:
    pods = [make_pod("a"), make_pod("b"), make_pod("a", namespace="x")]
    assert len({pod.uid for pod in pods}) == 3


def test_a_wrong_field_is_named() -> None:
    with pytest.raises(DecodeError, match=r"Pod default/pod: Expected `array.*\$\.spec\.tolerations"):
        make_pod(tolerations="all")
    with pytest.raises(DecodeError, match=r"Node node: .*\$\.status\.declaredFeatures"):
        make_node(declaredFeatures=5)


@pytest.mark.parametrize(
    ("keyword", "told"),
    [
        ("nodeselector", "make_pod: unknown keyword nodeselector; did you mean nodeSelector?"),
        ("node_selector", "make_pod: unknown keyword node_selector; did you mean nodeSelector?"),
        ("Priority", "make_pod: unknown keyword Priority; did you mean priority?"),
        ("label", "make_pod: unknown keyword label; did you mean labels?"),
        ("zzz", "make_pod: unknown keyword zzz; it takes those of its signature and the fields of a PodSpec"),
    ],
)
def test_a_keyword_that_is_no_field_of_a_pod(keyword: str, told: str) -> None:
    fields: dict[str, Any] = {keyword: {}}
    with pytest.raises(TypeError) as raised:
        make_pod(**fields)
    assert str(raised.value) == told


def test_a_keyword_that_is_no_field_of_a_node() -> None:
    with pytest.raises(TypeError, match=r"^make_node: unknown keyword Images; did you mean images\?$"):
        make_node(Images={})
    with pytest.raises(TypeError, match=r"^make_node: unknown keyword taint; did you mean taints\?$"):
        make_node(taint=["a:NoSchedule"])


def test_fields_that_moorage_does_not_read_are_taken_too() -> None:
    assert make_pod(dnsPolicy="Default").raw["spec"]["dnsPolicy"] == "Default"
    assert make_node(volumesInUse=["v"]).raw["status"]["volumesInUse"] == ["v"]


def test_the_known_fields_are_those_of_the_api() -> None:
    schema = (files(moorage.cluster.schema) / "data" / "core.v1.txt").read_text()

    def fields(kind: str) -> set[str]:
        block = schema.split(f"\n{kind}\n", 1)[1].split("\n\n", 1)[0]
        return {line.split()[0].rstrip("!") for line in block.splitlines()}

    assert set(POD_SPEC) == fields("PodSpec")
    assert set(NODE_STATUS) == fields("NodeStatus")


def test_what_cannot_be_shared_has_a_limit() -> None:
    [container] = make_pod(cpu="1", requests={"example.com/gpu": 2, "hugepages-2Mi": "4Mi"}).spec.containers
    assert container.resources.limits == {"example.com/gpu": 2, "hugepages-2Mi": "4Mi"}
    assert "limits" not in make_pod(cpu="1").raw["spec"]["containers"][0]["resources"]
