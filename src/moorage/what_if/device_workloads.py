"""Made-up devices, and claims for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.simulated_devices import Document, counted

DEVICE_CLASS = "gpu"
PER_NODE = 8


def make_devices(nodes: Iterable[str], count: int = PER_NODE) -> Iterator[DeviceClass | ResourceSlice]:
    """The class, and so many devices of it on each of these nodes."""
    devices = counted(DEVICE_CLASS, count)
    for document in devices.classes:
        yield from_document(DeviceClass, _with_uid(document))
    for name in nodes:
        for document in devices.of_node(name):
            yield from_document(ResourceSlice, _with_uid(document))


def is_claimed_class(item: Object) -> bool:
    """Whether it is the class of the devices that made-up claims ask for."""
    return isinstance(item, DeviceClass) and item.name == DEVICE_CLASS


def make_claims(pods: Iterable[Pod]) -> Iterator[ResourceClaim]:
    """For each claim that was made for a pod, as its status tells, one that asks for a device."""
    for pod in pods:
        for status in pod.status.resource_claim_statuses:
            yield from_document(ResourceClaim, _claim(pod, status.name, status.resource_claim_name or ""))


def _claim(pod: Pod, entry: str, name: str) -> Document:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    exactly = {"deviceClassName": DEVICE_CLASS, "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": pod.namespace,
            "uid": f"uid-{name}",
            "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
    }


def _with_uid(document: Document) -> Document:
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "uid": f"uid-{metadata['name']}"}}
