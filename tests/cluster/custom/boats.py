"""A custom resource in two versions, on a cluster that is asked in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.cluster.api_worlds import World

Document = dict[str, Any]
GROUP = "shop.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NEW, OLD = f"/apis/{GROUP}/v1/boats", f"/apis/{GROUP}/v1beta1/boats"
MERGE = "application/merge-patch+json"


def object_of(**properties: Document) -> Document:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


STRICT = object_of(name={"type": "string", "default": "joe"}, crew={"type": "integer"})
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version(name: str, schema: Document, **parts: Any) -> Document:
    return {
        "name": name,
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew"},
        },
        **parts,
    }


def crd(*versions: Document) -> Document:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boats.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": list(versions),
        },
    }


def boat(of_version: str, called: str = "a", /, **spec: Any) -> Document:
    return {"apiVersion": f"{GROUP}/{of_version}", "kind": "Boat", "metadata": {"name": called}, "spec": spec}


TWO = (version("v1", STRICT, storage=True), version("v1beta1", OPEN))


Test = Callable[[World], None]


def on_a_cluster(test: Test) -> Callable[[], None]:
    """Runs a test in a loop, in which the cluster does later what definitions call for."""

    async def run() -> None:
        world = World().prepared()
        world.create(CRDS, crd(*TWO))
        test(world)

    def in_a_loop() -> None:
        asyncio.run(run())

    return in_a_loop
