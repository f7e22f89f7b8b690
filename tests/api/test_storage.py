from __future__ import annotations

from typing import Any

import pytest

from moorage.api import decoding
from moorage.api.meta import Object
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.api.complete import METADATA, assert_complete

REQUIREMENT = {"key": "c", "operator": "In", "values": ["d"]}
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [REQUIREMENT]}


@pytest.mark.parametrize(
    ("kind", "version", "fields"),
    [
        (
            PersistentVolumeClaim,
            "v1",
            {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "selector": SELECTOR,
                    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
                    "volumeName": "v",
                    "storageClassName": "fast",
                    "volumeMode": "Block",
                    "volumeAttributesClassName": "gold",
                },
                "status": {
                    "phase": "Bound",
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                },
            },
        ),
        (
            PersistentVolume,
            "v1",
            {
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "claimRef": {
                        "kind": "PersistentVolumeClaim",
                        "apiVersion": "v1",
                        "namespace": "shop",
                        "name": "c",
                        "uid": "u",
                        "resourceVersion": "1",
                        "fieldPath": "f",
                    },
                    "storageClassName": "fast",
                    "volumeMode": "Block",
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [REQUIREMENT], "matchFields": [REQUIREMENT]}
                            ]
                        }
                    },
                    "volumeAttributesClassName": "gold",
                    "csi": {"driver": "d", "volumeHandle": "h"},
                    "gcePersistentDisk": {"pdName": "d"},
                    "awsElasticBlockStore": {"volumeID": "d"},
                    "azureDisk": {"diskName": "d"},
                    "azureFile": {"shareName": "d"},
                    "cinder": {"volumeID": "d"},
                    "vsphereVolume": {"volumePath": "d"},
                    "portworxVolume": {"volumeID": "d"},
                },
                "status": {"phase": "Available"},
            },
        ),
        (
            StorageClass,
            "storage.k8s.io/v1",
            {
                "provisioner": "p",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowedTopologies": [{"matchLabelExpressions": [REQUIREMENT]}],
            },
        ),
        (
            CSINode,
            "storage.k8s.io/v1",
            {
                "spec": {
                    "drivers": [
                        {"name": "d", "nodeID": "i", "topologyKeys": ["zone"], "allocatable": {"count": 5}},
                    ]
                }
            },
        ),
        (CSIDriver, "storage.k8s.io/v1", {"spec": {"storageCapacity": True, "attachRequired": True}}),
        (
            CSIStorageCapacity,
            "storage.k8s.io/v1",
            {
                "nodeTopology": SELECTOR,
                "storageClassName": "fast",
                "capacity": "1Gi",
                "maximumVolumeSize": "1Gi",
            },
        ),
        (
            VolumeAttachment,
            "storage.k8s.io/v1",
            {
                "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
                "status": {"attached": True},
            },
        ),
    ],
)
def test_every_field(kind: type[Object], version: str, fields: dict[str, Any]) -> None:
    assert_complete(kind, {"apiVersion": version, "kind": kind.kind, "metadata": METADATA, **fields})


def test_an_empty_storage_class_name_is_not_an_absent_one() -> None:
    assert (
        decoding.decode(PersistentVolumeClaim, b'{"spec": {"storageClassName": ""}}').spec.storage_class_name
        == ""
    )
    assert decoding.decode(PersistentVolumeClaim, b'{"spec": {}}').spec.storage_class_name is None


def test_an_allocatable_without_a_count_has_no_limit() -> None:
    source = b'{"spec": {"drivers": [{"allocatable": {}}, {"allocatable": {"count": 0}}]}}'
    counts = [
        driver.allocatable and driver.allocatable.count
        for driver in decoding.decode(CSINode, source).spec.drivers
    ]
    assert counts == [None, 0]


def test_node_affinity_of_a_volume_matches_nodes() -> None:
    source = (
        b'{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": '
        b'[{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}}}'
    )
    affinity = decoding.decode(PersistentVolume, source).spec.node_affinity
    assert affinity is not None
    assert affinity.required is not None
    assert affinity.required.matches({"zone": "a"}, "n")
    assert not affinity.required.matches({"zone": "b"}, "n")
