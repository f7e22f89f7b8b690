"""What a gang costs at 5000 nodes, pod by pod: plain pods, and pods of gangs of four, in turns.

A cycle is what decides for one pod and holds up all others; that of a gang decides for all its members. Both
are measured from the queue to the nodes; the writes that follow beside other cycles are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.bounds import Check, Outcomes
from bench.cycles import seconds_of_cycles
from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.contrib.objects import GROUP_LABEL, PodGroup
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.simulation import Simulation
from moorage.what_if.workloads import make_nodes, make_pods

NODES = 5000
GANGS = 750
SIZE = 4
_PLAIN, _GANGS = "plain", "gangs"
_BATCHES = 15
_GANGS_IN_A_BATCH = GANGS // _BATCHES
_LEAST = 0.7


def measure() -> Outcomes:
    print(f"\ncycles of plain pods and of {GANGS} gangs of {SIZE}, in turns, {NODES} nodes", flush=True)
    clusters = {_PLAIN: _cluster([]), _GANGS: _cluster(["Coscheduling"])}
    best = dict.fromkeys(clusters, 0.0)
    for batch in range(_BATCHES):
        for workload, cluster in clusters.items():
            rate = _rate(cluster, workload, f"batch-{batch}")
            if batch:  # the first warms up
                best[workload] = max(best[workload], rate)
    print(", ".join(f"{workload} {best[workload]:.0f} pods/s" for workload in best), flush=True)
    share = best[_GANGS] / best[_PLAIN]
    yield Check("pods of gangs against plain ones", share, _LEAST, "x", at_least=True)


def _cluster(plugins: list[str]) -> Simulation:
    registry = in_tree_registry()
    simulation = Simulation(default_configuration(registry, plugins), registry)
    for node in make_nodes(NODES):
        simulation.add(node)
    return simulation


def _rate(simulation: Simulation, workload: str, batch: str) -> float:
    """Pods per second of CPU; the binding cycles follow when all pods have their nodes."""
    pods = list(make_pods("plain", _GANGS_IN_A_BATCH * SIZE, batch))
    for item in _in_gangs(pods, batch) if workload == _GANGS else pods:
        simulation.add(item)
    return len(pods) / seconds_of_cycles(simulation, workload, len(pods))


def _in_gangs(pods: list[Pod], batch: str) -> Iterator[Object]:
    """The groups, and the pods as their members."""
    for number in range(len(pods) // SIZE):
        name = f"{batch}-{number}"
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        yield from_document(PodGroup, {"metadata": metadata, "spec": {"minMember": SIZE}})
    for number, pod in enumerate(pods):
        document: dict[str, Any] = pod.raw
        labels = {**document["metadata"]["labels"], GROUP_LABEL: f"{batch}-{number // SIZE}"}
        yield from_document(Pod, {**document, "metadata": {**document["metadata"], "labels": labels}})
