"""A cluster of nothing but a store and controllers, in fake time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.cluster.base.store import Change, Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.life.controllers import Controllers
from moorage.cluster.life.controllers.workloads.daemon_pods import target_of
from tests import fake_time
from tests.cluster.life.controllers.fake_writer import FakeWriter

START = 1_800_000_000.0


def clock() -> float:
    return START + fake_time.now()


class World:
    """`kubelet` makes pods ready a second after they were created and bound."""

    def __init__(self) -> None:
        self.writer = FakeWriter(clock)
        self.store = self.writer.store
        self.controllers = Controllers(self.writer, ca="CA", clock=clock)
        self.kubelet = True
        self.store.listen("pods", self._pod_changed)

    def _pod_changed(self, change: Change) -> None:
        loop = asyncio.get_running_loop()
        if change.type == "ADDED":
            loop.call_later(1.0, self.run_pod, change.new.namespace, change.new.name)
        elif change.type == "MODIFIED" and "deletionTimestamp" in change.new.document["metadata"]:
            loop.call_later(1.0, self.end_pod, change.new.namespace, change.new.name)

    def run_pod(self, namespace: str, name: str) -> None:
        pod = self.store.get("pods", namespace, name)
        if not self.kubelet or pod is None or "deletionTimestamp" in pod.document["metadata"]:
            return

        def bind(document: Document) -> None:
            document["spec"]["nodeName"] = target_of(pod) or "node-1"

        bound = self.writer.change("pods", pod, bind)
        assert bound is not None
        since = {"lastTransitionTime": timestamp(clock())}
        ready = [{"type": "Ready", "status": "True", **since}]
        self.writer.set_status("pods", bound, phase="Running", conditions=ready)

    def end_pod(self, namespace: str, name: str) -> None:
        pod = self.store.get("pods", namespace, name)
        if self.kubelet and pod is not None:
            self.writer.delete("pods", pod, grace_seconds=0)

    def deployment(self, name: str = "web", replicas: int = 3, **spec: Any) -> None:
        labels = {"app": name}
        self.writer.create(
            "deployments.apps",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": "default", "labels": labels},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template(labels),
                    "strategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                    },
                    "revisionHistoryLimit": 10,
                    "progressDeadlineSeconds": 600,
                    **spec,
                },
            },
        )

    def status(self, name: str = "web") -> Any:
        return self.writer.document("deployments.apps", "default", name).get("status", {})

    def events(self, reason: str) -> list[str]:
        return [
            event.document["message"]
            for event in self.store.objects("events")
            if event.document["reason"] == reason
        ]

    def sizes(self) -> list[int]:
        """The sizes of the replica sets, oldest first."""
        sets = sorted(
            self.store.objects("replicasets.apps"),
            key=lambda each: int(each.document["metadata"]["uid"].removeprefix("uid-")),
        )
        return [each.document["spec"]["replicas"] for each in sets]


def template(labels: dict[str, str], image: str = "nginx") -> Document:
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 30},
    }


def in_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        world.controllers.start()
        try:
            await test(world)
        finally:
            await world.controllers.stop()

    fake_time.run(main())
