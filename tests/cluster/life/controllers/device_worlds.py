"""A whole embedded cluster in fake time, and somebody who allocates devices as a scheduler does."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.devices.claims import CLAIMS, FINALIZER, is_reserved_for, named_claims
from moorage.cluster.life.nodes import default_nodes
from moorage.cluster.life.nodes.pod_annotations import FINISH
from tests import fake_time
from tests.cluster.api_worlds import World, living

GROUP = "/apis/resource.k8s.io/v1"
CLAIM_PATH = f"{GROUP}/namespaces/default/resourceclaims"
TEMPLATE_PATH = f"{GROUP}/namespaces/default/resourceclaimtemplates"
POD_PATH = "/api/v1/namespaces/default/pods"

MOMENT = 0.1
"""In which everything is done that there is to do."""
ALLOCATION = {
    "devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}]}
}


def spec(count: int = 1) -> Document:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def generated(entry: str, template: str = "one-gpu") -> Document:
    return {"name": entry, "resourceClaimTemplateName": template}


def named(entry: str, claim: str) -> Document:
    return {"name": entry, "resourceClaimName": claim}


class Devices:
    """What tests do with claims and the pods that use them, in the namespace `default`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store

    # What people do

    def create_template(self, name: str = "one-gpu", **metadata: Any) -> None:
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name},
            "spec": {"metadata": metadata, "spec": spec()},
        }
        self.world.create(TEMPLATE_PATH, document)

    def create_claim(self, name: str, **metadata: Any) -> None:
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, **metadata},
            "spec": spec(),
        }
        self.world.create(CLAIM_PATH, document)

    def create_pod(self, name: str, *entries: Document, **more: Any) -> None:
        """One that does not end by itself."""
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {FINISH: "false"}},
            "spec": {"containers": [{"name": "c", "image": "x"}], "resourceClaims": [*entries], **more},
        }
        self.world.create(POD_PATH, document)

    def delete_pod(self, name: str, **params: str) -> None:
        self.world.done("DELETE", f"{POD_PATH}/{name}", **params)

    def delete_claim(self, name: str) -> None:
        self.world.done("DELETE", f"{CLAIM_PATH}/{name}")

    # What a scheduler does

    def allocate(self, claim: str, *, protect: bool = True, allocation: Document | None = None) -> None:
        if protect:
            self._patch(f"{CLAIM_PATH}/{claim}", {"metadata": {"finalizers": [FINALIZER]}})
        self._patch(f"{CLAIM_PATH}/{claim}/status", {"status": {"allocation": allocation or ALLOCATION}})

    def reserve(self, claim: str, *pods: str) -> None:
        uids = {name: self.pod(name).uid for name in pods}
        known = self.claim(claim).status.get("reservedFor") or []
        added = [{"resource": "pods", "name": name, "uid": uid} for name, uid in uids.items()]
        self.set_consumers(claim, [*known, *added])

    def set_consumers(self, claim: str, consumers: Sequence[Document]) -> None:
        self._patch(f"{CLAIM_PATH}/{claim}/status", {"status": {"reservedFor": list(consumers)}})

    def bind(self, pod: str, node: str = "node-1") -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.world.done("POST", f"{POD_PATH}/{pod}/binding", {"metadata": {"name": pod}, "target": target})

    def schedule(self, pod: str, node: str = "node-1") -> None:
        """Allocates what is not allocated, reserves all claims of a pod, and binds it."""
        for name in self.claims_of(pod):
            if not self.claim(name).status.get("allocation"):
                self.allocate(name)
            if not is_reserved_for(self.claim(name), self.pod(pod)):
                self.reserve(name, pod)
        self.bind(pod, node)

    # What a kubelet does

    def set_phase(self, pod: str, phase: str) -> None:
        self._patch(f"{POD_PATH}/{pod}/status", {"status": {"phase": phase}})

    # What tests ask

    def pod(self, name: str) -> Stored:
        found = self.store.get("pods", "default", name)
        assert found is not None, name
        return found

    def claim(self, name: str) -> Stored:
        found = self.store.get(CLAIMS, "default", name)
        assert found is not None, name
        return found

    def claims(self) -> list[str]:
        return [each.name for each in self.store.objects(CLAIMS)]

    def claims_of(self, pod: str) -> list[str]:
        return [name for _, name in named_claims(self.pod(pod))]

    def users(self, claim: str) -> list[str]:
        return [each["name"] for each in self.claim(claim).status.get("reservedFor") or ()]

    def is_allocated(self, claim: str) -> bool:
        return "allocation" in self.claim(claim).status

    def events(self, about: str, component: str = "resource_claim") -> list[tuple[str, str]]:
        """Reasons and texts of the events that a component made about an object."""
        return [
            (each.document["reason"], each.document["message"])
            for each in self.store.objects("events")
            if each.document["involvedObject"]["name"] == about
            and each.document["source"]["component"] == component
        ]

    def _patch(self, path: str, change: Document) -> None:
        self.world.done("PATCH", path, change, content_type="application/merge-patch+json")


def with_devices(test: Callable[[Devices], Awaitable[None]]) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with living(Path(folder), default_nodes(2)) as world:
                await asyncio.sleep(MOMENT)
                await test(Devices(world))

    fake_time.run(main())
