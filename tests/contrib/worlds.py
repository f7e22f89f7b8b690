"""An embedded cluster with a scheduler and the controllers, in fake time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from moorage.api.meta import Object
from moorage.cli.plugin_resources import apply_definitions
from moorage.client.http import HttpClient
from moorage.contrib.features import FEATURES
from moorage.contrib.objects import GROUP_LABEL
from moorage.process.local_scheduler import LocalScheduler
from moorage.scheduler.profiles import default_configuration
from tests.cli.running import node
from tests.cluster.api_worlds import PODS, World, living
from tests.contrib import stand_ins

GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/elasticquotas"
ALL_KINDS = [kind for feature in FEATURES for kind in feature.kinds]
SETTLED = 3.0
"""Seconds after which everything that follows from a change has happened."""

Document = dict[str, Any]


async def define(world: World, *kinds: type[Object]) -> None:
    async with HttpClient(world.cluster.connection()) as http:
        outcome = await apply_definitions(http, kinds)
    assert outcome.notes == []


@contextlib.asynccontextmanager
async def scheduled(
    folder: Path, *plugins: str, kinds: list[type[Object]] | None = None, nodes: int = 2
) -> AsyncIterator[Scene]:
    """A cluster whose scheduler has these plugins."""
    registry = stand_ins.registry()
    async with living(folder, [node(f"node{number}") for number in range(nodes)]) as world:
        await define(world, *(ALL_KINDS if kinds is None else kinds))
        await asyncio.sleep(1)  # the service account of the namespace comes
        scheduler = LocalScheduler(world.cluster.scheduler_client)
        await scheduler.start(registry, default_configuration(registry, plugins), _no_failure)
        try:
            yield Scene(world)
        finally:
            await scheduler.stop()


class Scene:
    def __init__(self, world: World) -> None:
        self.world = world

    async def settle(self) -> None:
        await asyncio.sleep(SETTLED)

    def create_group(self, name: str, members: int) -> Document:
        return self.world.create(GROUPS, group(name, members))

    def create_pod(self, name: str, group: str = "", cpu: str = "100m", **spec: Any) -> Document:
        return self.world.create(PODS, pod(name, group, cpu, **spec))

    def delete_pod(self, name: str) -> None:
        self.world.done("DELETE", f"{PODS}/{name}", gracePeriodSeconds="0")

    def end_pods(self, phase: str, *names: str) -> None:
        for name in names:
            self.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}})

    def patch(self, path: str, patch: Document) -> None:
        self.world.done("PATCH", path, patch, content_type="application/merge-patch+json")

    def group_status(self, name: str) -> Document:
        status: Document = self.world.get(f"{GROUPS}/{name}").get("status", {})
        return status

    def counts(self, name: str) -> tuple[str, int, int, int]:
        """The phase, and how many pods run, have succeeded and have failed."""
        status = self.group_status(name)
        running, succeeded, failed = (status.get(each, 0) for each in ("running", "succeeded", "failed"))
        return status.get("phase", ""), running, succeeded, failed

    def used(self, name: str) -> Document | None:
        found: Document | None = self.world.get(f"{QUOTAS}/{name}").get("status", {}).get("used")
        return found

    def version(self, path: str) -> int:
        return int(self.world.get(path)["metadata"]["resourceVersion"])

    def events(self, reason: str) -> list[Document]:
        found = self.world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [each for each in found if each["reason"] == reason]


def group(name: str, members: int) -> Document:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": members},
    }


def quota(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str, group: str = "", cpu: str = "100m", **spec: Any) -> Document:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **({"labels": {GROUP_LABEL: group}} if group else {})},
        "spec": {"containers": [container], **spec},
    }


def _no_failure(error: Exception) -> None:
    raise error
