from __future__ import annotations

import inspect

import pytest

from moorage.api import coordination, devices, nodes, pods, storage, workloads
from moorage.api.kinds import KINDS
from moorage.api.meta import Object


@pytest.mark.parametrize(
    ("kind", "api_version", "resource", "namespaced"),
    [
        ("Binding", "v1", "bindings", True),
        ("CSIDriver", "storage.k8s.io/v1", "csidrivers", False),
        ("CSINode", "storage.k8s.io/v1", "csinodes", False),
        ("CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", True),
        ("DeviceClass", "resource.k8s.io/v1", "deviceclasses", False),
        ("Event", "events.k8s.io/v1", "events", True),
        ("Lease", "coordination.k8s.io/v1", "leases", True),
        ("Namespace", "v1", "namespaces", False),
        ("Node", "v1", "nodes", False),
        ("PersistentVolume", "v1", "persistentvolumes", False),
        ("PersistentVolumeClaim", "v1", "persistentvolumeclaims", True),
        ("Pod", "v1", "pods", True),
        ("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", True),
        ("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", False),
        ("ReplicaSet", "apps/v1", "replicasets", True),
        ("ReplicationController", "v1", "replicationcontrollers", True),
        ("ResourceClaim", "resource.k8s.io/v1", "resourceclaims", True),
        ("ResourceSlice", "resource.k8s.io/v1", "resourceslices", False),
        ("Service", "v1", "services", True),
        ("StatefulSet", "apps/v1", "statefulsets", True),
        ("StorageClass", "storage.k8s.io/v1", "storageclasses", False),
        ("VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", False),
    ],
)
def test_a_kind(kind: str, api_version: str, resource: str, namespaced: bool) -> None:
    found = KINDS[kind]
    assert (found.kind, found.api_version(), found.resource, found.namespaced) == (
        kind,
        api_version,
        resource,
        namespaced,
    )


def test_every_object_is_listed() -> None:
    modules = (coordination, devices, nodes, pods, storage, workloads)
    classes = {
        item
        for module in modules
        for _, item in inspect.getmembers(module, inspect.isclass)
        if issubclass(item, Object) and item is not Object
    }
    assert set(KINDS.values()) == classes
