"""Advice about claims and volumes; `advice` checks that all that is promised comes true."""

from __future__ import annotations

from typing import Any

from tests.insight.advice.small_clusters import HOSTNAME, advice, node, pod, texts

Document = dict[str, Any]

SELECTED = "volume.kubernetes.io/selected-node"


def with_claim(name: str = "data", **spec: Any) -> Document:
    volume = {"name": "files", "persistentVolumeClaim": {"claimName": name}}
    pending = pod("p", volumes=[volume, {"name": "tmp", "emptyDir": {}}], **spec)
    mounts = [{"name": "files", "mountPath": "/files"}, {"name": "tmp", "mountPath": "/tmp"}]
    pending["spec"]["containers"][0]["volumeMounts"] = mounts
    return pending


def claim(name: str = "data", class_name: str = "slow", size: str = "10Gi", **spec: Any) -> Document:
    annotations = spec.pop("annotations", {})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"claim-{name}",
            "annotations": annotations,
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def storage_class(name: str, mode: str = "WaitForFirstConsumer", provisioner: str = "x.example") -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def volume(name: str, class_name: str = "slow", size: str = "10Gi", **spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"volume-{name}"},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            **spec,
        },
        "status": {"phase": "Available"},
    }


def test_a_claim_that_does_not_exist_is_made() -> None:
    first, second = advice(with_claim(), node("n"), storage_class("fast"))
    assert first["text"] == "there were a claim default/data of storage class fast (n)"
    assert second["text"] == "it did without the volume files (n)"
    (step,) = second["change"]
    paths = [operation["path"] for operation in step["operations"]]
    assert sorted(paths) == ["/spec/containers/0/volumeMounts/0", "/spec/volumes/0"]


def test_the_claim_of_an_ephemeral_volume_is_made_for_its_pod() -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}
    ephemeral = {"name": "cache", "ephemeral": {"volumeClaimTemplate": template}}
    first, *_ = advice(pod("p", volumes=[ephemeral]), node("n"), storage_class("fast"))
    assert first["text"] == "there were a claim default/p-cache of storage class fast (n)"
    (owner,) = first["change"][0]["create"]["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("pod-p", True)


def test_a_claim_that_should_be_bound_long_since() -> None:
    objects = [node("n"), storage_class("slow", "Immediate"), storage_class("fast"), claim()]
    found = texts(with_claim(), *objects, volume("small", size="1Gi"), volume("large", size="20Gi"))
    assert found == [
        "the claim default/data were bound to the volume large (n)",
        "the claim default/data were of storage class fast (n)",
        "it did without the volume files (n)",
    ]


def test_a_claim_that_is_promised_to_another_node() -> None:
    asked = claim(class_name="fast", annotations={SELECTED: "gone"})
    first, *_ = texts(with_claim(), node("n"), storage_class("fast"), asked)
    assert first == "the claim default/data were not promised to node gone (n)"


def test_a_claim_for_one_pod_alone() -> None:
    shared = claim(class_name="fast", accessModes=["ReadWriteOncePod"])
    other = {"name": "files", "persistentVolumeClaim": {"claimName": "data"}}
    objects = [node("n"), node("m"), storage_class("fast"), shared]
    found = texts(with_claim(), *objects, pod("a", on="m", volumes=[other]))
    assert "the claim default/data were ReadWriteOnce, for several pods of a node (m, n)" in found
    assert any(text.startswith("default/a (priority 0) left m") for text in found)


def test_volumes_that_are_too_small_or_elsewhere() -> None:
    here = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": HOSTNAME, "operator": "In", "values": ["n"]}]}]}}  # fmt: skip
    local = storage_class("local", provisioner="kubernetes.io/no-provisioner")
    objects = [node("n"), local, claim(class_name="local"), volume("v", "local", "6Gi", nodeAffinity=here)]
    found = texts(with_claim(), *objects)
    assert found == [
        "the claim default/data asked for 6Gi or less (n)",
        "there were a free volume of 10Gi and storage class local (n)",
        "it did without the volume files (n)",
    ]


def test_resource_claims_are_done_without() -> None:
    pending = pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    pending["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    assert texts(pending, node("n")) == ["it did without the resource claim gpu (n)"]
