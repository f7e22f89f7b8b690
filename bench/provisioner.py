"""Gives every claim for which a node was selected the volume of its name, until it is ended."""

from __future__ import annotations

import asyncio
import sys

from moorage.api.storage import PersistentVolumeClaim
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource

_SELECTED = "volume.kubernetes.io/selected-node"
_COMPLETED = "pv.kubernetes.io/bind-completed"
_CLAIMS = Resource.of(PersistentVolumeClaim)


async def run(kubeconfig: str) -> None:
    async with HttpClient(from_kubeconfig(kubeconfig), qps=-1) as client, asyncio.TaskGroup() as tasks:
        given: set[str] = set()

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


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
