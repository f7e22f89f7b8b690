"""Runs all benchmarks, or those named on the command line; exits 1 when a bound is missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from bench import cluster, decisions, embedded, hanging, scale, startup, unschedulable, volumes
from bench.bounds import Check

BENCHMARKS: dict[str, Callable[[], Iterator[Check]]] = {
    "startup": startup.measure,
    "decisions": decisions.measure,
    "unschedulable": unschedulable.measure,
    "cluster": cluster.measure,
    "volumes": volumes.measure,
    "embedded": embedded.measure,
    "hanging": hanging.measure,
    "scale": scale.measure,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(
            f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr
        )
        return 2
    missed = 0
    for name in names or BENCHMARKS:
        for check in BENCHMARKS[name]():
            print(check, flush=True)
            missed += not check.kept
    print(f"{missed} bounds missed" if missed else "all bounds kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
