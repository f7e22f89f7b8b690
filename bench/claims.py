"""Claims, volumes and devices for pods whose decisions are measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import ClaimVolumeSource, Pod, PodResourceClaim, Volume
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.what_if.workloads import HOSTNAME, ZONE

VOLUMES = ("boundclaim", "newclaim", "localvolume")
"""A claim bound to a volume of a zone, one for which a volume is made, and one for a volume of some node."""
WORKLOADS = (*VOLUMES, "deviceclaim")
"""And a claim for one of the eight devices that every node has."""

_LOCAL_VOLUMES = 2000


def cluster_objects(workload: str, nodes: int) -> Iterator[Object]:
    """What is there before the first pod: the class, and volumes or devices on every node."""
    if workload == "deviceclaim":
        yield from _devices(nodes)
        return
    made = workload != "localvolume"
    provisioner = "csi.example.com" if made else "kubernetes.io/no-provisioner"
    names: dict[str, Any] = {"metadata": {"name": "bench"}, "provisioner": provisioner}
    yield from_document(StorageClass, {**names, "volumeBindingMode": "WaitForFirstConsumer"})
    for number in range(0 if made else max(nodes, _LOCAL_VOLUMES)):
        yield _volume(f"local-{number:05d}", HOSTNAME, f"node-{number % nodes:05d}", {})


def claim_for(workload: str, pod: Pod, number: int) -> Iterator[Object]:
    """Gives the pod a claim; yields it, and its volume if it has one."""
    if workload == "deviceclaim":
        yield _device_claim(pod)
        return
    name, volume = f"claim-{pod.name}", f"volume-{pod.name}" if workload == "boundclaim" else ""
    pod.spec.volumes = (Volume(name="data", persistent_volume_claim=ClaimVolumeSource(name)),)
    if volume:
        reference = {"namespace": "default", "name": name, "uid": name}
        yield _volume(volume, ZONE, f"zone-{number % 3}", {"claimRef": reference})
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    yield from_document(
        PersistentVolumeClaim,
        {
            "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": annotations},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "bench",
                "volumeName": volume,
            },
        },
    )


# `bench before` measures plain pods with an earlier Moorage, too, which knows no devices: what is about them
# is imported where it is needed.


def _devices(nodes: int) -> Iterator[Object]:
    from bench.drain.device_claims import devices
    from bench.drain.workload import Size

    for kind, document in devices(Size(nodes, 0)):
        yield from_document(kind, document)


def _device_claim(pod: Pod) -> Object:
    from bench.drain.device_claims import CLAIM_SPEC
    from moorage.api.devices import ResourceClaim

    pod.spec.resource_claims = (PodResourceClaim(name="device", resource_claim_name=pod.name),)
    names = {"name": pod.name, "namespace": pod.namespace, "uid": f"claim-{pod.name}"}
    document = {"metadata": {**names, "resourceVersion": "1"}, "spec": CLAIM_SPEC}
    return from_document(ResourceClaim, document)


def _volume(name: str, key: str, value: str, more: dict[str, Any]) -> PersistentVolume:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return from_document(
        PersistentVolume,
        {
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "bench",
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                **more,
            },
            "status": {"phase": "Bound" if more else "Available"},
        },
    )
