"""Storage objects, nodes and pods with volumes, drawn by chance: few names, so that they meet.

A world has dozens of parts of which most must be there for anything to happen; chance alone finds such worlds
sooner than a search from the smallest one on.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.testing import make_node, make_pod

Document = dict[str, Any]

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
EBS_DRIVER = "ebs.csi.aws.com"
NODE_NAMES = ("n0", "n1", "n2")
CLAIM_NAMES = ("a", "b", "p0-v")
VOLUME_NAMES = ("pv0", "pv1", "pv2")
CLASS_NAMES = ("c0", "c1")
ATTACHMENT_NAMES = ("va0", "va1")

VOLUME_SOURCES: list[Document] = [
    {"csi": {"driver": "d0", "volumeHandle": "h0"}},
    {"csi": {"driver": "d0", "volumeHandle": "h1"}},
    {"csi": {"driver": "d1", "volumeHandle": "h0"}},
    {"csi": {"driver": EBS_DRIVER, "volumeHandle": "vol-1"}},
    {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}},
    {"awsElasticBlockStore": {"volumeID": "aws://z/nonsense"}},
    {"azureFile": {"shareName": "s"}},
    {"nfs": {"server": "s", "path": "/"}},
]
INLINE_SOURCES: list[Document] = [
    {"emptyDir": {}},
    {"awsElasticBlockStore": {"volumeID": "vol-1"}},
    {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}},
    {"awsElasticBlockStore": {"volumeID": "vol-2"}},
    {"azureDisk": {"diskURI": "u", "kind": "Dedicated"}},
    {"azureFile": {"shareName": "s"}},
    {"gcePersistentDisk": {"pdName": "g"}},
    {"gcePersistentDisk": {"pdName": "g", "readOnly": True}},
    {"iscsi": {"iqn": "i", "targetPortal": "x", "lun": 1}},
    {"iscsi": {"iqn": "i", "targetPortal": "y", "lun": 2, "readOnly": True}},
    {"rbd": {"monitors": ["m1", "m2"], "pool": "p", "image": "i"}},
    {"rbd": {"monitors": ["m2", "m3"], "pool": "p", "image": "i", "readOnly": True}},
    {"rbd": {"monitors": ["m3"], "pool": "q", "image": "i", "readOnly": True}},
]

TOPOLOGY_KEYS = (ZONE, REGION, BETA_ZONE, BETA_REGION)


def made(kind: type[Object], name: str, body: Document, namespace: str = "", **metadata: Any) -> Any:
    return from_document(kind, {"metadata": {"name": name, "namespace": namespace, **metadata}, **body})


def labels(chance: Random, values: tuple[str, ...]) -> dict[str, str]:
    return {key: chance.choice(values) for key in TOPOLOGY_KEYS if chance.random() < 0.3}


def node(chance: Random, name: str) -> Node:
    return make_node(name, labels=labels(chance, ("x", "y")))


def claim(chance: Random, key: str) -> PersistentVolumeClaim:
    namespace, name = key.split("/")
    spec: Document = {
        "volumeName": chance.choice(["", *VOLUME_NAMES, *VOLUME_NAMES]),
        "accessModes": chance.choice([["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOncePod"]]),
        "storageClassName": chance.choice(["", *CLASS_NAMES]),
    }
    metadata: Document = {}
    annotation = chance.choice([None, None, None, "", "c1"])
    if annotation is not None:
        metadata["annotations"] = {"volume.beta.kubernetes.io/storage-class": annotation}
    if chance.random() < 0.7:
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p0",
            "uid": f"{namespace}-p0",
            "controller": True,
        }
        metadata["ownerReferences"] = [owner]
    result: PersistentVolumeClaim = made(PersistentVolumeClaim, name, {"spec": spec}, namespace, **metadata)
    return result


def volume(chance: Random, name: str) -> PersistentVolume:
    zones = labels(chance, ("x", "y", "x__y", " y __z", "x__", ""))
    result: PersistentVolume = made(
        PersistentVolume, name, {"spec": chance.choice(VOLUME_SOURCES)}, labels=zones
    )
    return result


def storage_class(chance: Random, name: str) -> StorageClass:
    provisioners = ["d0", "d1", "kubernetes.io/aws-ebs", "kubernetes.io/azure-file", ""]
    modes = ["Immediate", "WaitForFirstConsumer", "WaitForFirstConsumer", None]
    body = {"provisioner": chance.choice(provisioners), "volumeBindingMode": chance.choice(modes)}
    result: StorageClass = made(StorageClass, name, body)
    return result


def csi_node(chance: Random, name: str) -> CSINode:
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": {"count": chance.choice([0, 1, 1, 2, 2, 3, None])}}
        for driver in ("d0", "d1", EBS_DRIVER)
        if chance.random() < 0.8
    ]
    result: CSINode = made(CSINode, name, {"spec": {"drivers": drivers}})
    return result


def attachment(chance: Random, name: str) -> VolumeAttachment:
    spec = {
        "attacher": chance.choice(["d0", "d0", "d1", EBS_DRIVER, ""]),
        "nodeName": chance.choice(NODE_NAMES),
        "source": {"persistentVolumeName": chance.choice([None, *VOLUME_NAMES, *VOLUME_NAMES])},
    }
    result: VolumeAttachment = made(VolumeAttachment, name, {"spec": spec})
    return result


NAMES: list[tuple[Callable[[Random, str], Object], str]] = [
    *((node, name) for name in NODE_NAMES),
    *((claim, f"default/{name}") for name in CLAIM_NAMES),
    *((claim, f"other/{name}") for name in CLAIM_NAMES),
    *((volume, name) for name in VOLUME_NAMES),
    *((storage_class, name) for name in CLASS_NAMES),
    *((csi_node, name) for name in NODE_NAMES),
    *((attachment, name) for name in ATTACHMENT_NAMES),
]
"""Everything but pods that may be there, and how it is made."""


def cluster(chance: Random) -> list[Object]:
    """Everything but pods; most of what may be there is."""
    return [make(chance, name) for make, name in NAMES if chance.random() < 0.85]


def pod_volume(chance: Random) -> Document:
    source = chance.random()
    if source < 0.6:
        return {"persistentVolumeClaim": {"claimName": chance.choice(CLAIM_NAMES)}}
    if source < 0.7:
        return {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    return chance.choice(INLINE_SOURCES)


def pod(chance: Random, name: str, node: str = "") -> Pod:
    # Only the first volume may have the name to which a claim belongs.
    named = [
        {"name": f"w{place}" if place else "v", **pod_volume(chance)} for place in range(chance.randint(0, 3))
    ]
    namespace = chance.choice(["default", "default", "default", "other"])
    return make_pod(name, namespace=namespace, uid=f"{namespace}-{name}", node=node, volumes=named)
