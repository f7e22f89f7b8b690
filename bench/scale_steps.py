"""What a scheduler does in a large cluster, step by step, in microseconds of CPU.

Every function in STEPS is given a cluster in a process of its own and returns its figures.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench.scale_cluster import PODS_PER_NODE, nodes_as_sent, pods_as_sent
from bench.unschedulable import NODE_CHANGES
from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.http import PAGE, Listing
from moorage.client.informer import Informer
from moorage.client.memory import MemoryClient
from moorage.client.resources import Resource
from moorage.client.watching import decoded_or_none
from moorage.config import load
from moorage.framework.door import Door
from moorage.plugins.catalog import in_tree_registry
from moorage.process.metrics import SchedulerMetrics
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.server.exposition import render
from moorage.what_if.workloads import make_pods

Figures = dict[str, float]
Document = dict[str, Any]

CYCLES = ("plain", "spread", "affinity", "antiaffinity", "prefaffinity", "nodeaffinity")
_BATCH = 100
_BATCHES = 5
_REPEATS = 5


class Cluster:
    """A scheduler with metrics, as `moorage run` has it, that knows nodes and running pods."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.pods = nodes * PODS_PER_NODE
        self.door = Door()
        self.client = MemoryClient(self.door.put, self.door.remove)
        self.metrics = SchedulerMetrics()
        self.scheduler = Scheduler(
            load(DEFAULT_CONFIGURATION).config,
            in_tree_registry(),
            client=self.client,
            door=self.door,
            observer=self.metrics,
        )
        self.metrics.watch(self.scheduler.queue, self.scheduler.state, self.scheduler.profiles.values())
        self.door.listers.set_synced()
        self._names = count()
        self._runner: asyncio.Runner | None = None

    def take_in(self) -> Figures:
        """Reads both lists, a page at a time as the client does, and takes in what they hold."""
        empty = _resident()
        figures = self._listed(Node, nodes_as_sent(self.nodes), "node")
        with_nodes = _resident()
        figures |= self._listed(Pod, pods_as_sent(self.nodes), "pod")
        with_pods = _resident()
        self.put(self.fresh("plain", 1))
        used = time.process_time()
        asyncio.run(self.scheduler.drain())
        figures["first cycle"] = _since(used)
        figures |= {
            "bytes of memory per node": (with_nodes - empty) / self.nodes,
            "bytes of memory per pod": (with_pods - with_nodes) / self.pods,
            "megabytes": _resident() / 1e6,
            "peak megabytes": _peak() / 1e6,
        }
        gc.collect()
        gc.freeze()
        return figures

    def _listed(self, kind: type[Node] | type[Pod], sources: Iterator[bytes], name: str) -> Figures:
        resource = Resource.of(kind)
        size = read = taken = 0.0
        number = 0
        while page := list(islice(sources, PAGE)):
            number += len(page)
            size += sum(map(len, page))
            used = time.process_time()
            items = [decoded_or_none(resource, source) for source in page]
            read += _since(used)
            used = time.process_time()
            for item in items:
                assert item is not None
                self.door.put(item)
            taken += _since(used)
            gc.freeze()  # as `moorage run` does while its first lists come in
        return {
            f"bytes of a {name}": size / number,
            f"reading a {name}": read / number,
            f"taking in a {name}": taken / number,
        }

    def fresh(self, workload: str, pods: int) -> list[Pod]:
        """Pods that wait, with names of their own."""
        return list(make_pods(workload, pods, f"batch-{next(self._names)}"))

    def put(self, pods: list[Pod]) -> None:
        for pod in pods:
            self.client.add(pod)
            self.door.put(pod)

    def drain(self) -> None:
        """Tries every pod that waits."""
        if self._runner is None:  # a loop must not be shared with the process this one is a copy of
            self._runner = asyncio.Runner()
        self._runner.run(self.scheduler.drain())

    def cycles(self, pods: list[Pod]) -> float:
        """The time per pod until all of them are placed."""
        self.put(pods)
        used = time.process_time()
        self.drain()
        spent = _since(used) / len(pods)
        for pod in pods:
            if not self.client.pods[pod.key].spec.node_name:
                raise RuntimeError(f"pod {pod.key} was not placed")
        return spent

    def node(self, number: int) -> Node:
        info = self.door.state.node(f"node-{number % self.nodes:05d}")
        assert info is not None
        return info.node


def cycle(workload: str) -> Callable[[Cluster], Figures]:
    def measure(cluster: Cluster) -> Figures:
        spent = [cluster.cycles(cluster.fresh(workload, _BATCH)) for _ in range(_BATCHES + 1)]
        return {f"cycle, {workload}": min(spent[1:])}

    return measure


def node_update(change: str) -> Callable[[Cluster], Figures]:
    """A node changes, and a pod of each kind is placed after that."""

    def measure(cluster: Cluster) -> Figures:
        updating: list[float] = []
        after: list[float] = []
        for turn in range(_REPEATS + 1):
            update = cycling = 0.0
            for place, workload in enumerate(CYCLES):
                number = turn * len(CYCLES) + place
                document = deepcopy(cluster.node(number * 7).raw)
                NODE_CHANGES[change](document, 2 * number)
                document["metadata"]["resourceVersion"] = str(number)
                node = from_document(Node, document)
                used = time.process_time()
                cluster.door.put(node)
                update += _since(used)
                cycling += cluster.cycles(cluster.fresh(workload, 1))
            updating.append(update / len(CYCLES))
            after.append(cycling / len(CYCLES))
        return {f"node: {change}": min(updating[1:]), f"cycle after node: {change}": min(after[1:])}

    return measure


def nodes_come_and_go(cluster: Cluster) -> Figures:
    """A node from the middle goes, while its pods are still there, and comes back at the end of its zone."""
    found: dict[str, list[float]] = {"goes": [], "comes": []}
    after: dict[str, list[float]] = {"goes": [], "comes": []}
    for turn in range(_REPEATS + 1):
        node = cluster.node(cluster.nodes // 2 + turn)
        for what, act in (("goes", cluster.door.remove), ("comes", cluster.door.put)):
            used = time.process_time()
            act(node)
            found[what].append(_since(used))
            pods = [pod for workload in CYCLES for pod in cluster.fresh(workload, 1)]
            after[what].append(cluster.cycles(pods) * len(pods))
    figures: Figures = {}
    for what in found:
        figures[f"node: {what}"] = min(found[what][1:])
        figures[f"{len(CYCLES)} cycles after node: {what}"] = min(after[what][1:])
    return figures


def pod_changes(cluster: Cluster) -> Figures:
    """The status of running pods changes, then they go."""
    pods = cluster.door.pods()[:1000]
    newer = []
    for pod in pods:
        document = deepcopy(pod.raw)
        document["status"]["podIP"] = "10.1.0.2"
        document["metadata"]["resourceVersion"] += "1"
        newer.append(from_document(Pod, document))
    changing: list[float] = []
    going: list[float] = []
    for _ in range(_REPEATS):
        used = time.process_time()
        for pod in newer:
            cluster.door.put(pod)
        changing.append(_since(used) / len(pods))
        used = time.process_time()
        for pod in newer:
            cluster.door.remove(pod)
        going.append(_since(used) / len(pods))
        for pod in pods:
            cluster.door.put(pod)
    return {"pod: status": min(changing), "pod: goes": min(going)}


def no_room(cluster: Cluster) -> Figures:
    """Pods that fit nowhere: one for the first time, more like it, and again after a change."""

    def too_large() -> list[Pod]:
        pods = cluster.fresh("plain", 1)
        document = deepcopy(pods[0].raw)
        document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "64"
        return [from_document(Pod, document)]

    def tried(pods: list[Pod]) -> float:
        cluster.put(pods)
        used = time.process_time()
        cluster.drain()
        return _since(used)

    tried(too_large())
    first: list[float] = []
    again: list[float] = []
    for turn in range(_REPEATS):
        document = deepcopy(cluster.node(turn).raw)
        NODE_CHANGES["allocatable"](document, 2 * turn)
        cluster.door.put(from_document(Node, document))
        first.append(tried(too_large()))
        again.append(min(tried(too_large()) for _ in range(3)))
    return {"no room, after a change": min(first), "no room, as another pod": min(again)}


def preemption(cluster: Cluster) -> Figures:
    """Every node has too many pods for this one, and all are less important."""

    def urgent() -> list[Pod]:
        document = deepcopy(cluster.fresh("plain", 1)[0].raw)
        document["spec"]["priority"] = 1000
        document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "31500m"
        return [from_document(Pod, document)]

    for pod in cluster.door.pods():
        cluster.client.add(pod)  # or there would be nothing to delete
    spent: list[float] = []
    for _ in range(_REPEATS):
        pods = urgent()
        cluster.put(pods)
        used = time.process_time()
        cluster.drain()
        spent.append(_since(used))
        if not cluster.client.pods[pods[0].key].status.nominated_node_name:
            raise RuntimeError("nobody was preempted")
    return {"preemption, first": spent[0], "preemption": min(spent[1:])}


def scrape(cluster: Cluster) -> Figures:
    cluster.cycles([pod for workload in CYCLES for pod in cluster.fresh(workload, 20)])
    return {
        "metrics scrape": min(_timed(lambda: render([cluster.metrics.registry])) for _ in range(_REPEATS))
    }


def what_if(cluster: Cluster) -> Figures:
    """One pod against all nodes, as `moorage evaluate` asks."""
    profile = next(iter(cluster.scheduler.profiles.values()))
    chooser = NodeChooser(find_all=True)
    pods = [pod for workload in CYCLES for pod in cluster.fresh(workload, 1)]

    def ask() -> None:
        for pod in pods:
            chooser.decide(profile, pod)

    ask()
    return {"what if, all nodes": min(_timed(ask) for _ in range(_REPEATS)) / len(pods)}


def relist(cluster: Cluster) -> Figures:
    """A watch was cut off, and a new list shows that nothing has changed."""
    pods = cluster.door.pods()

    class Client:
        async def list(self, resource: Resource[Any], *, field_selector: str = "", **_: Any) -> Listing[Any]:
            return Listing(pods, "1")

        def watch(self, *arguments: Any, **options: Any) -> Any:
            raise NotImplementedError

    informer = Informer(
        Client(),
        Resource.of(Pod),
        added=lambda pod: None,
        updated=lambda old, new: None,
        deleted=lambda pod: None,
    )
    spent = [_timed(lambda: asyncio.run(informer._list())) for _ in range(_REPEATS)]
    return {"listing again, per pod": min(spent[1:]) / len(pods)}


STEPS: dict[str, Callable[[Cluster], Figures]] = {
    **{f"cycle-{workload}": cycle(workload) for workload in CYCLES},
    **{f"node-{change}": node_update(change) for change in NODE_CHANGES},
    "nodes": nodes_come_and_go,
    "pods": pod_changes,
    "no-room": no_room,
    "preemption": preemption,
    "scrape": scrape,
    "what-if": what_if,
    "relist": relist,
}


def _since(used: float) -> float:
    return (time.process_time() - used) * 1e6


def _timed(act: Callable[[], object]) -> float:
    used = time.process_time()
    act()
    return _since(used)


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
