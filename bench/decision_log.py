"""What the decision log costs: CPU per pod beside a real API server, with it and without, and its memory.

CPU is that of `moorage run` in turns, as in the drain of plain pods. Memory is that of a scheduler in memory
over 100,000 attempts at 5000 nodes, in processes of their own, with the log and without.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.bounds import Check, Failed, Outcomes
from bench.drain.contest import control_plane, in_turns
from bench.drain.draining import Drained, drain
from bench.drain.programs import NOT_MEASURED, programs, told
from bench.drain.schedulers import MOORAGE, Scheduler
from bench.drain.workload import Size
from bench.drain.workloads import WORKLOADS

WITH, WITHOUT = "with the log", "without it"
ROUNDS = 10
SIZE = Size(5000, 5000)
ATTEMPTS, NODES = 100_000, 5000
_MOST_CPU = 1.03
_LIMIT = 64
_AROUND = 1.5
"""What Python's allocator keeps when small objects give way to large ones."""


def measure() -> Outcomes:
    yield from _memory()
    try:
        yield _cpu()
    except NOT_MEASURED as error:
        yield Failed("decision log: CPU per pod", told(error))


def _cpu() -> Check:
    workload = WORKLOADS["plain"]
    found_programs = programs()
    print(f"\nmoorage run in turns, with the decision log and without, rounds: {ROUNDS}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="bench-log-") as folder,
        control_plane(found_programs, workload, SIZE) as (plane, (moorage, _)),
    ):
        assert moorage.name == MOORAGE
        flags = {WITH: (), WITHOUT: ("--decision-log-memory=0",)}
        entrants = {
            name: partial(_drain, plane.kubeconfig, _with(moorage, name, more, Path(folder)))
            for name, more in flags.items()
        }
        runs = in_turns(entrants, ROUNDS)
    middle = {name: statistics.median(run.cpu_per_thousand for run in found) for name, found in runs.items()}
    print(f"CPU s per 1000 pods: {middle[WITH]:.3f} with the log, {middle[WITHOUT]:.3f} without", flush=True)
    return Check("decision log: CPU per pod against none", middle[WITH] / middle[WITHOUT], _MOST_CPU, "x")


def _with(scheduler: Scheduler, name: str, flags: tuple[str, ...], folder: Path) -> Scheduler:
    log = folder / f"{name.replace(' ', '-')}.log"
    return scheduler._replace(name=name, arguments=(*scheduler.arguments, *flags), log=log)


def _drain(kubeconfig: Path, scheduler: Scheduler, prefix: str) -> Drained:
    return asyncio.run(drain(kubeconfig, scheduler, WORKLOADS["plain"], SIZE, prefix))


def _memory() -> Outcomes:
    peaks: dict[str, float] = {}
    for name in (WITHOUT, WITH):
        command = [sys.executable, "-m", "bench.decision_log", name]
        done = subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
        )
        peaks[name], counted, attempts = json.loads(done.stdout)
    added = peaks[WITH] - peaks[WITHOUT]
    print(
        f"\n{ATTEMPTS} attempts at {NODES} nodes: the log kept {attempts}, {counted:.0f} MB counted,"
        f" {added:.0f} MB more at the peak",
        flush=True,
    )
    yield Check("decision log: attempts kept", attempts, 5000, "attempts", at_least=True)
    yield Check("decision log: memory counted", counted, _LIMIT, "MB")
    yield Check("decision log: memory taken", added, _LIMIT * _AROUND, "MB")


def run(with_log: bool) -> tuple[float, float, int]:
    """Peak memory in MB, what the log counted of it, and how many attempts it kept."""
    from moorage.config import load
    from moorage.insight.log.decision_log import DecisionLog
    from moorage.plugins.catalog import in_tree_registry
    from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
    from moorage.what_if.simulation import Simulation
    from moorage.what_if.workloads import make_nodes, make_pods

    log = DecisionLog() if with_log else None
    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry(), log)
    for node in make_nodes(NODES):
        simulation.add(node)
    workloads = ("plain", "spread", "nodeaffinity", "distinct")
    for number, workload in enumerate(workloads):
        for pod in make_pods(workload, ATTEMPTS // len(workloads), f"batch-{number}"):
            simulation.add(pod)
        asyncio.run(simulation.scheduler.drain())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (peak, 0.0, 0) if log is None else (peak, log.size_bytes / 2**20, len(log))


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1] == WITH)))
