"""How long a scheduling cycle takes, over `Simulation`: queue, cycle, plugins and binding in memory.

Every figure is the best of several batches in processes of its own, one in each of a few passes over all
figures, in CPU time, so that whatever else the machine does shows as little as possible. Ratios are between
figures of one run.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

from bench import claims
from bench.bounds import Check, Outcomes

SIZES = (500, 5000, 15000)
PLACED = (0, 30000)
WORKLOADS = ("plain", "distinct", "spread", "affinity", "antiaffinity", "prefaffinity", "nodeaffinity")
_PASSES = 3
_BATCHES = 6
_BATCH = 200


class Figure(NamedTuple):
    microseconds: float
    """Of CPU per pod, in the best batch."""
    megabytes: float


def measure() -> Outcomes:
    cases = list(product((*WORKLOADS, *claims.WORKLOADS), SIZES, PLACED))
    figures: dict[tuple[str, int, int], Figure] = {}
    for number in range(1, _PASSES + 1):
        print(f"cycles, pass {number} of {_PASSES}", flush=True)
        for case in cases:
            found = in_process_of_its_own(*case)
            figures[case] = min(found, figures.get(case, found))
    print(f"\n{'workload':14}{'nodes':>8}{'placed':>8}{'µs/pod':>10}{'pods/s':>9}{'MB':>7}")
    for (workload, nodes, placed), figure in figures.items():
        rate = 1e6 / figure.microseconds
        print(
            f"{workload:14}{nodes:8}{placed:8}{figure.microseconds:10.0f}{rate:9.0f}{figure.megabytes:7.0f}"
        )
    print()

    def cost(workload: str, nodes: int, placed: int = 0) -> float:
        return figures[workload, nodes, placed].microseconds

    yield Check("plain cycle, 5000 nodes against 500", cost("plain", 5000) / cost("plain", 500), 4, "x")
    for workload in ("plain", "spread", "affinity", "antiaffinity"):
        ratio = cost(workload, 15000) / cost(workload, 5000)
        yield Check(f"{workload} cycle, 15000 nodes against 5000", ratio, 4 / 3, "x")
    for workload, nodes in product(("spread", "affinity", "antiaffinity"), SIZES):
        ratio = cost(workload, nodes, 30000) / cost(workload, nodes)
        yield Check(f"{workload} cycle at {nodes} nodes, 30000 pods placed against none", ratio, 1.5, "x")
    for workload, nodes, placed in product(("spread", "affinity", "antiaffinity"), SIZES, PLACED):
        ratio = cost(workload, nodes, placed) / cost("plain", nodes, placed)
        yield Check(f"{workload} against plain at {nodes} nodes, {placed} pods placed", ratio, 3, "x")
    for workload, nodes in product(claims.VOLUMES, SIZES):
        ratio = cost(workload, nodes) / cost("plain", nodes)
        yield Check(f"{workload} against plain at {nodes} nodes", ratio, 3, "x")
    largest = max(figures[workload, 15000, 30000].megabytes for workload in WORKLOADS)
    yield Check("memory at 15000 nodes and 30000 pods", largest, 600, "MB")


def in_process_of_its_own(workload: str, nodes: int, placed: int, source: Path | None = None) -> Figure:
    """Measures one case; with `source`, the Moorage of that folder."""
    arguments = ("-m", "bench.decisions", workload, str(nodes), str(placed))
    return Figure(*json.loads(_output_of(arguments, source)))


def source_used(source: Path) -> Path:
    """Where Moorage is imported from when it is to come from that folder."""
    return Path(_output_of(("-c", "import moorage; print(moorage.__file__)"), source).strip())


def _output_of(arguments: tuple[str, ...], source: Path | None) -> str:
    root = Path(__file__).parents[1]
    path = {} if source is None else {"PYTHONPATH": f"{source}{os.pathsep}{root}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=root, env=os.environ | path, check=True, capture_output=True, text=True
    )
    return done.stdout


def run(workload: str, nodes: int, placed: int) -> Figure:
    """The best of a few batches, after one to warm up."""
    from moorage.config import load
    from moorage.plugins.catalog import in_tree_registry
    from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
    from moorage.what_if.simulation import Simulation
    from moorage.what_if.workloads import make_nodes, make_pods

    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    for node in make_nodes(nodes):
        simulation.add(node)
    with_claims = workload in claims.WORKLOADS
    for item in claims.cluster_objects(workload, nodes) if with_claims else ():
        simulation.add(item)
    shape = "plain" if with_claims else workload
    for number, pod in enumerate(make_pods(shape, placed, "placed")):
        pod.spec.node_name = f"node-{number % nodes:05d}"
        simulation.add(pod)
    best = float("inf")
    for batch in range(_BATCHES + 1):
        for number, pod in enumerate(make_pods(shape, _BATCH, f"batch-{batch}")):
            for item in claims.claim_for(workload, pod, number) if with_claims else ():
                simulation.add(item)
            simulation.add(pod)
        before = simulation.scheduler.state.pod_total
        started = time.process_time()
        asyncio.run(simulation.scheduler.drain())
        seconds = time.process_time() - started
        bound = simulation.scheduler.state.pod_total - before
        if bound != _BATCH:
            raise RuntimeError(f"{workload}: only {bound} of {_BATCH} pods were placed")
        if batch:
            best = min(best, seconds / _BATCH * 1e6)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Figure(best, megabytes)


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
