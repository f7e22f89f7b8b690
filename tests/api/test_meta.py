from __future__ import annotations

from moorage.api import decoding
from moorage.api.meta import ObjectMeta, OwnerReference
from moorage.api.nodes import Node
from moorage.api.pods import Container, ContainerPort, Pod, PodSpec
from moorage.api.taints import Toleration
from moorage.api.workloads import PodDisruptionBudget


def test_shortcuts() -> None:
    meta = ObjectMeta(name="web", namespace="shop", uid="u", labels={"a": "b"}, annotations={"c": "d"})
    pod = Pod(metadata=meta)
    assert (pod.name, pod.namespace, pod.uid, pod.key) == ("web", "shop", "u", "shop/web")
    assert (pod.labels, pod.annotations) == ({"a": "b"}, {"c": "d"})
    assert Node(metadata=ObjectMeta(name="node")).key == "node"


def test_deleting() -> None:
    assert not Pod().deleting
    assert Pod(metadata=ObjectMeta(deletion_timestamp="2026-01-01T00:00:00Z")).deleting


def test_api_version() -> None:
    assert Pod.api_version() == "v1"
    assert PodDisruptionBudget.api_version() == "policy/v1"


def test_objects_compare_and_hash_by_identity() -> None:
    one, other = Pod(), Pod()
    assert one != other
    assert len({one, other, one}) == 2
    source = b'{"metadata": {"name": "a"}}'
    assert decoding.decode(Node, source) != decoding.decode(Node, source)


def test_parts_compare_and_hash_by_value() -> None:
    assert len({OwnerReference("v1", "Pod", "a"), OwnerReference("v1", "Pod", "a"), OwnerReference()}) == 2
    assert ObjectMeta(name="a", labels={"b": "c"}) == ObjectMeta(name="a", labels={"b": "c"})


def test_defaults_are_not_shared() -> None:
    one, other = Pod(), Pod()
    one.metadata.labels["a"] = "b"
    one.spec.overhead["cpu"] = "1"
    one.status.allocated_resources["cpu"] = "1"
    assert (other.metadata.labels, other.spec.overhead, other.status.allocated_resources) == ({}, {}, {})
    assert Container().resources is not Container().resources


def test_raw_of_an_object_made_by_hand_is_what_json_would_give() -> None:
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=PodSpec(
            containers=(Container(name="c", ports=(ContainerPort(host_port=80, host_ip="::"),)),),
            tolerations=(Toleration("a", "Exists"),),
        ),
    )
    assert pod.raw == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "containers": [{"name": "c", "resources": {}, "ports": [{"hostPort": 80, "hostIP": "::"}]}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {},
    }
    assert pod.raw is pod.raw
    again = decoding.from_document(Pod, pod.raw)
    assert (again.metadata, again.spec, again.status) == (pod.metadata, pod.spec, pod.status)
