"""Writes the trace as tables for `moorage trace import`, and policies as configurations for a replay."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from examples.gpu_study.arrivals import typical_pods
from examples.gpu_study.gpu_requests import GPU_MILLI, GPU_MODEL, GPU_MODELS, GPUS, WHOLE
from examples.gpu_study.study import FIRST_SEED, PODS_PER_NODE, POLICIES, configuration
from examples.gpu_study.trace_files import BadFile, TraceNode, TracePod, read_nodes, read_pods

GPU_THOUSANDTHS = "example.com/gpu-thousandths"
"""A resource that says how much of all its GPUs a node has and a pod asks for, so that replays measure it."""

JOB_COLUMNS = (
    *("name", "submitted", "seconds", "cpu", "memory", GPU_THOUSANDTHS),
    *(f"annotation:{key}" for key in (GPUS, GPU_MILLI, GPU_MODELS)),
)
NODE_COLUMNS = ("name", "cpu", "memory", "pods", GPU_THOUSANDTHS, "labels")

EXAMPLES = """
example:
  python -m examples.gpu_study.convert --pods pods-default.csv.gz > jobs.csv
  python -m examples.gpu_study.convert --nodes nodes.csv > gpu-nodes.csv
  moorage trace import jobs.csv --nodes gpu-nodes.csv --out openb.moor
  python -m examples.gpu_study.convert --pods pods-default.csv.gz --policy FGD > fgd.yaml
  moorage replay openb.moor --plugin examples.gpu_study.policies.fgd:FGD --config fgd.yaml

Jobs have the times of the trace, in seconds since it began, and the annotations that the study's policies
read. The workloads called multigpu have no times: their pods come one second after the other and never end.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.gpu_study.convert",
        description="Writes pods or nodes of the GPU trace as tables that `moorage trace import` takes, or a "
        "policy of the study as a configuration.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--pods", type=Path, metavar="FILE", help="pods as CSV, plain or .gz")
    what.add_argument("--nodes", type=Path, metavar="FILE", help="nodes as CSV, plain or .gz")
    parser.add_argument("--policy", choices=POLICIES, metavar="NAME", help="how it knows these pods")
    given = parser.parse_args(arguments)
    if given.policy and given.nodes:
        parser.error("--policy goes with --pods")
    try:
        lines = _lines(given)
    except BadFile as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    try:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads, as `head` does, has enough; Python is not to complain about it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _lines(given: argparse.Namespace) -> list[str]:
    if given.nodes:
        return _table(NODE_COLUMNS, map(_node, read_nodes(given.nodes)))
    pods = read_pods(given.pods)
    if given.policy:
        return [json.dumps(configuration(given.policy, typical_pods(pods), FIRST_SEED), indent=2), "\n"]
    return _table(JOB_COLUMNS, jobs(pods))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(rows)
    return text.getvalue().splitlines(keepends=True)


def _node(node: TraceNode) -> tuple[str, ...]:
    labels = f"{GPUS}={node.gpus} {GPU_MODEL}={node.model}"
    amounts = (f"{node.cpu}m", f"{node.memory}Mi", str(PODS_PER_NODE), str(node.gpus * WHOLE))
    return (node.name, *amounts, labels)


def jobs(pods: Sequence[TracePod]) -> Iterator[tuple[str, ...]]:
    """In the order in which they came."""
    timed = [(float(pod.created or place), pod) for place, pod in enumerate(pods)]
    for submitted, pod in sorted(timed):
        request = pod.request
        seconds = f"{max(float(pod.deleted) - submitted, 0):.15g}" if pod.created and pod.deleted else ""
        gpus = ("", "", "", "")
        if request.gpus:
            gpus = (str(request.total), str(request.gpus), str(request.milli), request.models)
        yield (pod.name, f"{submitted:.15g}", seconds, f"{request.cpu}m", f"{pod.memory}Mi", *gpus)


if __name__ == "__main__":
    sys.exit(main())
