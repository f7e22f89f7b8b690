"""Volumes bound in an embedded cluster in this process, in fake time; the test is the volume controller."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.kinds import KINDS
from moorage.client.errors import Conflict
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.storage.binding import write
from moorage.plugins.storage.judging import Binding
from moorage.plugins.storage.reserving import give_back, reserve
from moorage.plugins.storage.storage import Storage as KnownStorage
from moorage.process.informers import Informers
from moorage.process.metrics import SchedulerMetrics
from moorage.scheduler.scheduler import Scheduler
from moorage.testing.fakes import FakeHandle
from tests import fake_time
from tests.cluster.api_worlds import PODS, World
from tests.plugins.storage.volume_objects import (
    COMPLETED,
    DRIVER,
    HOST,
    NO_PROVISIONER,
    SELECTED,
    affinity,
    line,
)
from tests.scheduler.worlds import START, Recorder

Document = dict[str, Any]

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
NODES = "/api/v1/nodes"
BOUND_BY = "pv.kubernetes.io/bound-by-controller"


class Storage:
    """A cluster of two nodes with a scheduler, and a volume controller that acts when it is told to."""

    def __init__(self, bind_timeout: int = 600) -> None:
        self.world = World().prepared()
        self.events = Recorder()
        args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": bind_timeout}}
        self._config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [args]}],
        }
        for name in ("n1", "n2"):
            self.create(NODES, {"metadata": {"name": name, "labels": {HOST: name}}, "status": ROOM})
        for name, provisioner in (("local", NO_PROVISIONER), ("made", DRIVER)):
            storage_class = {"metadata": {"name": name}, "provisioner": provisioner}
            self.create(CLASSES, {**storage_class, "volumeBindingMode": "WaitForFirstConsumer"})

    @contextlib.asynccontextmanager
    async def scheduled(self) -> AsyncIterator[SchedulerMetrics]:
        client, metrics = self.world.cluster.scheduler_client("moorage/scheduler"), SchedulerMetrics()
        scheduler = Scheduler(
            load(json.dumps(self._config)).config,
            in_tree_registry(),
            client=client,
            recorder_of=lambda profile: self.events,
            observer=metrics,
            clock=lambda: START + fake_time.now(),
        )
        informers = Informers(client.http, scheduler.door, scheduler.profiles.values())
        async with client.http:
            informers.start()
            await informers.wait_synced()
            scheduling = asyncio.create_task(scheduler.run())
            try:
                yield metrics
            finally:
                scheduler.stop()
                await scheduling
                await informers.stop()
                scheduler.close()

    def create(self, path: str, document: Document) -> Document:
        return self.world.create(path, document)

    def volume(self, name: str, node: str | None = None, **spec: Any) -> None:
        body = {
            "metadata": {"name": name, "labels": {"kept": "yes"}},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": "/data"},
                "mountOptions": ["noatime"],
                **({"nodeAffinity": affinity([line(HOST, node)])} if node else {}),
                **spec,
            },
        }
        self.create(VOLUMES, body)
        self.change(f"{VOLUMES}/{name}/status", lambda found: found["status"].update(phase="Available"))

    def claim(self, name: str, storage_class: str = "local") -> None:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
            "storageClassName": storage_class,
        }
        metadata = {"name": name, "labels": {"kept": "yes"}, "annotations": {"kept": "yes"}}
        self.create(CLAIMS, {"metadata": metadata, "spec": spec})

    def pod(self, name: str, *claims: str, **spec: Any) -> None:
        volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "3"}}}
        whole = {"containers": [container], "volumes": volumes, **spec}
        self.create(PODS, {"metadata": {"name": name}, "spec": whole})

    def change(self, path: str, how: Callable[[Document], object]) -> None:
        document = self.world.get(path)
        how(document)
        self.world.done("PUT", path, document)

    def bind(self, claim: str, volume: str) -> None:
        """What the volume controller does at last."""

        def bound(found: Document) -> None:
            found["spec"]["volumeName"] = volume
            found["metadata"].setdefault("annotations", {})[COMPLETED] = "yes"

        self.change(f"{CLAIMS}/{claim}", bound)

    def node_of(self, pod: str) -> str:
        return str(self.world.get(f"{PODS}/{pod}")["spec"].get("nodeName", ""))

    def said_of(self, pod: str) -> tuple[str, str]:
        """Reason and message of the condition."""
        for each in self.world.get(f"{PODS}/{pod}")["status"].get("conditions", ()):
            if each["type"] == "PodScheduled" and each["status"] == "False":
                return each["reason"], each["message"]
        return "", ""

    def selected(self, claim: str) -> str:
        annotations = self.world.get(f"{CLAIMS}/{claim}")["metadata"].get("annotations", {})
        return str(annotations.get(SELECTED, ""))

    def claimed_by(self, volume: str) -> str:
        return str(self.world.get(f"{VOLUMES}/{volume}")["spec"].get("claimRef", {}).get("name", ""))


ROOM = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}


def failures(metrics: SchedulerMetrics, operation: str) -> float | None:
    name = "scheduler_volume_scheduling_stage_error_total"
    return metrics.registry.get_sample_value(name, {"operation": operation})


async def until(condition: Callable[[], Any], seconds: float = 30.0) -> float:
    """Waits, in fake time, and tells when it became true."""
    end = fake_time.now() + seconds
    while not condition():
        assert fake_time.now() < end, "it did not happen"
        await asyncio.sleep(0.05)
    return fake_time.now()


def played(script: Callable[[], Coroutine[Any, Any, None]]) -> None:
    fake_time.run(script())


def test_a_static_volume_is_written_whole_and_awaited() -> None:
    async def script() -> None:
        storage = Storage()
        storage.volume("v1", "n1")
        storage.claim("c")
        before = storage.world.get(f"{VOLUMES}/v1")
        async with storage.scheduled():
            storage.pod("p", "c")
            written = await until(lambda: storage.claimed_by("v1"))
            after = storage.world.get(f"{VOLUMES}/v1")
            claim = storage.world.get(f"{CLAIMS}/c")["metadata"]
            reference = after["spec"].pop("claimRef")
            assert reference == {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": "c",
                "namespace": "default",
                "resourceVersion": claim["resourceVersion"],
                "uid": claim["uid"],
            }
            assert after["metadata"].pop("annotations") == {BOUND_BY: "yes"}
            assert after["spec"] == before["spec"]
            assert after["metadata"]["labels"] == {"kept": "yes"}
            await asyncio.sleep(0.2)
            storage.bind("c", "v1")
            assert storage.node_of("p") == ""
            bound = await until(lambda: storage.node_of("p"))
            assert storage.node_of("p") == "n1"
            assert 0.9 <= bound - written <= 1.2

    played(script)


def test_a_volume_is_made_for_the_chosen_node() -> None:
    async def script() -> None:
        storage = Storage()
        storage.claim("c", "made")
        async with storage.scheduled() as metrics:
            storage.pod("p", "c", nodeSelector={HOST: "n2"})
            await until(lambda: storage.selected("c") == "n2")
            storage.volume("v", "n2", storageClassName="made")
            await asyncio.sleep(5)
            assert storage.node_of("p") == ""
            storage.bind("c", "v")
            await until(lambda: storage.node_of("p") == "n2")
            assert storage.world.get(f"{CLAIMS}/c")["metadata"]["labels"] == {"kept": "yes"}
            assert failures(metrics, "bind") is None

    played(script)


def test_a_provisioner_that_gives_up() -> None:
    async def script() -> None:
        storage = Storage()
        storage.claim("c", "made")
        async with storage.scheduled():
            storage.pod("p", "c", nodeSelector={HOST: "n1"})
            await until(lambda: storage.selected("c"))
            storage.change(f"{CLAIMS}/c", lambda found: found["metadata"]["annotations"].pop(SELECTED))
            await until(lambda: storage.said_of("p")[0])
            assert storage.said_of("p") == (
                "SchedulerError",
                'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"',
            )

    played(script)


def test_the_wait_has_an_end_and_the_node_stays_chosen() -> None:
    async def script() -> None:
        storage = Storage(bind_timeout=3)
        storage.claim("c", "made")
        async with storage.scheduled() as metrics:
            storage.pod("p", "c")
            written = await until(lambda: storage.selected("c"))
            chosen = storage.selected("c")
            failed = await until(lambda: storage.said_of("p")[0])
            assert 2.9 <= failed - written <= 3.2
            assert storage.said_of("p")[1] == (
                'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
            )
            assert failures(metrics, "bind") == 1
            other = {"n1": "n2", "n2": "n1"}[chosen]
            storage.change(f"{NODES}/{chosen}", lambda found: found["spec"].update(unschedulable=True))
            await until(lambda: storage.said_of("p")[0] == "Unschedulable")
            assert "1 node(s) didn't find available persistent volumes to bind" in storage.said_of("p")[1]
            assert storage.selected("c") == chosen and other != chosen

    played(script)


def test_two_pods_do_not_get_one_volume() -> None:
    async def script() -> None:
        storage = Storage()
        storage.volume("v1", "n1")
        for name in ("a", "b"):
            storage.claim(name)
            storage.pod(name, name)
        async with storage.scheduled():
            await until(lambda: storage.claimed_by("v1") and any(storage.said_of(name)[0] for name in "ab"))
            winner = storage.claimed_by("v1")
            loser = {"a": "b", "b": "a"}[winner]
            assert "didn't find available persistent volumes to bind" in storage.said_of(loser)[1]
            storage.bind(winner, "v1")
            await until(lambda: storage.node_of(winner) == "n1")
            storage.volume("v2", "n2")
            await until(lambda: storage.claimed_by("v2") == loser)
            storage.bind(loser, "v2")
            await until(lambda: storage.node_of(loser) == "n2")

    played(script)


def test_a_more_important_pod_stops_the_wait_without_a_deletion() -> None:
    async def script() -> None:
        storage = Storage()
        storage.claim("c", "made")
        priority = {"metadata": {"name": "high"}, "value": 1000}
        storage.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority)
        async with storage.scheduled():
            storage.pod("p", "c", nodeSelector={HOST: "n1"})
            await until(lambda: storage.selected("c"))
            storage.pod("urgent", nodeSelector={HOST: "n1"}, priorityClassName="high")
            started = fake_time.now()
            assert await until(lambda: storage.node_of("urgent")) - started < 1.0
            assert "deletionTimestamp" not in storage.world.get(f"{PODS}/p")["metadata"]
            stopped = 'running PreBind plugin "VolumeBinding": preempted by DefaultPreemption'
            assert stopped in [event.note for event in storage.events.events]

    played(script)


def test_who_waits_for_a_volume_takes_its_room_once_and_goes_when_deleted() -> None:
    async def script() -> None:
        storage = Storage()
        storage.claim("c", "made")
        async with storage.scheduled():
            storage.pod("p", "c", nodeSelector={HOST: "n1"})
            await until(lambda: storage.selected("c"))
            nominated = storage.world.get(f"{PODS}/p")["status"]["nominatedNodeName"]
            assert nominated == "n1"
            container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
            storage.pod("small", nodeSelector={HOST: "n1"}, containers=[container])
            storage.pod("large", nodeSelector={HOST: "n1"})
            await until(lambda: storage.node_of("small") == "n1")
            await until(lambda: "Insufficient cpu" in storage.said_of("large")[1])
            storage.world.done("DELETE", f"{PODS}/small", {"gracePeriodSeconds": 0})
            storage.world.done("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
            await until(lambda: storage.node_of("large") == "n1")

    played(script)


def test_a_volume_that_changed_meanwhile_is_not_overwritten() -> None:
    """What was written before stays written and promised, what was not is given back."""

    async def script() -> None:
        cluster = Storage()
        for name in ("1", "2"):
            cluster.volume(f"v{name}")
            cluster.claim(f"c{name}")
        paths = [f"{VOLUMES}/v1", f"{VOLUMES}/v2", f"{CLAIMS}/c1", f"{CLAIMS}/c2"]
        read = [cluster.world.get(path) for path in paths]
        handle = FakeHandle([from_document(KINDS[document["kind"]], document) for document in read])
        client = handle.services.client = cluster.world.cluster.scheduler_client("moorage/scheduler")
        known = KnownStorage(handle)
        found = [known.volumes.get(f"v{name}") for name in "12"]
        claims = [known.claims.get(f"c{name}", namespace="default") for name in "12"]
        pairs = [
            Binding(volume, claim) for volume, claim in zip(found, claims, strict=True) if volume and claim
        ]
        reserved = reserve(known, pairs, [], "n1")
        cluster.change(f"{VOLUMES}/v2", lambda found: found["metadata"]["labels"].update(new="yes"))
        async with client.http:
            with pytest.raises(Conflict, match="the object has been modified"):
                await write(handle, known, reserved)
        assert (cluster.claimed_by("v1"), cluster.claimed_by("v2")) == ("c1", "")
        assert cluster.world.get(f"{VOLUMES}/v2")["metadata"]["labels"] == {"kept": "yes", "new": "yes"}
        assert known.volumes.get("v1") is not found[0]
        assert known.volumes.get("v2") is found[1]
        give_back(known, reserved.bindings, reserved.to_provision)
        assert known.volumes.get("v1") is not found[0], "until the watch shows it"

    played(script)
