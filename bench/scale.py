"""What large clusters cost: 1000, 5000, 20,000 and 50,000 nodes with ten running pods each.

Every size is built once, in a process of its own; every step is measured in a copy of that process, in CPU
time, the best of several. `python -m bench.scale 50000` measures one size and prints all figures;
`python -m bench.scale 50000 preemption` one step, with PROFILE=1 in the environment its profile, too.
"""

from __future__ import annotations

import cProfile
import gc
import json
import os
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from bench.bounds import Check
from bench.scale_cluster import PODS_PER_NODE
from bench.scale_steps import CYCLES, STEPS, Cluster, Figures
from bench.unschedulable import NODE_CHANGES

SIZES = (1000, 5000, 20_000, 50_000)
SMALL, LARGE = 5000, 50_000
SIMULATED = 5000

FLAT = 1.6
"""What is done for one object, whatever else there is: the rest is caches that miss."""
SEARCHED = 4.0
"""What looks at enough nodes to choose among: 500 of 5000, 2500 of 50,000; and a mask over all nodes."""
EVERY_NODE = 10.0
"""What has to look at every node."""

BOUNDS = {
    "reading a node": FLAT,
    "taking in a node": FLAT,
    "reading a pod": FLAT,
    "taking in a pod": FLAT,
    "bytes of memory per node": FLAT,
    "bytes of memory per pod": FLAT,
    **{f"cycle, {workload}": SEARCHED for workload in CYCLES},
    **{f"node: {change}": FLAT for change in NODE_CHANGES},
    **{f"node: {change}": EVERY_NODE for change in ("goes", "comes")},
    **{f"cycle after node: {change}": SEARCHED for change in NODE_CHANGES},
    **{f"{len(CYCLES)} cycles after node: {change}": EVERY_NODE for change in ("goes", "comes")},
    "pod: status": FLAT,
    "pod: goes": FLAT,
    "no room, after a change": EVERY_NODE,
    "no room, as another pod": FLAT,
    "preemption, first": EVERY_NODE,
    "preemption": EVERY_NODE,
    "metrics scrape": FLAT,
    "what if, all nodes": EVERY_NODE,
    "listing again, per pod": FLAT,
    "simulate 5000 pods, s of CPU": EVERY_NODE,
}
"""How many times what it costs at 5000 nodes a step may cost at ten times as many."""


def measure() -> Iterator[Check]:
    print(f"\nnodes with ten pods each: {', '.join(map(str, SIZES))}", flush=True)
    figures = {size: _in_process_of_its_own(size) for size in SIZES}
    _print_table(figures)
    yield from checks(figures)


def checks(figures: dict[int, Figures]) -> Iterator[Check]:
    small, large = figures[SMALL], figures[LARGE]
    for name, bound in BOUNDS.items():
        yield Check(f"{name}, {LARGE} nodes against {SMALL}", large[name] / small[name], bound, "x")
    yield Check(f"memory at {LARGE} nodes and ten pods each", large["peak megabytes"] / 1000, 6, "GB")
    pods = LARGE * PODS_PER_NODE
    reading = LARGE * (large["reading a node"] + large["taking in a node"])
    reading += pods * (large["reading a pod"] + large["taking in a pod"])
    yield Check("the first lists at that size", reading / 1e6, 60, "s of CPU")


def _print_table(figures: dict[int, Figures]) -> None:
    """In the form that docs/scale.md has it."""
    print(f"\n| {'µs of CPU, unless it says otherwise':36} |" + "".join(f" {size:9} |" for size in figures))
    print("|---|" + "---:|" * len(figures))
    for name in next(iter(figures.values())):
        values = (_rounded(found[name]) for found in figures.values())
        print(f"| {name:36} |" + "".join(f" {value:>9} |" for value in values))
    print(flush=True)


def _rounded(value: float) -> str:
    """Three digits that count, or all before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _in_process_of_its_own(size: int) -> Figures:
    command = [sys.executable, "-m", "bench.scale", str(size), "--json"]
    found: Figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found | _simulated(size)


def _simulated(size: int) -> Figures:
    """`moorage simulate` from its start to its end."""
    command = [sys.executable, "-m", "moorage", "simulate", "--nodes", str(size), "--pods", str(SIMULATED)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"simulate 5000 pods, s of CPU": cpu, "the same, s": time.perf_counter() - started}


def run(size: int, steps: list[str]) -> Figures:
    cluster = Cluster(size)
    figures = cluster.take_in()
    for step in steps:
        figures |= _in_a_copy(cluster, step)
    return figures


def _in_a_copy(cluster: Cluster, step: str) -> Figures:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _own_memory()
            found = _profiled(cluster, step) if "PROFILE" in os.environ else STEPS[step](cluster)
            with os.fdopen(writing, "w") as pipe:
                json.dump(found, pipe)
            sys.stdout.flush()
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError(f"{step} failed")
    figures: Figures = json.loads(text)
    return figures


def _own_memory() -> None:
    """Writes to every object, so that no step pays for memory that is shared with the parent until then."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _profiled(cluster: Cluster, step: str) -> Figures:
    profile = cProfile.Profile()
    found = profile.runcall(STEPS[step], cluster)
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    return found


def main(size: str, *steps: str) -> None:
    as_json = "--json" in steps
    chosen = [step for step in steps if step != "--json"]
    unknown = [step for step in chosen if step not in STEPS]
    if unknown:
        sys.exit(f"no step is called {', '.join(unknown)}; there are {', '.join(STEPS)}")
    figures = run(int(size), chosen or list(STEPS))
    if as_json:
        print(json.dumps(figures))
    else:
        _print_table({int(size): figures})


if __name__ == "__main__":
    main(*sys.argv[1:])
