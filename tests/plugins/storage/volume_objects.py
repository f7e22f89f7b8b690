"""Volumes, claims, classes and what drivers say, in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.testing import make_pod

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER, NO_PROVISIONER = "csi.example.com", "kubernetes.io/no-provisioner"
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def affinity(*terms: Sequence[Document]) -> Document:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(lines)} for lines in terms]}}


def line(key: str, *values: str, operator: str = "In") -> Document:
    return {"key": key, "operator": operator, "values": list(values)}


def in_zone(*zones: str) -> Document:
    return affinity([line(ZONE, *zones)])


def make_volume(
    name: str,
    size: str = "10Gi",
    *,
    storage_class: str = "local",
    node_affinity: Document | None = None,
    claim: Document | None = None,
    phase: str = "Available",
    labels: Mapping[str, str] | None = None,
    version: str = "1",
    deleting: bool = False,
    modes: Sequence[str] = ("ReadWriteOnce",),
    **spec: Any,
) -> PersistentVolume:
    return from_document(
        PersistentVolume,
        {
            "metadata": {
                "name": name,
                "uid": f"volume-{name}",
                "labels": dict(labels or {}),
                "resourceVersion": version,
                **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
            },
            "spec": {
                "capacity": {"storage": size},
                "accessModes": list(modes),
                "storageClassName": storage_class,
                **({"nodeAffinity": node_affinity} if node_affinity is not None else {}),
                **({"claimRef": claim} if claim is not None else {}),
                **spec,
            },
            "status": {"phase": phase},
        },
    )


def make_claim(
    name: str,
    size: str | None = "5Gi",
    *,
    storage_class: str | None = "local",
    volume: str = "",
    completed: bool | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    version: str = "1",
    owner: Pod | None = None,
    deleting: bool = False,
    modes: Sequence[str] = ("ReadWriteOnce",),
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim; one that names a volume is bound unless told otherwise."""
    is_completed = bool(volume) if completed is None else completed
    owners = [{"kind": "Pod", "name": owner.name, "uid": owner.uid, "controller": True}] if owner else []
    return from_document(
        PersistentVolumeClaim,
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"claim-{name}",
                "resourceVersion": version,
                "annotations": {**({COMPLETED: "yes"} if is_completed else {}), **(annotations or {})},
                "ownerReferences": owners,
                **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
            },
            "spec": {
                "accessModes": list(modes),
                "resources": {"requests": {"storage": size}} if size is not None else {},
                "volumeName": volume,
                **({"storageClassName": storage_class} if storage_class is not None else {}),
                **spec,
            },
            "status": {"phase": phase or ("Bound" if is_completed else "Pending")},
        },
    )


def make_class(
    name: str = "local",
    provisioner: str = NO_PROVISIONER,
    *,
    mode: str | None = "WaitForFirstConsumer",
    topologies: Sequence[Mapping[str, Sequence[str]]] = (),
) -> StorageClass:
    """`topologies` are terms: each a map of label to values."""
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": list(values)} for key, values in term.items()]}
        for term in topologies
    ]
    return from_document(
        StorageClass,
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "allowedTopologies": terms,
            **({"volumeBindingMode": mode} if mode is not None else {}),
        },
    )


def make_driver(name: str = DRIVER, capacity: bool | None = True) -> CSIDriver:
    spec = {} if capacity is None else {"storageCapacity": capacity}
    return from_document(CSIDriver, {"metadata": {"name": name}, "spec": spec})


def make_capacity(
    name: str,
    size: str | None = "10Gi",
    *,
    storage_class: str = "made",
    topology: Document | None = None,
    largest: str | None = None,
) -> CSIStorageCapacity:
    return from_document(
        CSIStorageCapacity,
        {
            "metadata": {"name": name, "namespace": "drivers"},
            "storageClassName": storage_class,
            **({"capacity": size} if size is not None else {}),
            **({"maximumVolumeSize": largest} if largest is not None else {}),
            **({"nodeTopology": topology} if topology is not None else {}),
        },
    )


def make_csi_node(name: str, migrated: str = "") -> CSINode:
    annotations = {MIGRATED: migrated} if migrated else {}
    return from_document(CSINode, {"metadata": {"name": name, "annotations": annotations}})


def pod_with(*claims: str, name: str = "p", **more: Any) -> Pod:
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]
    return make_pod(name, volumes=volumes, **more)
