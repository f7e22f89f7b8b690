"""How long a pod that fits waits beside thousands that do not, while the cluster changes all the while.

Whatever changes may have made room, so that those which wait are tried again and again, and the pod that
fits comes after them. `python -m bench.unschedulable SHAPE CHANGE [PODS]` measures one case and says more.
"""

from __future__ import annotations

import asyncio
import cProfile
import os
import pstats
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import count
from typing import Any, NamedTuple

from bench.bounds import Check, Outcomes
from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.memory import MemoryClient
from moorage.config import load
from moorage.framework.door import Door
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.what_if.workloads import HOSTNAME, make_nodes, make_pods

Document = dict[str, Any]

NODES = 5000
PODS = 5000
CHANGES_A_SECOND = 20
FRESH = 8
SECONDS_BETWEEN = 1.5
_GIVE_UP = 120.0

_TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}
_TERM = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "everywhere"}}}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


# Pods that do not fit. Every node has a pod of 20 of its 32 cpus, and app=everywhere.


def _of_cpu(spec: Document, amount: str) -> None:
    spec["containers"][0]["resources"]["requests"]["cpu"] = amount


def _distinct(number: int, spec: Document) -> None:
    _of_cpu(spec, f"{16000 + number}m")


def _skewed(number: int, spec: Document) -> None:
    constraint = {"maxSkew": 1, "minDomains": 100_000, "whenUnsatisfiable": "DoNotSchedule", **_TERM}
    spec["topologySpreadConstraints"] = [constraint]


SHAPES: dict[str, Callable[[int, Document], None]] = {
    "room": lambda number, spec: _of_cpu(spec, "16"),
    "distinct": _distinct,
    "size": lambda number, spec: _of_cpu(spec, "64"),
    "selector": lambda number, spec: spec.update(nodeSelector={"disk": "none"}),
    "taint": lambda number, spec: spec.update(tolerations=[]),
    "spread": _skewed,
    "antiaffinity": lambda number, spec: spec.update(affinity={"podAntiAffinity": {_REQUIRED: [_TERM]}}),
}


def make_cluster(shape: str, nodes: int) -> Iterator[Node | Pod]:
    for node in make_nodes(nodes):
        if shape == "taint":
            document = deepcopy(node.raw)
            document.setdefault("spec", {})["taints"] = [_TAINT]
            node = from_document(Node, document)
        yield node
    for number, pod in enumerate(make_pods("plain", nodes, "placed")):
        document = deepcopy(pod.raw)
        document["metadata"]["labels"] = {"app": "everywhere"}
        _of_cpu(document["spec"], "20")
        document["spec"]["nodeName"] = f"node-{number:05d}"
        yield from_document(Pod, document)


def make_waiting(shape: str, pods: int) -> Iterator[Pod]:
    for number, pod in enumerate(make_pods("plain", pods, "waiting")):
        document = deepcopy(pod.raw)
        document["metadata"]["labels"] = {"app": "everywhere"}
        document["spec"]["tolerations"] = [{"operator": "Exists"}]
        SHAPES[shape](number, document["spec"])
        yield from_document(Pod, document)


def make_fresh() -> Iterator[Pod]:
    for pod in make_pods("plain", 10_000, "fresh"):
        document = deepcopy(pod.raw)
        document["spec"]["tolerations"] = [{"operator": "Exists"}]
        yield from_document(Pod, document)


# What changes


def _label(node: Document, turn: int) -> None:
    node["metadata"].setdefault("labels", {})["turn"] = str(turn)


def _heartbeat(node: Document, turn: int) -> None:
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:{turn % 60:02}Z"}
    node["status"]["conditions"] = [condition]


def _allocatable(node: Document, turn: int) -> None:
    node["status"]["allocatable"]["cpu"] = "32" if turn % 2 else "32100m"


def _taint(node: Document, turn: int) -> None:
    taint = {"key": "turn", "value": "", "effect": "NoSchedule"}
    others = [known for known in node.setdefault("spec", {}).get("taints", []) if known["key"] != "turn"]
    node["spec"]["taints"] = others if turn % 2 else [*others, taint]


NODE_CHANGES: dict[str, Callable[[Document, int], None]] = {
    "label": _label,
    "heartbeat": _heartbeat,
    "allocatable": _allocatable,
    "taint": _taint,
}
CHANGES = (*NODE_CHANGES, "node", "pod")


class Changes:
    """Changes one thing of the cluster at each call, each node twice in a row."""

    def __init__(self, door: Door, change: str, nodes: int) -> None:
        self._door = door
        self._change = change
        self._nodes = nodes
        self._turns = count()

    def next(self) -> None:
        turn, door = next(self._turns), self._door
        name = f"node-{turn // 2 * 7 % self._nodes:05d}"
        info = door.state.node(name)
        if self._change in NODE_CHANGES:
            assert info is not None
            document = deepcopy(info.node.raw)
            NODE_CHANGES[self._change](document, turn)
            door.put(from_document(Node, document))
        elif self._change == "node":
            node = next(make_nodes(1))
            document = deepcopy(node.raw)
            document["metadata"] |= {"name": "another", "uid": "uid-another"}
            document["status"]["allocatable"] = {"cpu": "1", "memory": "1Gi", "pods": "110"}
            another = from_document(Node, document)
            door.remove(another) if turn % 2 else door.put(another)
        else:
            small = next(make_pods("plain", 1, "passing"))
            small.spec.node_name = name
            door.remove(small) if turn % 2 else door.put(small)


class Waited(NamedTuple):
    first_round: float
    """Seconds until every pod that does not fit had been tried once."""
    longest: float
    """Seconds, of the pods that fit."""
    busy: float
    """The same in CPU time, in which other guests of the machine show less."""
    attempts: int
    cpu: float
    """Seconds of CPU for each second."""


async def wait_in_memory(shape: str, change: str, pods: int, nodes: int = NODES) -> Waited:
    door = Door()
    client = MemoryClient(door.put, door.remove)
    scheduler = Scheduler(load(DEFAULT_CONFIGURATION).config, in_tree_registry(), client=client, door=door)
    door.listers.set_synced()
    for item in (*make_cluster(shape, nodes), *make_waiting(shape, pods)):
        if isinstance(item, Pod):
            client.add(item)
        door.put(item)
    changes = Changes(door, change, nodes)
    began = time.monotonic()
    running = asyncio.create_task(scheduler.run())
    changing = asyncio.create_task(_keep_changing(changes))
    try:
        async with asyncio.timeout(_GIVE_UP):
            while scheduler.queue.cycle_number < pods:
                await asyncio.sleep(0.01)
            first_round = time.monotonic() - began
            await asyncio.sleep(3)
            began, cpu, cycles = time.monotonic(), time.process_time(), scheduler.queue.cycle_number
            longest = busy = 0.0
            fresh = make_fresh()
            for _ in range(FRESH):
                pod = next(fresh)
                client.add(pod)
                came, used = time.monotonic(), time.process_time()
                door.put(pod)
                while not client.pods[pod.key].spec.node_name:
                    await asyncio.sleep(0.001)
                longest = max(longest, time.monotonic() - came)
                busy = max(busy, time.process_time() - used)
                await asyncio.sleep(SECONDS_BETWEEN)
            cpu = (time.process_time() - cpu) / (time.monotonic() - began)
            return Waited(first_round, longest, busy, scheduler.queue.cycle_number - cycles, cpu)
    finally:
        changing.cancel()
        scheduler.stop()
        await asyncio.gather(running, changing, return_exceptions=True)


async def _keep_changing(changes: Changes) -> None:
    while True:
        changes.next()
        await asyncio.sleep(1 / CHANGES_A_SECOND)


def measure() -> Outcomes:
    print(f"\n{PODS} pods that do not fit, {NODES} nodes, {CHANGES_A_SECOND} changes a second", flush=True)
    for shape, change in (
        ("room", "pod"),
        ("room", "taint"),
        ("selector", "label"),
        ("antiaffinity", "taint"),
    ):
        waited = asyncio.run(wait_in_memory(shape, change, PODS))
        what = f"longest wait of a pod that fits, beside {shape}, changing {change}"
        yield Check(what, waited.busy, 1, "s of CPU")


def main(shape: str, change: str, pods: str = str(PODS)) -> None:
    profile = cProfile.Profile() if "PROFILE" in os.environ else None
    if profile is not None:
        profile.enable()
    waited = asyncio.run(wait_in_memory(shape, change, int(pods)))
    if profile is not None:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    print(
        f"{shape:13}{change:12}{pods:>7} pods: first round {waited.first_round:6.2f} s, "
        f"longest wait {waited.longest:7.3f} s ({waited.busy:.3f} s of CPU), "
        f"{waited.attempts:6} attempts, {waited.cpu:4.0%} CPU",
        flush=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
