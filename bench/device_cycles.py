"""What a claim for a device adds to a scheduling cycle at 5000 nodes: pods without and with one, in turns.

A cycle is what decides for one pod and holds up all others: from the queue to the node, its devices set
aside. What follows beside other cycles, the writes of claim and pod, is measured by `drain claims`, and in
memory, together with the cycle, by `decisions`.
"""

from __future__ import annotations

from bench import claims
from bench.bounds import Check, Outcomes
from bench.cycles import seconds_of_cycles
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.what_if.simulation import Simulation
from moorage.what_if.workloads import make_nodes, make_pods

NODES = 5000
_PLAIN, _CLAIMS = "plain", "deviceclaim"
_BATCHES = 25
_BATCH = 200
_MOST = 3


def measure() -> Outcomes:
    print(f"\ncycles with and without a claim for a device, in turns, {NODES} nodes", flush=True)
    clusters = {workload: _cluster(workload) for workload in (_PLAIN, _CLAIMS)}
    best = dict.fromkeys(clusters, float("inf"))
    for batch in range(_BATCHES):
        for workload, cluster in clusters.items():
            microseconds = _cycle(cluster, workload, f"batch-{batch}")
            if batch:  # the first warms up
                best[workload] = min(best[workload], microseconds)
    print(", ".join(f"{workload} {best[workload]:.0f} µs" for workload in best), flush=True)
    yield Check("cycle with a claim for a device against plain", best[_CLAIMS] / best[_PLAIN], _MOST, "x")


def _cluster(workload: str) -> Simulation:
    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    for node in make_nodes(NODES):
        simulation.add(node)
    if workload in claims.WORKLOADS:
        for item in claims.cluster_objects(workload, NODES):
            simulation.add(item)
    return simulation


def _cycle(simulation: Simulation, workload: str, batch: str) -> float:
    """Microseconds of CPU for one pod; the binding cycles follow when all pods have their nodes."""
    for number, pod in enumerate(make_pods("plain", _BATCH, batch)):
        for item in claims.claim_for(workload, pod, number) if workload in claims.WORKLOADS else ():
            simulation.add(item)
        simulation.add(pod)
    return seconds_of_cycles(simulation, workload, _BATCH) / _BATCH * 1e6
