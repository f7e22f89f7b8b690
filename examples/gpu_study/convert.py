"""Writes pods of the trace as a list of jobs: one line each, with when it came and how long it ran."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from examples.gpu_study.gpu_requests import GPU_MILLI, GPU_MODELS, GPUS
from examples.gpu_study.trace_files import BadFile, TracePod, read_pods

COLUMNS = (
    *("name", "submitted", "seconds", "cpu", "memory"),
    *(f"annotation:{key}" for key in (GPUS, GPU_MILLI, GPU_MODELS)),
)

EXAMPLES = """
example:
  python -m examples.gpu_study.convert pods-default.csv.gz > jobs.csv

The columns are name, submitted (seconds since the trace began), seconds (how long it ran; empty if it never
ended), cpu and memory as Kubernetes quantities, and the annotations that the study's policies read. The
workloads called multigpu have no times: their pods come one second after the other and never end.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.gpu_study.convert",
        description="Writes pods of the GPU trace as a CSV list of jobs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pods", type=Path, metavar="FILE", help="pods as CSV, plain or .gz")
    try:
        lines = list(jobs(read_pods(parser.parse_args(arguments).pods)))
    except BadFile as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    try:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(lines)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads, as `head` does, has enough; Python is not to complain about it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def jobs(pods: Sequence[TracePod]) -> Iterator[tuple[str, ...]]:
    """In the order in which they came."""
    timed = [(float(pod.created or place), pod) for place, pod in enumerate(pods)]
    for submitted, pod in sorted(timed):
        request = pod.request
        seconds = f"{max(float(pod.deleted) - submitted, 0):.15g}" if pod.created and pod.deleted else ""
        gpus = (str(request.gpus), str(request.milli), request.models) if request.gpus else ("", "", "")
        yield (pod.name, f"{submitted:.15g}", seconds, f"{request.cpu}m", f"{pod.memory}Mi", *gpus)


if __name__ == "__main__":
    sys.exit(main())
