"""How large a trace of a day becomes, and how fast it is written and read.

The day is made up: nodes with images and heartbeats, and pods of some hundred templates, each of which is
created, gets a node, changes its status three times and ends. Objects are as large as those of real clusters.
"""

from __future__ import annotations

import heapq
import random
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.bounds import Check, Outcomes
from moorage.what_if.trace.changes import Head
from moorage.what_if.trace.files import TraceWriter, read_trace

NODES, PODS, TEMPLATES = 5000, 200_000, 400
_DAY = 86_400.0
_HEARTBEATS = 24
_BEGAN = 1_790_000_000.0
_MOST_MEGABYTES = 100
_LEAST_WRITTEN, _LEAST_READ = 2000, 8000
_IMAGES = 30

Document = dict[str, Any]
Step = tuple[float, int, Document, bool]


def measure(nodes: int = NODES, pods: int = PODS) -> Outcomes:
    with tempfile.TemporaryDirectory(prefix="bench-trace-") as folder:
        path = Path(folder) / "day.moor"
        day = _Day(nodes, pods)
        seconds, stored, told = 0.0, 0, 0
        with TraceWriter(path, Head(began=_BEGAN, source="made up")) as trace:
            for moment, _, document, gone in day.steps():
                begun = time.perf_counter()
                stored += (trace.gone if gone else trace.put)(moment, document)
                seconds += time.perf_counter() - begun
                told += 1
        size = path.stat().st_size / 1e6
        begun = time.perf_counter()
        read = sum(1 for _ in read_trace(path))
        reading = time.perf_counter() - begun
    print(
        f"\n{nodes} nodes, {pods} pods: {told} events, {stored} changes, {read} read, {size:.1f} MB",
        flush=True,
    )
    if (nodes, pods) == (NODES, PODS):
        yield Check("trace of a day: size", size, _MOST_MEGABYTES, "MB")
    yield Check("trace of a day: heartbeats stored", stored - day.real, 0, "")
    yield Check("trace of a day: written", told / seconds, _LEAST_WRITTEN, "events/s", at_least=True)
    yield Check("trace of a day: read", read / reading, _LEAST_READ, "changes/s", at_least=True)


class _Day:
    def __init__(self, nodes: int, pods: int) -> None:
        self._random = random.Random(1)
        self._nodes = [self._node(number) for number in range(nodes)]
        self._pods = pods
        self.real = nodes + 6 * pods
        """How many of the events are changes to a scheduler."""

    def steps(self) -> Iterator[Step]:
        for number, node in enumerate(self._nodes):
            yield _BEGAN, number, node, False
        yield from heapq.merge(self._heartbeats(), self._of_pods(), key=lambda step: step[0])

    def _of_pods(self) -> Iterator[Step]:
        """Pods as they come; what happens to each later waits for its time."""
        waiting: list[Step] = []
        for number, came in enumerate(
            sorted(_BEGAN + self._random.random() * _DAY for _ in range(self._pods))
        ):
            while waiting and waiting[0][0] <= came:
                yield heapq.heappop(waiting)
            for step in self._pod(number, came):
                heapq.heappush(waiting, step)
        while waiting:
            yield heapq.heappop(waiting)

    def _heartbeats(self) -> Iterator[Step]:
        for hour in range(_HEARTBEATS):
            moment = _BEGAN + (hour + 0.5) * _DAY / _HEARTBEATS
            for number, node in enumerate(self._nodes):
                status = dict(node["status"])
                status["conditions"] = [
                    {**each, "lastHeartbeatTime": _text(moment)} for each in status["conditions"]
                ]
                yield moment, -number, {**node, "status": status}, False

    def _node(self, number: int) -> Document:
        name = f"ip-10-{number // 250}-{number % 250}-7.eu-west-1.compute.internal"
        picked = self._random.sample(range(TEMPLATES), _IMAGES)
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": self._uid(),
                "creationTimestamp": _text(_BEGAN - 1e6),
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number % 3]}",
                    "topology.kubernetes.io/region": "eu-west-1",
                    "node.kubernetes.io/instance-type": f"m6i.{number % 4}xlarge",
                },
                "managedFields": [
                    {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}
                ],
            },
            "spec": {"providerID": f"aws:///eu-west-1a/i-{number:017x}"},
            "status": {
                "allocatable": {
                    "cpu": "15890m",
                    "memory": "61847552Ki",
                    "pods": "110",
                    "ephemeral-storage": "95Gi",
                },
                "capacity": {
                    "cpu": "16",
                    "memory": "63847552Ki",
                    "pods": "110",
                    "ephemeral-storage": "100Gi",
                },
                "conditions": [
                    {"type": each, "status": "False", "lastHeartbeatTime": _text(_BEGAN), "reason": "Kubelet"}
                    for each in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
                ],
                "images": [
                    {"names": _image_names(each), "sizeBytes": 10_000_000 + 12_345 * each} for each in picked
                ],
                "nodeInfo": {"kubeletVersion": "v1.36.4", "machineID": self._uid()},
            },
        }

    def _pod(self, number: int, came: float) -> Iterator[Step]:
        """The six events of a pod."""
        template = self._random.randrange(TEMPLATES)
        node = self._random.choice(self._nodes)["metadata"]["name"]
        bound = came + self._random.expovariate(0.2)
        started = bound + self._random.uniform(0.5, 5)
        ended = started + self._random.expovariate(1 / 3600)
        pod = self._made(template, came)
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _text(bound)}
        placed = {**pod, "spec": {**pod["spec"], "nodeName": node}}

        def told(phase: str, **status: Any) -> Document:
            return {**placed, "status": {"phase": phase, "conditions": [scheduled], **status}}

        ready = {"startTime": _text(started), "podIP": f"10.1.{number % 250}.{number // 250 % 250}"}
        states = (
            (came, pod, False),
            (bound, told("Pending"), False),
            (started, told("Pending", startTime=_text(started)), False),
            (
                started + 1,
                told("Running", **ready, containerStatuses=[{"name": "main", "ready": True}]),
                False,
            ),
            (ended, told("Succeeded", **ready), False),
            (ended + 1, told("Succeeded", **ready), True),
        )
        for place, (moment, document, gone) in enumerate(states):
            yield moment, 10 * number + place, document, gone

    def _made(self, template: int, came: float) -> Document:
        suffix = "".join(self._random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        uid = uuid.UUID(int=template)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"service-{template}-5f6d8c9b7-{suffix}",
                "generateName": f"service-{template}-5f6d8c9b7-",
                "namespace": f"team-{template % 40}",
                "uid": self._uid(),
                "creationTimestamp": _text(came),
                "labels": {"app": f"service-{template}", "pod-template-hash": "5f6d8c9b7", "tier": "backend"},
                "annotations": {"checksum/config": self._uid()},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": f"service-{template}-5f6d8c9b7",
                        "uid": str(uid),
                        "controller": True,
                    }
                ],
                "managedFields": [{"manager": "kube-controller-manager", "fieldsV1": {"f:metadata": {}}}],
            },
            "spec": {
                "schedulerName": "default-scheduler",
                "priority": template % 3,
                "containers": [
                    {
                        "name": "main",
                        "image": _image_names(template)[1],
                        "env": [{"name": f"SETTING_{each}", "value": str(each)} for each in range(20)],
                        "resources": {"requests": {"cpu": f"{100 + template}m", "memory": "512Mi"}},
                    }
                ],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "topology.kubernetes.io/zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": f"service-{template}"}},
                    }
                ],
                "tolerations": [
                    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
                ],
                "volumes": [{"name": "token", "projected": {"sources": []}}],
            },
            "status": {"phase": "Pending"},
        }

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _image_names(template: int) -> list[str]:
    digest = f"{template * 0x9E3779B97F4A7C15:064x}"[-64:]
    name = f"registry.example.com/team-{template % 40}/service-{template}"
    return [f"{name}@sha256:{digest}", f"{name}:v1.{template}.0"]


def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
