"""A whole embedded cluster in fake time, with somebody who places pods on nodes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.volumes.claims import (
    BIND_COMPLETED,
    CLAIMS,
    SELECTED_NODE,
    VOLUMES,
    claim_names,
    waits_for_pod,
)
from moorage.cluster.life.nodes import default_nodes
from tests import fake_time
from tests.cluster.api_worlds import World, living

CLAIM_PATH = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUME_PATH = "/api/v1/persistentvolumes"
SETS_PATH = "/apis/apps/v1/namespaces/default/statefulsets"


class Cluster:
    """Pods are placed on `node` a moment after they are there; with None they are not."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store
        self.node: str | None = "node-1"
        self.store.listen("pods", self._pod_changed)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "ADDED":
            asyncio.get_running_loop().call_later(0.1, self._place, change.new.key)

    def _place(self, key: tuple[str, str]) -> None:
        """As the scheduler does it: selects the node for claims that wait for it, then waits for them."""
        pod = self.store.get("pods", *key)
        if pod is None or pod.spec.get("nodeName") or self.node is None:
            return
        found = [self.store.get(CLAIMS, key[0], name) for name in claim_names(pod)]
        for claim in found:
            if (
                claim is not None
                and waits_for_pod(self.store, claim)
                and SELECTED_NODE not in claim.annotations
            ):
                self.annotate(claim, SELECTED_NODE, self.node)
        if all(claim is not None and BIND_COMPLETED in claim.annotations for claim in found):
            target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
            binding = {"metadata": {"name": key[1]}, "target": target}
            self.world.done("POST", f"/api/v1/namespaces/{key[0]}/pods/{key[1]}/binding", binding)
        else:
            asyncio.get_running_loop().call_later(0.1, self._place, key)

    def annotate(self, claim: Stored, name: str, value: str) -> None:
        def change(document: Document) -> None:
            document["metadata"].setdefault("annotations", {})[name] = value

        self.world.cluster.writer.change(CLAIMS, claim, change)

    # What tests ask and do

    def get(self, resource: str, name: str, namespace: str = "default") -> Stored:
        found = self.store.get(resource, "" if resource == VOLUMES else namespace, name)
        assert found is not None, (resource, name)
        return found

    def names(self, resource: str) -> list[str]:
        return [each.name for each in self.store.objects(resource)]

    def phase(self, resource: str, name: str) -> str:
        phase: str = self.get(resource, name).status.get("phase", "")
        return phase

    def events(self, about: str) -> list[tuple[str, str]]:
        """Reasons and texts of the events about an object, oldest first."""
        found = [
            each for each in self.store.iterate("events") if each.document["involvedObject"]["name"] == about
        ]
        return [
            (each.document["reason"], each.document["message"])
            for each in sorted(found, key=lambda each: int(each.name.rpartition(".")[2], 16))
        ]

    def delete(self, path: str) -> None:
        self.world.done("DELETE", path)

    def patch(self, path: str, change: Document) -> None:
        self.world.done("PATCH", path, change, content_type="application/merge-patch+json")

    def create_volume(self, name: str, size: str = "1Gi", **spec: Any) -> None:
        base = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            "nfs": {"server": "s", "path": "/"},
        }
        if "hostPath" in spec:
            del base["nfs"]
        labels = spec.pop("labels", {})
        annotations = spec.pop("annotations", {})
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": base | spec}
        self.world.create(VOLUME_PATH, document)

    def create_claim(self, name: str, size: str = "1Gi", **spec: Any) -> None:
        base: Document = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            "resources": {"requests": {"storage": size}},
        }
        if spec.get("storageClassName", "") is None:
            del base["storageClassName"], spec["storageClassName"]
        document = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": base | spec,
        }
        self.world.create(CLAIM_PATH, document)

    def create_class(self, name: str, provisioner: str, mode: str = "Immediate", **more: Any) -> None:
        document = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, **more.pop("metadata", {})},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
            **more,
        }
        self.world.create("/apis/storage.k8s.io/v1/storageclasses", document)

    def create_pod(self, name: str, *volumes: Document, **spec: Any) -> None:
        containers = [{"name": "c", "image": "x"}]
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": containers, "volumes": [*volumes], **spec},
        }
        self.world.create("/api/v1/namespaces/default/pods", document)


def in_cluster(test: Callable[[Cluster], Awaitable[None]], nodes: int = 2) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with living(Path(folder), default_nodes(nodes)) as world:
                await asyncio.sleep(0.1)
                await test(Cluster(world))

    fake_time.run(main())
