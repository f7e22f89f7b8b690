"""Pods with a claim each, of a class that waits for its first consumer.

A provisioner answers with volumes that were made before, so that a run measures schedulers, not provisioning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bench.drain.workload import NAMESPACE, Bounds, Document, Objects, Size, Workload, for_the_bench
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.what_if.workloads import make_pods

_CLASS, _POOL = "waits", "made-before"
_SELECTED = "volume.kubernetes.io/selected-node"
_COMPLETED = "pv.kubernetes.io/bind-completed"
_CLAIMS = Resource.of(PersistentVolumeClaim)


def pods(prefix: str, size: Size) -> Iterator[Document]:
    for pod in make_pods("plain", size.pods, prefix):
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": pod.name}}
        yield for_the_bench(pod.raw, volumes=[volume])


def storage_class(size: Size) -> Objects:
    names = {"metadata": {"name": _CLASS}, "provisioner": "bench.example"}
    yield StorageClass, {**names, "volumeBindingMode": "WaitForFirstConsumer"}


def claims(prefix: str, size: Size) -> Objects:
    names = [pod.name for pod in make_pods("plain", size.pods, prefix)]
    for name in names:
        yield PersistentVolume, _volume(name)
    for name in names:
        yield PersistentVolumeClaim, _claim(name)


async def provision(client: HttpClient, size: Size) -> None:
    """Gives every claim for which a node was selected the volume of its name."""
    given: set[str] = set()
    async with asyncio.TaskGroup() as tasks:

        def look(claim: PersistentVolumeClaim) -> None:
            if _SELECTED in claim.annotations and not claim.spec.volume_name and claim.name not in given:
                given.add(claim.name)
                tasks.create_task(_bind(client, claim))

        await Informer(
            client, _CLAIMS, added=look, updated=lambda old, new: look(new), deleted=lambda claim: None
        ).run()


async def _bind(client: HttpClient, claim: PersistentVolumeClaim) -> None:
    patch = {"metadata": {"annotations": {_COMPLETED: "yes"}}, "spec": {"volumeName": claim.name}}
    await client.patch(_CLAIMS, claim.name, patch, namespace=claim.namespace)


def _volume(name: str) -> Document:
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": _POOL,
            "claimRef": {"namespace": NAMESPACE, "name": name},
            "csi": {"driver": "bench.example", "volumeHandle": name},
        },
    }


def _claim(name: str) -> Document:
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": _CLASS,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


WORKLOAD = Workload(
    "volumes",
    pods,
    Bounds(1.5, None),
    size=Size(5000, 2000),
    lasting=storage_class,
    company=claims,
    meanwhile=provision,
)
