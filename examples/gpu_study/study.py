"""One run of the study: a policy, a workload and a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from examples.gpu_study.arrivals import arrivals, typical_pods
from examples.gpu_study.fragmentation import Fragmentation
from examples.gpu_study.gpu_requests import (
    GPU_MILLI,
    GPU_MODEL,
    GPU_MODELS,
    GPUS,
    PLACE,
    WHOLE,
    TypicalPod,
)
from examples.gpu_study.gpu_sharing import GpuSharing
from examples.gpu_study.policies.best_fit import BestFit
from examples.gpu_study.policies.dot_prod import DotProd
from examples.gpu_study.policies.fgd import FGD
from examples.gpu_study.policies.gpu_clustering import GpuClustering
from examples.gpu_study.policies.gpu_packing import GpuPacking
from examples.gpu_study.policies.moorage import Moorage
from examples.gpu_study.policies.random import Random
from examples.gpu_study.trace_files import TraceNode, TracePod
from moorage import Node, Pod
from moorage.testing import Placer, make_node, make_pod

POLICIES: dict[str, type[GpuSharing]] = {
    each.name: each for each in (Random, DotProd, GpuClustering, GpuPacking, BestFit, FGD, Moorage)
}
MARKS = range(10, 131, 10)
"""At which percentages of GPUs asked for the result is told."""
FIRST_SEED = 42
PODS_PER_NODE = 1001


def run(
    nodes: Sequence[TraceNode],
    pods: Sequence[TracePod],
    policy: str,
    seed: int,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Any]:
    """Places pods until they asked for 130 % of all GPUs; what was allocated and fragmented at each mark.

    `progress` is told the share that is done, 0 to 1.
    """
    began = time.perf_counter()
    dice = random.Random(seed)
    capacity = sum(node.gpus for node in nodes) * WHOLE
    arriving = arrivals(pods, capacity, dice)
    typical = typical_pods(pods)
    plugin = POLICIES[policy]
    marks: dict[int, list[tuple[float, float]]] = {mark: [] for mark in MARKS}
    asked = allocated = 0
    config = configuration(plugin.name, typical, seed)
    with Placer(plugin, _cluster(nodes, dice), config=config) as placer:
        sharing = placer.plugins[plugin.name]
        assert isinstance(sharing, GpuSharing)
        fragments = _Fragments(sharing, typical)

        def look(first: int, last: int) -> None:
            """Notes how things are for marks that were reached, or passed without an arrival there."""
            for mark in MARKS:
                if first <= mark <= last:
                    marks[mark].append((100 * allocated / capacity, 100 * fragments.now() / capacity))

        before = 0
        for number, pod in enumerate(arriving):
            asked += pod.request.total
            percent = round(100 * asked / capacity)
            look(before + 1, percent - 1)
            if placer.place(_pod(pod, number)):
                allocated += pod.request.total
            look(percent, percent)
            before = percent
            progress((number + 1) / len(arriving))
        look(before + 1, MARKS[-1])
    return {
        "seed": seed,
        "seconds": round(time.perf_counter() - began, 2),
        "at": {str(percent): _means(seen) for percent, seen in marks.items()},
    }


def configuration(policy: str, typical: Sequence[TypicalPod], seed: int) -> Mapping[str, Any]:
    """Only the policy and what checks CPU and memory decide."""
    fit, alone = {"name": "NodeResourcesFit"}, {"name": policy}
    plugins = {
        "multiPoint": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
        },
        "preFilter": {"enabled": [fit, alone]},
        "filter": {"enabled": [fit, alone]},
        "score": {"enabled": [alone]},
        "reserve": {"enabled": [alone]},
    }
    pods = [{name: getattr(pod, name) for name in pod.__struct_fields__} for pod in typical]
    args = {"name": policy, "args": {"typicalPods": pods, "seed": seed}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [{"plugins": plugins, "pluginConfig": [args]}],
    }


class _Fragments:
    """The fragmentation of the cluster, which is measured anew only where something has changed."""

    def __init__(self, sharing: GpuSharing, typical: Sequence[TypicalPod]) -> None:
        self._sharing = sharing
        self._measure = Fragmentation(typical)
        self._of_nodes = np.zeros(0)
        self._cpu = np.zeros(0, dtype=np.int64)
        self._versions = np.zeros(0, dtype=np.int64)

    def now(self) -> float:
        nodes = self._sharing.free(self._sharing.handle.nodes)
        versions = self._sharing.devices.versions[nodes.rows]
        if not len(self._of_nodes):
            self._of_nodes, self._cpu, self._versions = np.zeros(len(nodes)), nodes.cpu - 1, versions
        changed = (self._cpu != nodes.cpu) | (self._versions != versions)
        self._of_nodes[changed] = self._measure.of(nodes.at(changed), self._sharing.devices.models)
        self._cpu, self._versions = nodes.cpu, versions
        return float(self._of_nodes.sum())


def _cluster(nodes: Sequence[TraceNode], dice: random.Random) -> Iterator[Node]:
    """The nodes; which of equally good ones goes first, the dice say once for the whole run."""
    places = list(range(len(nodes)))
    dice.shuffle(places)
    for node, place in zip(nodes, places, strict=True):
        labels = {GPUS: str(node.gpus), GPU_MODEL: node.model, PLACE: str(place)}
        memory = f"{node.memory}Mi"
        yield make_node(node.name, cpu=f"{node.cpu}m", memory=memory, pods=PODS_PER_NODE, labels=labels)


def _pod(pod: TracePod, number: int) -> Pod:
    request = pod.request
    notes = {GPUS: str(request.gpus), GPU_MILLI: str(request.milli), GPU_MODELS: request.models}
    return make_pod(
        f"{pod.name}-{number}",
        cpu=f"{request.cpu}m",
        memory=f"{pod.memory}Mi",
        annotations=notes if request.gpus else {},
    )


def _means(seen: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Of all arrivals at a mark, as the authors do."""
    allocated, fragmented = np.mean(seen, axis=0).tolist()
    return {"allocated_percent": round(allocated, 2), "fragmented_percent": round(fragmented, 2)}
